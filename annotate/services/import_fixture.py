"""Import one published JSON fixture: its source version, its question and its settled content."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from annotate.domain.errors import BadInput
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.seed_fixture import parse_seed_fixture
from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.domain.spans import accept_text
from annotate.domain.vocabulary import StudyKind
from annotate.models import AdjudicatedResult, Study
from annotate.permissions import By
from annotate.services.authorise import authorise
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_source_version
from annotate.services.settled_import import settle_imported


@dataclass(frozen=True)
class ImportedFixture:
    """What an import wrote; `created` is False when everything was there already."""

    fixture_id: str
    result: AdjudicatedResult
    created: bool


def import_fixture(
    by: By, study: Study, data: bytes, *, observed: datetime.date, where: str = "fixture"
) -> ImportedFixture:
    """Import a fixture in its published layout, whole or not at all.

    The published form knows no dates: `observed` becomes the source's observation date and the question's as-of date.
    The fixture's id becomes document id, version label and question key. Raises NotAllowed, or BadInput(s) for a digest
    that is not the text's, spans off character boundaries, sets that name unknown spans, or a retrieval-only study.
    """
    authorise(by, study, "fixture.import")
    if study.kind != StudyKind.FULL:
        raise BadInput(f"study {study.slug}", "it is retrieval-only; a fixture has an answer", "Use a full study.")
    fixture = parse_seed_fixture(data, where)
    accept_text(fixture.source, f"{where}, source_text", settings.MAX_SOURCE_BYTES)
    source = SourceEntry(
        file=where,
        document_id=fixture.fixture_id,
        version_label=fixture.fixture_id[:80],
        observation_date=observed,
        title=fixture.fixture_id,
    )
    question = QuestionEntry(
        key=fixture.fixture_id,
        text=fixture.question,
        as_of=observed,
        segment=fixture.segment,
        cluster_document=fixture.fixture_id,
    )
    with transaction.atomic():
        imported = import_source_version(by, study, source, fixture.source)
        written = write_questions(by, study, [question], where)[0]
        result, new = settle_imported(by, written.question, fixture.content, fixture.segment)
    created = imported.created or written.outcome != "unchanged" or new
    return ImportedFixture(fixture.fixture_id, result, created)

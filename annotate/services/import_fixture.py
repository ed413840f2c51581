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
from annotate.services.import_sources import import_versions
from annotate.services.lock_questions import lock_study
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
    The fixture's id becomes document id (numbered where there are several sources), version label and question key.
    Raises NotAllowed, or BadInput(s) for a digest that is not the text's, spans off character boundaries, sets that
    name unknown spans, or a retrieval-only study.
    """
    authorise(by, study, "fixture.import")
    if study.kind != StudyKind.FULL:
        raise BadInput(f"study {study.slug}", "it is retrieval-only; a fixture has an answer", "Use a full study.")
    fixture = parse_seed_fixture(data, where)
    files = []
    for number, content in enumerate(fixture.sources.values(), 1):
        accept_text(content, f"{where}, source_text", settings.MAX_SOURCE_BYTES)
        name = fixture.fixture_id if len(fixture.sources) == 1 else f"{fixture.fixture_id[:110]}-{number}"
        entry = SourceEntry(
            file=where if len(fixture.sources) == 1 else f"{where}, source {number}",
            document_id=name,
            version_label=name[:80],
            observation_date=observed,
            title=name,
        )
        files.append((entry, content))
    question = QuestionEntry(
        key=fixture.fixture_id,
        text=fixture.question,
        as_of=observed,
        segment=fixture.segment,
        cluster_document=files[0][0].document_id if files else "",
    )
    with transaction.atomic():
        lock_study(study)
        imported = import_versions(by, study, files, where=where)
        written = write_questions(by, study, [question], where)[0]
        result, new = settle_imported(by, written.question, fixture.content, fixture.segment)
    created = any(item.created for item in imported) or written.outcome != "unchanged" or new
    return ImportedFixture(fixture.fixture_id, result, created)

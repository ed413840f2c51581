"""A fixture set with something of everything an archive carries, and the place it is taken to."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.sources_toml import RangeRule, SourceEntry
from annotate.domain.vocabulary import Segment
from annotate.models import FixtureSet, Study
from annotate.permissions import OPERATOR
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_versions
from annotate.services.settled_import import settle_imported
from annotate.services.studies import create_study
from ledger.domain.canonical import parse_canonical
from tests.annotate.passes import make_desk
from tests.annotate.settled import settle
from tests.factories import DAY


def rich_set() -> FixtureSet:
    """A set with a restricted range, a superseded and a transcoded version, a topical span and an unanswerable one."""
    desk = make_desk(key="who-may-keep", document_id="rules")
    settle(desk)
    study = desk.study
    latin = "Gebühr: 5 €".encode("cp1252")
    import_versions(
        OPERATOR,
        study,
        [
            (SourceEntry("old", "fees", "1", DAY, title="Fees", encoding="cp1252"), latin),
            (
                SourceEntry(
                    "new",
                    "fees",
                    "2",
                    DAY,
                    supersedes="1",
                    access_ranges=(RangeRule(frozenset({"desk"}), start=0, end=5),),
                ),
                "Five euros\r\nDe\u0301partement \U0001f469\u200d\U0001f680".encode(),
            ),
        ],
    )
    entry = QuestionEntry(
        "who-pays", "Who pays for losses?", DAY, reader_labels=frozenset({"desk"}), cluster_document="fees"
    )
    asked = write_questions(OPERATOR, study, [entry])[0].question
    nothing = replace(desk.content().contract, answerable=False, answer="")
    settle_imported(
        OPERATOR, asked, replace(desk.content(), contract=nothing, spans=(), sets=()), Segment.UNANSWERABLE_CONTROL
    )
    return freeze_fixtures(OPERATOR, study, "first")


def unpacked(data: bytes, folder: Path) -> Path:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def elsewhere(source: FixtureSet) -> Study:
    """Another installation's empty study: the same short name, in a database without the first one's study."""
    Study.objects.filter(pk=source.study_id).update(slug="was-here")
    return create_study(OPERATOR, parse_canonical(bytes(source.canonical))["study"], "Elsewhere")

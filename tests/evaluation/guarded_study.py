"""A study with a restricted section inside a readable document, a restricted document, tied chunks, and words nobody
uses; and plans over it with any recovery."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date

from django.db import transaction

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.sources_toml import RangeRule, SourceEntry
from annotate.domain.vocabulary import Partition, Sample, Segment, SpanLabel
from annotate.models import FixtureSet
from annotate.permissions import OPERATOR
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_versions
from annotate.services.settled_import import settle_imported
from annotate.services.studies import create_study
from evaluation.models import Sweep
from evaluation.services.work import drain
from tests.evaluation.sweeps import plan_toml, started

DAY = date(2026, 5, 4)
SECTION = (
    "Directors may keep a borrowed projector for ninety nights without asking the caretaker. "
    "A director's projector is never fined, however late the projector comes back to the cupboard.\n\n"
)
HANDBOOK = (
    "# Handbook\n\nEverybody may borrow a projector from the cupboard for one evening. The caretaker writes the name "
    "into the green book. A projector that comes back late costs two coins for each morning.\n\n"
    "## Directors\n\nDirectors are chosen every May, and may sit wherever they like at concerts.\n\n"
    + SECTION
    + "## Lamps\n\nSpare lamps lie in the left drawer. Whoever breaks a lamp tells the caretaker at once.\n"
)
VAULT = (
    "# Vault\n\nThe vault behind the kitchen opens with the seventeenth key on the brass ring. "
    "Its alarm sleeps between midnight and one, when the night porter walks his second round.\n"
)
TIED = "# Chairs {where}\n\nFolding chairs stand against the wall. Chairs are counted on Fridays after the concert.\n"
TEXTS = {
    "handbook": HANDBOOK,
    "vault": VAULT,
    **{f"chairs-{where}": TIED.format(where=where) for where in "123"},
}

#: key, text, document and quote of the answer ("" for what nothing answers), reader labels.
QUESTIONS = (
    (
        "director",
        "How many nights may directors keep a projector?",
        "handbook",
        "Directors may keep a borrowed projector for ninety nights without asking the caretaker.",
        {"board"},
    ),
    (
        "vault",
        "Which key on the brass ring opens the vault behind the kitchen?",
        "vault",
        "opens with the seventeenth key on the brass ring",
        {"board"},
    ),
    (
        "late",
        "What does a projector cost that comes back late to the cupboard?",
        "handbook",
        "costs two coins for each morning",
        set(),
    ),
    (
        "chairs",
        "When are the folding chairs counted?",
        "chairs-3",
        "Chairs are counted on Fridays after the concert.",
        set(),
    ),
    ("unknown", "Qwxz vvyk zzrt?", "handbook", "Spare lamps lie in the left drawer.", set()),
    ("nothing", "Who paints the fence?", "", "", set()),
)


def guarded_study(name: str = "guarded", restricted: Mapping[str, str] | None = None) -> FixtureSet:
    """The study, frozen, with more texts that need the label “board” by document id."""
    study = create_study(OPERATOR, name, "Lending, with secrets")
    import_versions(
        OPERATOR, study, [(_source(one), text.encode()) for one, text in (TEXTS | dict(restricted or {})).items()]
    )
    with transaction.atomic():
        written = write_questions(OPERATOR, study, [_question(*row) for row in QUESTIONS])
        for one, (_, _, document, quote, _) in zip(written, QUESTIONS, strict=True):
            segment = Segment.RULE_AND_EXCEPTION if document else Segment.UNANSWERABLE_CONTROL
            settle_imported(OPERATOR, one.question, _content(document, quote), segment)
    return freeze_fixtures(OPERATOR, study, "v1")


def guarded_toml(recovery: str = "", *, filters: bool = True, candidates: int = 30, **sizes: int) -> str:
    """A plan over the study: two phases, small chunks, `recovery` as the lines of its table."""
    replaced = {
        'retriever = "bm25"\n': 'retriever = "bm25"\n' + ("" if filters else "filters = []\n"),
        "candidates = 10": f"candidates = {candidates}",
        "capacity = 40": f"capacity = {sizes.get('capacity', 16)}",
        "overlap = 12": f"overlap = {sizes.get('overlap', 4)}",
        "[generation]": (f"[recovery]\n{recovery}\n\n" if recovery else "") + "[generation]",
        "minimum_questions = 4": "minimum_questions = 2",
    }
    return plan_toml(replaced, grid=2)


def guarded_sweep(toml: str, fixture_set: FixtureSet | None = None, key: str = "guarded") -> Sweep:
    """A sealed sweep of the study."""
    sweep = started(fixture_set or guarded_study(), toml=toml, key=key)
    drain("w", sweep_id=sweep.pk)
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED, sweep.problem
    return sweep


def _source(name: str) -> SourceEntry:
    first, last = "Directors may keep", "comes back to the cupboard.\n\n"
    return SourceEntry(
        file=f"{name}.md",
        document_id=name,
        version_label="1",
        observation_date=DAY,
        media_type="text/markdown",
        access_labels=frozenset() if name in TEXTS and name != "vault" else frozenset({"board"}),
        access_ranges=(
            (RangeRule(frozenset({"board"}), from_quote=first, to_quote=last),) if name == "handbook" else ()
        ),
    )


def _question(key: str, text: str, document: str, quote: str, labels: set[str]) -> QuestionEntry:
    return QuestionEntry(
        key=key,
        text=text,
        segment=Segment.RULE_AND_EXCEPTION if document else Segment.UNANSWERABLE_CONTROL,
        reader_labels=frozenset(labels),
        as_of=DAY,
        sample=Sample.ENRICHED,
        partition=Partition.DEVELOPMENT,
        cluster_document="" if document else "handbook",
    )


def _content(document: str, quote: str) -> PassContent:
    if not document:
        return PassContent(AnswerContract(answerable=False))
    data = TEXTS[document].encode()
    at = data.index(quote.encode())
    span = MarkedSpan(hashlib.sha256(data).hexdigest(), at, at + len(quote.encode()), "fact", SpanLabel.EVIDENCE)
    return PassContent(AnswerContract(answerable=True, answer=quote), (span,), (("fact",),))

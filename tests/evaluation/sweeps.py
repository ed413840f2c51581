"""A small study, real from its bytes to its fixture set, and plans for it: two arms, four phases, a few seconds."""

from __future__ import annotations

import hashlib
from datetime import date
from typing import Any

from django.db import transaction

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.domain.vocabulary import DependencyType, Partition, Sample, Segment, SpanLabel
from annotate.models import FixtureSet, Study
from annotate.permissions import OPERATOR
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_versions
from annotate.services.settled_import import settle_imported
from annotate.services.studies import create_study
from evaluation.models import Plan, Sweep
from evaluation.services.lock_plan import lock_plan
from evaluation.services.start_sweep import start_sweep
from evaluation.services.write_plan import write_plan

DAY = date(2026, 5, 4)
THINGS = ("ladders", "kettles", "looms", "anvils", "prisms", "sledges")

PLAN = """
name = "small"
metrics = ["complete-support", "single-unit-support", "critical-condition-error", "answer-correctness", "attribution",
           "false-assertion", "answer-reversal"]

[hypothesis]
boundary_hypothesis = "A cut between a rule and its exception loses the exception."
expected_benefit = "A smaller index."
counter_cost = "Conditions next to a cut lose what they refer to."
unit_under_test = "splitter"

[population]
description = "Rules about lending things."
reader_clearance = "None, except for one question."
question_distribution = "Enriched."
partition = "{partition}"
held_out_openings = {openings}
segments = ["rule-and-exception", "unanswerable-control"]

[budget]
tokenizer = "cutline-bpe-4k"
evidence_tokens = [90]
primary_evidence_tokens = 90
instruction_tokens = 60
output_tokens = 60
top_k = 2

[retrieval]
retriever = "bm25"
candidates = 10

[generation]
generator = "extractive"

[phases]
grid = {grid}

[[arms]]
name = "overlap"
role = "baseline"
segmenter = "token-window"
capacity = 40
overlap = 12

[[arms]]
name = "plain"
role = "candidate"
segmenter = "token-window"
capacity = 40
overlap = 0
factor = "overlap"

[statistics]
seed = 7
replicates = 200
minimum_clusters = 2

[decision]
candidate = "plain"

[[gates]]
name = "support"
kind = "support-loss"
sample = "enriched"
tolerance = 0.10
minimum_questions = 4
"""


def plan_toml(
    replaced: dict[str, str] | None = None, *, partition: str = "development", openings: int = 0, grid: int = 4
) -> str:
    """Return the small plan; `replaced` maps a piece of its text to another."""
    text = PLAN.format(partition=partition, openings=openings, grid=grid)
    for old, new in (replaced or {}).items():
        text = text.replace(old, new)
    return text


def _text(thing: str) -> str:
    return (
        f"# Lending {thing}\n\nAnybody may borrow {thing} from the store on weekdays between nine and four o'clock. "
        f"{thing.capitalize()} are lent for fourteen days. The desk writes the day of return on the slip. "
        f"This limit is three days for {thing} marked with a red dot. Broken {thing} are reported on the day itself. "
        f"Nobody pays for wear that honest use of {thing} brings with it.\n"
    )


def small_study(name: str = "small", *, held_out: int = 2) -> FixtureSet:
    """Return a frozen set of 6 answerable questions on 6 documents (one restricted) and 2 unanswerable controls.

    The last `held_out` answerable questions are held out.
    """
    study = create_study(OPERATOR, name, "Lending things")
    texts = {thing: _text(thing).encode() for thing in THINGS}
    import_versions(OPERATOR, study, [(_source(thing), data) for thing, data in texts.items()])
    entries = [_question(thing, held_out=number >= len(THINGS) - held_out) for number, thing in enumerate(THINGS)]
    entries += [_control("colour"), _control("insurance")]
    with transaction.atomic():
        written = write_questions(OPERATOR, study, entries)
        for one, thing in zip(written, THINGS, strict=False):
            settle_imported(OPERATOR, one.question, _answer(texts[thing]), Segment.RULE_AND_EXCEPTION)
        for one in written[len(THINGS) :]:
            nothing = PassContent(AnswerContract(answerable=False))
            settle_imported(OPERATOR, one.question, nothing, Segment.UNANSWERABLE_CONTROL)
    return freeze_fixtures(OPERATOR, study, "v1")


def locked(fixture_set: FixtureSet, toml: str | None = None) -> Plan:
    """Return a plan of `fixture_set`, locked."""
    return lock_plan(OPERATOR, write_plan(OPERATOR, fixture_set=fixture_set, toml=toml or plan_toml()))


def started(fixture_set: FixtureSet | None = None, *, toml: str | None = None, key: str = "k", **more: Any) -> Sweep:
    """Return a started sweep of the small plan, with four questions in a cell unless `block_size` says otherwise.

    Every cell of it is computed, whatever was computed before, unless `recompute` is False.
    """
    plan = locked(fixture_set or small_study(), toml)
    return start_sweep(OPERATOR, plan, idempotency_key=key, **({"block_size": 4, "recompute": True} | more))


def only_study() -> Study:
    """Return the one study there is."""
    return Study.objects.get()


def _source(thing: str) -> SourceEntry:
    labels = frozenset({"staff"}) if thing == "anvils" else frozenset()
    return SourceEntry(
        file=f"{thing}.md",
        document_id=thing,
        title=f"Lending {thing}",
        version_label="1",
        observation_date=DAY,
        media_type="text/markdown",
        access_labels=labels,
    )


def _question(thing: str, *, held_out: bool) -> QuestionEntry:
    return QuestionEntry(
        key=f"how-long-{thing}",
        text=f"For how many days are {thing} with a red dot lent, and does the limit of fourteen days hold?",
        segment=Segment.RULE_AND_EXCEPTION,
        reader_labels=frozenset({"staff"}) if thing == "anvils" else frozenset(),
        as_of=DAY,
        sample=Sample.ENRICHED,
        partition=Partition.HELD_OUT if held_out else Partition.DEVELOPMENT,
    )


def _control(topic: str) -> QuestionEntry:
    return QuestionEntry(
        key=f"unknown-{topic}",
        text=f"What {topic} does the store ask of borrowers of kettles?",
        segment=Segment.UNANSWERABLE_CONTROL,
        as_of=DAY,
        sample=Sample.ENRICHED,
        partition=Partition.DEVELOPMENT,
        cluster_document="kettles",
    )


def _answer(data: bytes) -> PassContent:
    digest = hashlib.sha256(data).hexdigest()
    parts = {}
    for name, opening, label in (
        ("rule", b" are lent for", SpanLabel.RULE),
        ("dot", b"This limit", SpanLabel.EXCEPTION),
    ):
        at = data.index(opening)
        start = data.rindex(b" ", 0, at) + 1 if name == "rule" else at
        parts[name] = MarkedSpan(digest, start, data.index(b".", start) + 1, name, label)
    return PassContent(
        AnswerContract(
            answerable=True,
            answer="Three days.",
            qualification="Only with a red dot.",
            dependency=DependencyType.EXCEPTION,
            missing_text="Abstain on the limit.",
        ),
        tuple(sorted(parts.values())),
        (("rule", "dot"),),
    )

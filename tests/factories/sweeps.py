"""A sealed sweep made by the real services: three short documents, twelve questions, two arms, four phases.

Small enough to be computed in about a second, and still holding what the results pages must draw: both samples, a
restricted passage, lost and gained questions, alternatives, unanswerable controls, markup and CRLF in a source.
"""

from __future__ import annotations

import hashlib
from datetime import date
from itertools import count

from django.db import transaction

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.sources_toml import RangeRule, SourceEntry
from annotate.domain.vocabulary import DependencyType, Partition, Sample, Segment, SpanLabel
from annotate.models import FixtureSet
from annotate.permissions import OPERATOR
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_versions
from annotate.services.settled_import import settle_imported
from annotate.services.studies import create_study
from evaluation.models import Plan, Sweep
from evaluation.services.lock_plan import lock_plan
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from evaluation.services.write_plan import write_plan

_numbers = count(1)
DAY = date(2026, 5, 4)

LENDING = """# Lending

Members may borrow up to five tools at a time. A tool is lent for fourteen days, counted from the day after collection.
This limit is three days for tools marked with a red dot, because others wait for them.

The desk is open on weekdays from nine until four. On the first Monday of a month it opens at noon. Bring the card that
was given to you when you joined; a photograph of the card is not enough.

A deposit is taken for power tools. The deposit is twenty euros for tools worth less than two hundred euros and sixty
euros for all others. It is returned in cash when the tool comes back clean and working.

Late returns cost one euro a day. Nothing is charged when the desk itself was closed on the due day.
"""
SAFETY = (
    "# Safety\r\n\r\nThe term “guided user” means a member who has passed the workshop course within two years.\r\n"
    "Only a guided user may run the table saw. Everybody else may watch from behind the yellow line.\r\n\r\n"
    "Write incidents down the same day. The form asks for a name, a time and what was in use. "
    "It is kept for thirty days; for injuries it is kept for ten years.\r\n\r\n"
    "Do not paste <script>alert(1)</script> or </pre> into the form: the printer stops. Naïve café 📏 rules apply.\r\n"
    "Ear protection is worn within five metres of any running machine. Visitors get theirs at the door.\r\n"
)
STAFF = """# Staff handbook

Staff open the store in pairs. The second key hangs in the office behind the door.

Overtime is paid at one and a half times the hourly rate. On public holidays it is paid at twice the rate, except for
the stocktaking day, which counts as an ordinary day.

The alarm code changes on the first day of each quarter. Whoever leaves last arms it and writes the time on the sheet.
Keys that are lost are reported to the chair within one hour, at any time of day.
"""

PLAN = """
name = "short-overlap"
metrics = ["complete-support", "single-unit-support", "critical-condition-error", "answer-correctness",
           "answer-coverage", "false-assertion", "citation-resolution", "attribution", "answer-reversal"]

[hypothesis]
boundary_hypothesis = "A cut between a rule and its exception loses the exception."
expected_benefit = "A smaller index."
counter_cost = "Conditions next to a cut lose what they refer to."
unit_under_test = "splitter"

[population]
description = "The rules of a tool library."
reader_clearance = "None, except for two staff questions."
question_distribution = "Representative of the desk; the enriched ones stress conditions."
partition = "development"
segments = ["rule-and-exception", "definition-and-referent", "number-and-scope", "unanswerable-control"]

[budget]
tokenizer = "cutline-bpe-4k"
evidence_tokens = [130]
primary_evidence_tokens = 130
instruction_tokens = 60
output_tokens = 60
top_k = 2

[retrieval]
retriever = "bm25"
candidates = 10

[generation]
generator = "extractive"

[phases]
grid = 4

[[arms]]
name = "window-48-16"
role = "baseline"
segmenter = "token-window"
capacity = 48
overlap = 16

[[arms]]
name = "window-48-0"
role = "candidate"
segmenter = "token-window"
capacity = 48
overlap = 0
factor = "overlap"

[statistics]
seed = 7
replicates = 200
minimum_clusters = 2

[decision]
candidate = "window-48-0"

[resources]
index_expansion = 1.5

[[gates]]
name = "support-overall"
kind = "support-loss"
sample = "representative"
tolerance = 0.10
minimum_questions = 4

[[gates]]
name = "support-conditions"
kind = "support-loss"
segment = "rule-and-exception"
sample = "enriched"
tolerance = 0.05
minimum_questions = 8
"""

_RULE, _NUMBER, _TERM = Segment.RULE_AND_EXCEPTION, Segment.NUMBER_AND_SCOPE, Segment.DEFINITION_AND_REFERENT
_REP, _RICH = Sample.REPRESENTATIVE, Sample.ENRICHED
#: key, text, segment, sample, labels of the reader, answer, sets of quotes (an empty list: the sources do not answer)
_ASKED: list[tuple[str, str, Segment, Sample, tuple[str, ...], str, list[list[str]]]] = [
    (
        "how-long",
        "For how many days is a tool lent?",
        _RULE,
        _REP,
        (),
        "Fourteen; three with a red dot.",
        [["A tool is lent for fourteen days", "This limit is three days for tools marked with a red dot"]],
    ),
    (
        "red-dot",
        "How long may I keep a tool marked with a red dot?",
        _RULE,
        _RICH,
        (),
        "Three days.",
        [["This limit is three days for tools marked with a red dot"]],
    ),
    (
        "how-many",
        "How many tools may members borrow at a time?",
        _NUMBER,
        _REP,
        (),
        "Five.",
        [["Members may borrow up to five tools at a time."]],
    ),
    (
        "deposit",
        "What deposit is taken for a power tool worth three hundred euros?",
        _NUMBER,
        _REP,
        (),
        "Sixty euros.",
        [["A deposit is taken for power tools.", "sixty\neuros for all others"]],
    ),
    (
        "late",
        "What does a late return cost when the desk was closed on the due day?",
        _RULE,
        _RICH,
        (),
        "Nothing.",
        [["Late returns cost one euro a day.", "Nothing is charged when the desk itself was closed on the due day."]],
    ),
    (
        "opening",
        "When does the desk open on the first Monday of a month?",
        _NUMBER,
        _REP,
        (),
        "At noon.",
        [["On the first Monday of a month it opens at noon."], ["The desk is open on weekdays", "it opens at noon."]],
    ),
    (
        "saw",
        "Who may run the table saw?",
        _TERM,
        _REP,
        (),
        "Members with a course within two years.",
        [
            [
                "a member who has passed the workshop course",
                "Only a guided user may run the table saw.",
            ]
        ],
    ),
    (
        "incident",
        "How long is the form about an injury kept?",
        _RULE,
        _REP,
        (),
        "Ten years.",
        [["It is kept for thirty days; for injuries it is kept for ten years."]],
    ),
    (
        "holiday",
        "At what rate is overtime on public holidays paid?",
        _RULE,
        _RICH,
        ("staff",),
        "Twice the rate.",
        [["On public holidays it is paid at twice the rate", "the stocktaking day, which counts as an ordinary day"]],
    ),
    (
        "alarm",
        "When does the alarm code change?",
        _NUMBER,
        _REP,
        ("staff", "keys"),
        "Each quarter.",
        [["The alarm code changes on the first day of each quarter."]],
    ),
    ("insurance", "Which insurance does the store ask of borrowers?", Segment.UNANSWERABLE_CONTROL, _REP, (), "", []),
    ("colour", "What colour are the aprons at the desk?", Segment.UNANSWERABLE_CONTROL, _REP, (), "", []),
]
_TEXTS = {"lending": LENDING.encode(), "safety": SAFETY.encode(), "staff": STAFF.encode()}


def make_fixture_set(slug: str = "", *, partition: Partition = Partition.DEVELOPMENT) -> FixtureSet:
    """Return a frozen set of twelve questions in a study of its own."""
    study = create_study(OPERATOR, slug or f"tools-{next(_numbers)}", "The tool library")
    import_versions(OPERATOR, study, [(_source(name), data) for name, data in _TEXTS.items()])
    entries = [
        QuestionEntry(
            key=key,
            text=text,
            segment=segment,
            reader_labels=frozenset(labels),
            as_of=DAY,
            sample=sample,
            partition=partition,
            cluster_document="" if sets else "lending",
        )
        for key, text, segment, sample, labels, _, sets in _ASKED
    ]
    with transaction.atomic():
        written = write_questions(OPERATOR, study, entries)
        for one, (_, _, segment, _, _, answer, sets) in zip(written, _ASKED, strict=True):
            settle_imported(OPERATOR, one.question, _content(segment, answer, sets), segment)
    return freeze_fixtures(OPERATOR, study, "v1")


def make_plan(fixture_set: FixtureSet | None = None, toml: str = PLAN, *, locked: bool = True) -> Plan:
    """Return a plan of `fixture_set` (of a new one unless given), locked or as a draft."""
    plan = write_plan(OPERATOR, fixture_set=fixture_set or make_fixture_set(), toml=toml)
    return lock_plan(OPERATOR, plan) if locked else plan


def make_sweep(plan: Plan | None = None, *, seed: int = 11) -> Sweep:
    """Return a started sweep, none of its cells computed."""
    return start_sweep(OPERATOR, plan or make_plan(), idempotency_key=f"sweep-{next(_numbers)}", seed=seed)


def make_sealed_sweep(plan: Plan | None = None) -> Sweep:
    """Return a sweep with every cell computed and its results sealed."""
    sweep = make_sweep(plan)
    drain("factory", sweep_id=sweep.pk)
    sweep.refresh_from_db()
    return sweep


def _source(name: str) -> SourceEntry:
    labels = frozenset({"staff"}) if name == "staff" else frozenset()
    start = STAFF.encode().index(b"The alarm code")
    ranges = (RangeRule(frozenset({"keys"}), start=start, end=len(STAFF.encode())),) if name == "staff" else ()
    return SourceEntry(
        file=f"{name}.md",
        document_id=name,
        title=f"{name.capitalize()} rules",
        version_label="1",
        observation_date=DAY,
        media_type="text/markdown",
        access_labels=labels,
        access_ranges=ranges,
    )


def _content(segment: Segment, answer: str, sets: list[list[str]]) -> PassContent:
    if not sets:
        return PassContent(AnswerContract(answerable=False))
    spans: dict[str, MarkedSpan] = {}
    names: list[tuple[str, ...]] = []
    for quotes in sets:
        members = []
        for place, quote in enumerate(quotes):
            span = _span(quote, SpanLabel.RULE if not place else SpanLabel.EXCEPTION, f"s{len(spans) + 1}")
            same = next((name for name, old in spans.items() if (old.start, old.end) == (span.start, span.end)), "")
            if not same:
                spans[span.name] = span
            members.append(same or span.name)
        names.append(tuple(members))
    dependency = DependencyType.EXCEPTION if segment is _RULE else DependencyType.NONE
    contract = AnswerContract(answerable=True, answer=answer, dependency=dependency, missing_text="Abstain.")
    return PassContent(contract, tuple(sorted(spans.values())), tuple(names))


def _span(quote: str, label: SpanLabel, name: str) -> MarkedSpan:
    wanted = quote.encode()
    text = next(data for data in _TEXTS.values() if wanted in data)
    start = text.index(wanted)
    return MarkedSpan(hashlib.sha256(text).hexdigest(), start, start + len(wanted), name, label)

"""A small world with a row in every table the ledger covers, made by the services alone.

As small as it gets, because a byte-flip test verifies all of it hundreds of times: one full pair of passes that was
returned once, one settled import, two fixture sets, one held-out sweep of two arms, one that was cancelled, one that is
paused, a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from django.db import transaction

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.sources_toml import RangeRule, SourceEntry
from annotate.domain.vocabulary import Choice, DependencyType, Necessity, ReasonCode, Role, Segment, SpanLabel
from annotate.models import AdjudicationItem, Assignment, FixtureSet, Person, Question, SourceVersion, Study
from annotate.permissions import OPERATOR
from annotate.selectors.adjudication import settled_content
from annotate.selectors.passes import content_of
from annotate.services.assign_questions import assign_questions
from annotate.services.decide import confirm_agreed, decide
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_versions
from annotate.services.members import add_member, create_person
from annotate.services.return_pass import return_pass
from annotate.services.save_pass import save_pass
from annotate.services.settle_item import settle_item
from annotate.services.settled_import import settle_imported
from annotate.services.studies import create_study
from annotate.services.submit_pass import submit_pass
from evaluation.domain.decision import Disposition
from evaluation.domain.sweep_limits import Limits
from evaluation.models import Sweep
from evaluation.services.cancel_sweep import cancel_sweep
from evaluation.services.decide_release import decide_release
from evaluation.services.lock_plan import lock_plan
from evaluation.services.pause_sweep import pause_sweep
from evaluation.services.results import sweep_results
from evaluation.services.sign_release import sign_release
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from evaluation.services.write_plan import write_plan

DAY = date(2026, 5, 4)
LAMPS = (
    "Lamps are lent for nine days. Red lamps are lent for two days only, since others wait. "
    "A lamp that comes back dirty costs three euros. Nothing is charged in the first week."
)
ROPES = "Ropes – café quality – are checked by two people. The older of the two signs the card."
KEYS = "The key hangs behind the door. It is counted each night."

PLAN = """
name = "small"
metrics = ["complete-support", "single-unit-support"]

[hypothesis]
boundary_hypothesis = "A cut between a rule and its exception loses the exception."
expected_benefit = "A smaller index."
counter_cost = "Conditions next to a cut."
unit_under_test = "splitter"

[population]
description = "The rules of a lamp store."
reader_clearance = "None."
question_distribution = "Two of the desk's questions."
partition = "held-out"
held_out_openings = 2
segments = ["rule-and-exception", "number-and-scope"]

[budget]
tokenizer = "cutline-bpe-4k"
evidence_tokens = [40]
primary_evidence_tokens = 40
instruction_tokens = 20
output_tokens = 20
top_k = 2

[retrieval]
retriever = "bm25"
candidates = 4

[generation]
generator = "none"

[phases]
grid = 1

[[arms]]
name = "wide"
role = "baseline"
segmenter = "token-window"
capacity = 24
overlap = 8

[[arms]]
name = "narrow"
role = "candidate"
segmenter = "token-window"
capacity = 24
overlap = 0
factor = "overlap"

[statistics]
seed = 7
replicates = 200
minimum_clusters = 2

[decision]
candidate = "narrow"

[resources]
index_expansion = 2

[[gates]]
name = "support"
kind = "support-loss"
sample = "representative"
tolerance = 0.10
minimum_questions = 2
"""


@dataclass(frozen=True)
class AuditedWorld:
    """What tests go on from."""

    study: Study
    lead: Person
    adjudicator: Person
    item: AdjudicationItem
    fixture_set: FixtureSet
    sealed: Sweep


def make_audited_world() -> AuditedWorld:
    """Return the world; takes about two seconds."""
    lead = _first_lead()
    study = create_study(lead, "lamps", "The lamp store", description="Rules of lending.", guideline="Mark rules.")
    people = {
        name: _member(lead, study, name, role)
        for name, role in (
            ("marker-one", Role.ANNOTATOR),
            ("marker-two", Role.ANNOTATOR),
            ("judge", Role.ADJUDICATOR),
        )
    }
    add_member(lead, study, people["judge"], Role.OBSERVER, ["staff"])
    _import_sources(lead, study)
    marked, settled, waiting = _write_questions(lead, study)
    with transaction.atomic():
        settle_imported(lead, settled, _settled_content(study), Segment.NUMBER_AND_SCOPE, {"nine": Necessity.NECESSARY})
    assign_questions(lead, study, [people["marker-one"], people["marker-two"]], [marked])
    _begin(lead, study, people["marker-one"], people["marker-two"], waiting)
    item = _mark(lead, study, marked)
    _adjudicate(people["judge"], item)
    first = freeze_fixtures(lead, study, "v1", [marked.key])
    fixture_set = freeze_fixtures(lead, study, "v2", [marked.key, settled.key], successor_of=first)
    plan = lock_plan(lead, write_plan(lead, fixture_set=fixture_set, toml=PLAN))
    # Other arms than the sealed sweep has, so that a cell of the one may be moved to the other.
    renamed = PLAN.replace('"small"', '"renamed"').replace('"wide"', '"broad"').replace('"narrow"', '"thin"')
    other = lock_plan(lead, write_plan(lead, fixture_set=fixture_set, toml=renamed))
    stopped = start_sweep(lead, other, idempotency_key="stopped", seed=3)
    cancel_sweep(lead, stopped, reason="The wrong seed.")
    pause_sweep(lead, start_sweep(lead, other, idempotency_key="paused", seed=5), reason="Over night.")
    limits = Limits(max_cells=40, max_minutes=30)
    sweep = start_sweep(lead, plan, idempotency_key="sealed", seed=11, limits=limits)
    drain("worker-of-the-test", sweep_id=sweep.pk)
    sweep.refresh_from_db()
    sweep_results(sweep)
    computed = decide_release(sweep).disposition
    chosen = Disposition.REJECT if computed is not Disposition.REJECT else Disposition.COLLECT_MORE
    sign_release(lead, sweep, idempotency_key="signed", disposition=chosen, override_reason="Too small to tell.")
    return AuditedWorld(study, lead, people["judge"], item, fixture_set, sweep)


def _first_lead() -> Person:
    """Return somebody who leads a study, so that they may make another."""
    other = create_study(OPERATOR, "other", "Another study")
    lead = create_person(OPERATOR, other, "lead", password=None)
    add_member(OPERATOR, other, lead, Role.LEAD)
    return lead


def _member(lead: Person, study: Study, name: str, role: Role) -> Person:
    person = create_person(lead, study, name, password=None)
    add_member(lead, study, person, role)
    return person


def _import_sources(lead: Person, study: Study) -> None:
    older = SourceEntry(
        "lamps-1.md",
        "lamps",
        "1",
        DAY,
        title="Lamps",
        effective_from=date(2025, 1, 1),
        effective_to=date(2026, 1, 1),
        media_type="text/markdown",
        tenant="north",
        locale="en-GB",
    )
    newer = SourceEntry(
        "lamps-2.md", "lamps", "2", DAY, title="Lamps", tenant="north", supersedes="1", effective_from=date(2026, 1, 1)
    )
    ropes = SourceEntry("ropes.txt", "ropes", "1", DAY, title="Ropes", encoding="windows-1252")
    keys = SourceEntry(
        "keys.txt",
        "keys",
        "1",
        DAY,
        title="Keys",
        access_labels=frozenset({"staff"}),
        access_ranges=(RangeRule(frozenset({"night"}), from_quote="It is counted each night."),),
    )
    files = [
        (older, LAMPS.replace("nine", "ten").encode()),
        (newer, LAMPS.encode()),
        (ropes, ROPES.encode("windows-1252")),
        (keys, KEYS.encode()),
    ]
    import_versions(lead, study, files)


def _write_questions(lead: Person, study: Study) -> tuple[Question, Question, Question]:
    entries = [
        QuestionEntry(
            key="red-lamps",
            text="How long may I keep a red lamp?",
            as_of=DAY,
            segment=Segment.RULE_AND_EXCEPTION,
            slice_tags=("lamps", "time"),
            group="lending",
            mandatory=True,
        ),
        QuestionEntry(
            key="lamps",
            text="For how many days is a lamp lent?",
            as_of=DAY,
            segment=Segment.NUMBER_AND_SCOPE,
            group="lending",
        ),
        QuestionEntry(key="keys", text="Where is the key?", as_of=DAY, segment=Segment.DEFINITION_AND_REFERENT),
    ]
    red, plain, key = (written.question for written in write_questions(lead, study, entries))
    return red, plain, key


def _span(study: Study, quote: str, name: str, label: SpanLabel) -> MarkedSpan:
    version = SourceVersion.objects.get(source__study=study, source__document_id="lamps", version_label="2")
    start = bytes(version.content).index(quote.encode())
    return MarkedSpan(version.sha256, start, start + len(quote.encode()), name, label)


def _settled_content(study: Study) -> PassContent:
    span = _span(study, "Lamps are lent for nine days.", "nine", SpanLabel.RULE)
    return PassContent(AnswerContract(answerable=True, answer="Nine.", missing_text="Abstain."), (span,), (("nine",),))


def _marked_content(study: Study, answer: str, end: str) -> PassContent:
    rule = _span(study, "Lamps are lent for nine days.", "rule", SpanLabel.RULE)
    red = _span(study, f"Red lamps are lent for two days{end}", "red", SpanLabel.EXCEPTION)
    first = _span(study, "Nothing is charged in the first week.", "week", SpanLabel.EVIDENCE)
    contract = AnswerContract(
        answerable=True,
        answer=answer,
        scope="Red lamps.",
        qualification="Nine days for the others.",
        dependency=DependencyType.EXCEPTION,
        missing_text="Abstain.",
        notes="Seen twice.",
    )
    return PassContent(contract, (rule, red, first), (("rule", "red"), ("red",)), ("week",))


def _save_and_submit(task: Assignment, content: PassContent, key: str) -> None:
    work = save_pass(task.annotator, task, content_of(task)[0], content)
    submit_pass(task.annotator, task, work.revision, key)


def _begin(lead: Person, study: Study, one: Person, two: Person, question: Question) -> None:
    """Leave one pass without a set and one assignment without a pass: rows that others may be moved to."""
    assign_questions(lead, study, [one, two], [question])
    contract = AnswerContract(answerable=True, answer="Behind the door.", missing_text="Abstain.")
    save_pass(one, question.assignments.get(annotator=one), 0, PassContent(contract))


def _mark(lead: Person, study: Study, question: Question) -> AdjudicationItem:
    """Return the item of the second round: the first pass was returned once."""
    one, two = question.assignments.select_related("annotator", "question__study").order_by("slot")
    save_pass(one.annotator, one, 0, _marked_content(study, "Three days?", ""))
    _save_and_submit(one, _marked_content(study, "Three days.", ""), "one-first")
    _save_and_submit(two, _marked_content(study, "Two days.", " only"), "two-first")
    return_pass(lead, one, "Count again.")
    one.refresh_from_db()
    _save_and_submit(one, _marked_content(study, "Two days at most.", ""), "one-second")
    return question.items.order_by("-round").first()


def _adjudicate(judge: Person, item: AdjudicationItem) -> None:
    for row in item.disagreements.order_by("position"):
        decide(judge, item, row, Choice.A, reason_code=ReasonCode.BETTER_SUPPORTED, reason="It says so.")
    answer = item.disagreements.filter(kind="answer").get()
    decide(judge, item, answer, Choice.EDITED, "Two days.", ReasonCode.OTHER, "Both say too much.")
    confirm_agreed(judge, item)
    names = {name for members in settled_content(item).sets for name in members}
    said = {name: (Necessity.NECESSARY, f"Without {name} it is wrong.") for name in names}
    settle_item(judge, item, Segment.RULE_AND_EXCEPTION, said, "The exception answers it alone.")

"""Two studies that are alike in every word: rows of one can be moved to the other and read as before.

Equal bytes in two documents, equal questions, passes that agree in full, sets of one digest, one plan locked twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.domain.vocabulary import Necessity, Role, Segment
from annotate.models import Person, Question, SourceVersion, Study
from annotate.permissions import OPERATOR
from annotate.selectors.adjudication import settled_content
from annotate.selectors.passes import content_of
from annotate.services.assign_questions import assign_questions
from annotate.services.decide import confirm_agreed
from annotate.services.discuss import add_note
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_versions
from annotate.services.return_pass import return_pass
from annotate.services.save_pass import save_pass
from annotate.services.settle_item import settle_item
from annotate.services.studies import create_study
from annotate.services.submit_pass import submit_pass
from evaluation.services.cancel_sweep import cancel_sweep
from evaluation.services.lock_plan import lock_plan
from evaluation.services.start_sweep import start_sweep
from evaluation.services.write_plan import write_plan
from tests.factories import DAY, make_member
from tests.ledger.audited_world import PLAN

OLD = b"Lamps are lent for ten days."
NEW = b"Lamps are lent for nine days."


@dataclass(frozen=True)
class Staff:
    """The same people work in both studies."""

    one: Person
    two: Person
    judge: Person


def make_twin_world() -> tuple[Study, Study]:
    """Return both studies, each with two questions in two rounds, two fixture sets, and one plan locked twice."""
    first, second = (create_study(OPERATOR, slug, "Lamps", guideline="Mark rules.") for slug in ("east", "west"))
    staff = Staff(
        make_member(first),
        make_member(first),
        make_member(first, Role.ADJUDICATOR),
    )
    for person, role in ((staff.one, Role.ANNOTATOR), (staff.two, Role.ANNOTATOR), (staff.judge, Role.ADJUDICATOR)):
        make_member(second, role, person=person)
    for study in (first, second):
        _fill(study, staff)
    return first, second


def _fill(study: Study, staff: Staff) -> None:
    _import(study, "lamps")
    entries = [QuestionEntry(key, "How long?", DAY, segment=Segment.NUMBER_AND_SCOPE, group="g") for key in ("a", "b")]
    questions = [written.question for written in write_questions(OPERATOR, study, entries)]
    assign_questions(OPERATOR, study, [staff.one, staff.two], questions)
    for question in questions:
        _adjudicate(study, question, staff)
    first = freeze_fixtures(OPERATOR, study, "v1", ["a"])
    second = freeze_fixtures(OPERATOR, study, "v2", ["a", "b"], successor_of=first)
    for number in range(2):
        plan = lock_plan(OPERATOR, write_plan(OPERATOR, fixture_set=second, toml=PLAN))
        stopped = start_sweep(OPERATOR, plan, idempotency_key=f"{study.slug}-{number}", seed=3)
        cancel_sweep(OPERATOR, stopped, reason="Enough.")
    # Last, since a corpus holds no bytes twice.
    _import(study, "copies")


def _import(study: Study, document: str) -> None:
    older = SourceEntry(document, document, "1", DAY)
    import_versions(OPERATOR, study, [(older, OLD), (SourceEntry(document, document, "2", DAY, supersedes="1"), NEW)])


def _content(study: Study, answer: str) -> PassContent:
    version = SourceVersion.objects.filter(source__study=study, source__document_id="lamps").get(version_label="2")
    span = MarkedSpan(version.sha256, 0, len(NEW), "rule")
    contract = AnswerContract(answerable=True, answer=answer, missing_text="Abstain.")
    return PassContent(contract, (span,), (("rule",),))


def _adjudicate(study: Study, question: Question, staff: Staff) -> None:
    tasks = list(question.assignments.select_related("annotator", "question__study").order_by("slot"))
    for number, task in enumerate(tasks):
        work = save_pass(task.annotator, task, 0, _content(study, "Nine."))
        submit_pass(task.annotator, task, work.revision, f"{study.slug}-{question.key}-{number}-1")
    return_pass(OPERATOR, tasks[0], "Again.")
    tasks[0].refresh_from_db()
    work = save_pass(tasks[0].annotator, tasks[0], content_of(tasks[0])[0], _content(study, "Nine."))
    submit_pass(tasks[0].annotator, tasks[0], work.revision, f"{study.slug}-{question.key}-0-2")
    item = question.items.order_by("-round")[0]
    confirm_agreed(staff.judge, item)
    add_note(staff.judge, item, "Fine.", tasks[1])
    words = {name: (Necessity.NECESSARY, "It says it.") for members in settled_content(item).sets for name in members}
    settle_item(staff.judge, item, Segment.NUMBER_AND_SCOPE, words)

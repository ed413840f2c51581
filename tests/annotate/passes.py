"""Two annotators, an adjudicator and a question, as most tests of passes need them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.pass_edits import AddSpan, Edit, RemoveSpan, SetMembers
from annotate.domain.vocabulary import DependencyType, Role, SpanLabel
from annotate.models import Assignment, Pass, Person, Question, SourceVersion, Study, Submission
from annotate.selectors.passes import content_of
from annotate.services.edit_pass import edit_pass
from annotate.services.own_task import own_task
from annotate.services.save_pass import save_pass
from annotate.services.submit_pass import submit_pass
from tests.factories import (
    TEXT,
    make_assignment,
    make_member,
    make_question,
    make_source_version,
    make_study,
)


@dataclass
class Desk:
    """One question with its people and its source."""

    study: Study
    version: SourceVersion
    question: Question
    one: Person
    two: Person
    adjudicator: Person
    lead: Person
    first: Assignment = field(init=False)
    second: Assignment = field(init=False)

    def __post_init__(self) -> None:
        self.first = make_assignment(self.question, self.one, 1)
        self.second = make_assignment(self.question, self.two, 2)

    def span(self, name: str, start: int, end: int, label: SpanLabel = SpanLabel.EVIDENCE) -> MarkedSpan:
        return MarkedSpan(self.version.sha256, start, end, name, label)

    def content(self, **changes: Any) -> PassContent:
        """Return the seed's answer, complete; keywords change the contract's fields or spans, sets and forbidden."""
        contract = AnswerContract(
            answerable=True,
            answer="At most 7 days.",
            dependency=DependencyType.EXCEPTION,
            missing_text="Abstain on the temporary-request limit.",
        )
        whole = {key: changes.pop(key) for key in ("spans", "sets", "forbidden") if key in changes}
        base = PassContent(
            replace(contract, **changes),
            (self.span("rule", 0, 37, SpanLabel.RULE), self.span("qualifier", 38, 89, SpanLabel.QUALIFIER)),
            (("rule", "qualifier"),),
        )
        return replace(base, **whole)

    def submit(self, assignment: Assignment, content: PassContent) -> Submission:
        revision, _ = content_of(assignment)
        work = save_pass(assignment.annotator, assignment, revision, content)
        return submit_pass(assignment.annotator, assignment, work.revision, uuid.uuid4().hex)

    def submit_both(self, one: PassContent, two: PassContent) -> None:
        self.submit(self.first, one)
        self.submit(self.second, two)


def edit(person: Person, assignment: Assignment, revision: int, batch: Sequence[Edit], **more: Any) -> Pass:
    """Edit as the API does: find the task, then apply the batch; returns the pass as it stands then."""
    edit_pass(own_task(person, assignment.pk, "pass.edit"), revision, batch, **more)
    return Pass.objects.get(assignment=assignment)


def add_mark(
    person: Person,
    assignment: Assignment,
    revision: int,
    span: MarkedSpan,
    *,
    quote: str | None = None,
    forbidden: bool = False,
) -> Pass:
    return edit(person, assignment, revision, [AddSpan(span, forbidden, (), quote)])


def remove_mark(person: Person, assignment: Assignment, revision: int, name: str) -> Pass:
    return edit(person, assignment, revision, [RemoveSpan(name)])


def set_members(person: Person, assignment: Assignment, revision: int, position: int, members: list[str]) -> Pass:
    return edit(person, assignment, revision, [SetMembers(position, tuple(members))])


def make_desk(content: str | bytes = TEXT, *, study: Study | None = None, **question: Any) -> Desk:
    """Return a desk over a source of `content`; keywords are the question's fields and `document_id`."""
    study = study or make_study()
    version = make_source_version(study, content, document_id=str(question.pop("document_id", "")))
    return Desk(
        study=study,
        version=version,
        question=make_question(study, **question),
        one=make_member(study),
        two=make_member(study),
        adjudicator=make_member(study, Role.ADJUDICATOR),
        lead=make_member(study, Role.LEAD),
    )

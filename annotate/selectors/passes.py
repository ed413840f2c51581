"""Passes, always from the person who asks: an annotator sees their own work and nothing of anybody else's."""

from __future__ import annotations

from django.db.models import F, Q, QuerySet

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.content_codec import content_from_payload
from annotate.domain.vocabulary import DependencyType, MissingBehaviour, Role, SpanLabel
from annotate.models import (
    Assignment,
    ContractRevision,
    Mark,
    Pass,
    Person,
    RefusedSave,
    Study,
    Submission,
    SupportSetRevision,
)
from ledger.domain.canonical import parse_canonical


def assignments_of(person: Person, study: Study | None = None) -> QuerySet[Assignment]:
    """Return the person's own assignments in studies where they are (still) an annotator, open ones first by key."""
    found = Assignment.objects.filter(
        annotator_id=person.pk,
        annotator__is_active=True,
        question__study__memberships__person_id=person.pk,
        question__study__memberships__role=Role.ANNOTATOR,
    ).exclude(state=Assignment.State.WITHDRAWN)
    if study is not None:
        found = found.filter(question__study=study)
    return found.select_related("question__study").order_by("question__study_id", "question__key", "pk")


def open_assignments_of(person: Person, study: Study | None = None) -> QuerySet[Assignment]:
    """Return the person's assignments that wait for their work: not submitted or returned to them, and not paused."""
    return assignments_of(person, study).filter(paused=False).exclude(state=Assignment.State.SUBMITTED)


def passes_of(person: Person, study: Study | None = None) -> QuerySet[Pass]:
    """Return the person's own passes, under the same rule as `assignments_of`."""
    return (
        Pass.objects.filter(assignment__in=assignments_of(person, study).order_by())
        .select_related("assignment__question__study")
        .order_by("assignment__question__key", "pk")
    )


def submissions_of(person: Person, study: Study | None = None) -> QuerySet[Submission]:
    """Return what the person has submitted."""
    return Submission.objects.filter(work__in=passes_of(person, study).order_by()).order_by("work_id", "ordinal")


def refused_saves_of(person: Person, work: Pass) -> QuerySet[RefusedSave]:
    """Return the stale writes kept for one of the person's own passes, newest first."""
    return RefusedSave.objects.filter(work=work, work__in=passes_of(person).order_by()).order_by("-pk")


def pass_content(work: Pass, revision: int | None = None) -> PassContent:
    """Return what a pass says at `revision` (the one in force by default): spans in the order of the text.

    Three queries; none for revision 0, which is the empty pass.
    """
    at = work.revision if revision is None else revision
    if at == 0:
        return PassContent()
    alive = Q(created_revision__lte=at) & (Q(retired_revision__isnull=True) | Q(retired_revision__gt=at))
    marks = (
        work.marks.filter(alive)
        .order_by("version__sha256", "start", "end", "name")
        .values_list("version__sha256", "start", "end", "name", "label", "forbidden")
    )
    spans: list[MarkedSpan] = []
    forbidden: list[str] = []
    for version, start, end, name, label, out in marks:
        spans.append(MarkedSpan(version, start, end, name, SpanLabel(label)))
        if out:
            forbidden.append(name)
    sets = tuple(
        tuple(members)
        for members in work.support_sets.filter(alive).order_by("position", "pk").values_list("members", flat=True)
    )
    row = work.contracts.filter(alive).first()
    return PassContent(contract_of(row) if row else AnswerContract(), tuple(spans), sets, tuple(forbidden))


def marks_between(assignment: Assignment, version_pk: int, start: int, end: int) -> PassContent:
    """Return the spans in force of one version that touch `[start, end)`, with the sets cut to them; no contract.

    For drawing a part of a long source: what lies elsewhere is not read. Two queries.
    """
    marks = Mark.objects.filter(work__assignment=assignment, retired_revision=None, version_id=version_pk)
    near = marks.filter(start__lt=end, end__gt=start).order_by("start", "end", "name")
    spans: list[MarkedSpan] = []
    forbidden: list[str] = []
    for sha, first, last, name, label, out in near.values_list(
        "version__sha256", "start", "end", "name", "label", "forbidden"
    ):
        spans.append(MarkedSpan(sha, first, last, name, SpanLabel(label)))
        if out:
            forbidden.append(name)
    names = {span.name for span in spans}
    rows = SupportSetRevision.objects.filter(work__assignment=assignment, retired_revision=None)
    sets = tuple(
        tuple(name for name in members if name in names)
        for members in rows.order_by("position", "pk").values_list("members", flat=True)
    )
    return PassContent(AnswerContract(), tuple(spans), sets, tuple(forbidden))


def contract_of(row: ContractRevision) -> AnswerContract:
    """Return the answer contract a row holds."""
    return AnswerContract(
        answerable=row.answerable,
        answer=row.answer,
        scope=row.scope,
        qualification=row.qualification,
        dependency=DependencyType(row.dependency),
        missing_behaviour=MissingBehaviour(row.missing_behaviour),
        missing_text=row.missing_text,
        notes=row.notes,
    )


def content_of(assignment: Assignment) -> tuple[int, PassContent]:
    """Return (revision, content) of an assignment; (0, empty) before its first save."""
    work = Pass.objects.filter(assignment=assignment).first()
    return (work.revision, pass_content(work)) if work else (0, PassContent())


def submitted_content(submission: Submission) -> PassContent:
    """Return the sealed content of a submission."""
    return content_from_payload(parse_canonical(bytes(submission.content)), f"submission {submission.pk}")


def refused_content(refused: RefusedSave) -> PassContent:
    """Return the content of a stale write as it was sent."""
    return content_from_payload(parse_canonical(bytes(refused.content)), f"refused save {refused.pk}")


def first_submissions(study: Study) -> QuerySet[Submission]:
    """Return the first submission of every pass of the study; agreement takes the questions that have two.

    Not for annotators: callers check `agreement.view` (see selectors.agreement).
    """
    return (
        Submission.objects.filter(ordinal=1, work__assignment__question__study=study)
        .annotate(question_id=F("work__assignment__question_id"), slot=F("work__assignment__slot"))
        .order_by("question_id", "slot", "pk")
    )

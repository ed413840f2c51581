"""Questions as one person sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotate.domain.vocabulary import Role
from annotate.models import AdjudicatedResult, Assignment, Membership, Question
from annotate.permissions import By, Operator

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations


class Progress(TypedDict):
    """What `with_progress` adds to a question."""

    assigned: int
    submitted: int
    settled: bool


#: Roles that see every question of a study; an annotator sees those assigned to them and no other.
WHOLE_STUDY = (Role.LEAD, Role.ADJUDICATOR, Role.OBSERVER)


def visible_to(by: By) -> QuerySet[Question]:
    """Return the questions of studies the person oversees and those assigned to them as an annotator."""
    questions = Question.objects.select_related("study")
    if isinstance(by, Operator):
        return questions
    if not by.is_active or by.pk is None:
        return questions.none()
    mine = Membership.objects.filter(person_id=by.pk)
    overseen = mine.filter(role__in=WHOLE_STUDY).values("study_id")
    annotating = mine.filter(role=Role.ANNOTATOR).values("study_id")
    assigned = Assignment.objects.filter(annotator_id=by.pk).values("question_id")
    return questions.filter(Q(study_id__in=overseen) | Q(study_id__in=annotating, pk__in=assigned))


def with_progress(questions: QuerySet[Question]) -> QuerySet[WithAnnotations[Question, Progress]]:
    """Add `assigned`, `submitted` (0 to 2 each) and `settled`, for whoever has `progress.view`.

    Never for an annotator: a count of two submissions tells them about the other's work.
    """
    return questions.annotate(
        assigned=Count("assignments", filter=~Q(assignments__state=Assignment.State.WITHDRAWN), distinct=True),
        submitted=Count("assignments", filter=Q(assignments__state=Assignment.State.SUBMITTED), distinct=True),
        settled=Exists(AdjudicatedResult.objects.filter(question=OuterRef("pk"))),
    )

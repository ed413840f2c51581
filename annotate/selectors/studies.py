"""Studies as one person sees them."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from annotate.models import Membership, Study
from annotate.permissions import By, Operator


def visible_to(by: By) -> QuerySet[Study]:
    """Return the studies in which the person has a role, all of them for the operator; none when deactivated."""
    if isinstance(by, Operator):
        return Study.objects.all()
    if not by.is_active or by.pk is None:
        return Study.objects.none()
    return Study.objects.filter(pk__in=Membership.objects.filter(person_id=by.pk).values("study_id"))


def with_counts(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Add `question_count` and `settled_count`, for a list that whoever may see the whole study reads.

    For an annotator it would tell about others' work: pages ask for `progress.view` first.
    """
    return studies.annotate(
        question_count=Count("questions", distinct=True),
        settled_count=Count("questions", filter=Q(questions__results__isnull=False), distinct=True),
    )

"""People as one person sees them. Only leads see who else is in a study: annotators must stay blind to each other."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from annotate.domain.vocabulary import Role
from annotate.models import Assignment, Membership, Person, Study
from annotate.permissions import By, Operator


def visible_to(by: By) -> QuerySet[Person]:
    """Return the person themself and everybody in the studies they lead; nobody when deactivated."""
    if isinstance(by, Operator):
        return Person.objects.all()
    if not by.is_active or by.pk is None:
        return Person.objects.none()
    led = Membership.objects.filter(person_id=by.pk, role=Role.LEAD).values("study_id")
    members = Membership.objects.filter(study_id__in=led).values("person_id")
    return Person.objects.filter(Q(pk=by.pk) | Q(pk__in=members))


def memberships_visible_to(by: By) -> QuerySet[Membership]:
    """Return the person's own memberships and all of the studies they lead."""
    memberships = Membership.objects.select_related("person", "study")
    if isinstance(by, Operator):
        return memberships
    if not by.is_active or by.pk is None:
        return memberships.none()
    led = Membership.objects.filter(person_id=by.pk, role=Role.LEAD).values("study_id")
    return memberships.filter(Q(person_id=by.pk) | Q(study_id__in=led))


def members(by: By, study: Study) -> QuerySet[Membership]:
    """Return the visible memberships of a study by name, each with `assigned` and `submitted`: its person's questions.

    Both are counted in a person's row as annotator; the rows of their other roles say 0.
    """
    work = (
        Assignment.objects.filter(question__study=study, annotator_id=OuterRef("person_id"))
        .exclude(state=Assignment.State.WITHDRAWN)
        .order_by()
        .values("annotator_id")
        .annotate(total=Count("pk"), done=Count("pk", filter=Q(state=Assignment.State.SUBMITTED)))
    )
    return (
        memberships_visible_to(by)
        .filter(study=study)
        .annotate(assigned=_of_annotator(work.values("total")), submitted=_of_annotator(work.values("done")))
        .order_by("person__username", "role", "pk")
    )


def _of_annotator(count: QuerySet[Assignment, Any]) -> Case:
    return Case(
        When(role=Role.ANNOTATOR, then=Coalesce(Subquery(count, output_field=IntegerField()), 0)), default=Value(0)
    )


def annotators(study: Study) -> QuerySet[Person]:
    """Return the active annotators of a study by name, for a lead who assigns questions."""
    held = Membership.objects.filter(study=study, role=Role.ANNOTATOR).values("person_id")
    return Person.objects.filter(pk__in=held, is_active=True).order_by("username")

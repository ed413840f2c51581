"""Who asks, and their studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.endpoint import Endpoint, SignedIn, StudyEndpoint
from annotate.api.listing import paged, parameters
from annotate.models import Membership, Person, Study
from annotate.permissions import allows
from annotate.selectors import studies


def times(value: Any) -> str | None:
    """Return a time or day in ISO 8601, None for none."""
    return value.isoformat() if value else None


class Start(Endpoint):
    """Where everything begins: who is signed in, and the two lists that need no study."""

    permission_classes = [SignedIn]

    def get(self, request: Request) -> Response:
        """Return the person and where to go on."""
        parameters(request, {})
        return Response(
            {"person": self.person.username, "studies": reverse("api-studies"), "tasks": reverse("api-tasks")}
        )


class Studies(Endpoint):
    """The person's studies."""

    permission_classes = [SignedIn]

    def get(self, request: Request) -> Response:
        """List them by slug."""
        return paged(request, studies.visible_to(self.person), ("slug", "pk"), self._shown)

    def _shown(self, rows: Sequence[Study]) -> list[dict[str, Any]]:
        held = roles_in(self.person, rows)
        return [study_object(row, held.get(row.pk, [])) for row in rows]


class StudyDetail(StudyEndpoint):
    """One study."""

    actions = {"GET": "study.view"}

    def get(self, request: Request, slug: str) -> Response:
        """Return it with its guideline, and its counts for whoever may see progress."""
        parameters(request, {})
        found = {
            **study_object(self.study, sorted(self.actor.roles)),
            "description": self.study.description,
            "guideline": self.study.guideline,
            "your_labels": sorted(self.actor.clearance),
        }
        if allows(self.actor, "progress.view"):
            counted: Any = studies.with_counts(studies.visible_to(self.person)).get(pk=self.study.pk)
            found |= {"questions": counted.question_count, "settled": counted.settled_count}
        return Response(found)


def roles_in(person: Person, rows: Sequence[Study]) -> dict[int, list[str]]:
    """Return the person's own roles by study. One query."""
    found: dict[int, list[str]] = {}
    held = Membership.objects.filter(person_id=person.pk, study__in=[row.pk for row in rows]).order_by("role", "pk")
    for study_id, role in held.values_list("study_id", "role"):
        found.setdefault(study_id, []).append(role)
    return found


def study_object(row: Study, roles: Sequence[str]) -> dict[str, Any]:
    """Return what a list says about a study."""
    return {
        "slug": row.slug,
        "title": row.title,
        "kind": row.kind,
        "your_roles": list(roles),
        "created_at": times(row.created_at),
        "archived_at": times(row.archived_at),
        "url": reverse("api-study", args=[row.slug]),
    }

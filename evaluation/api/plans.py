"""Plans: list, write from TOML, read, lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.fields import members, text
from annotate.api.listing import paged, parameters
from annotate.api.studies import times
from annotate.domain.errors import BadInput
from annotate.permissions import By
from evaluation.api.endpoint import EvaluationEndpoint, PlanEndpoint
from evaluation.api.sweeps import sent_limits
from evaluation.domain.sweep_limits import read_limits
from evaluation.models import Plan
from evaluation.selectors.pages import fixture_sets_visible_to, listed_plans, plans_visible_to
from evaluation.services.estimate_plan import estimate_plan
from evaluation.services.lock_plan import lock_plan
from evaluation.services.write_plan import write_plan
from ledger.domain.canonical import parse_canonical

MAX_TOML = 500_000


class Plans(EvaluationEndpoint):
    """The plans of a study."""

    actions = {"GET": "plan.view", "POST": "plan.write"}

    def get(self, request: Request, slug: str) -> Response:
        """List them, newest first."""
        return paged(request, listed_plans(self.person, self.study), ("-pk",), self._shown)

    def post(self, request: Request, slug: str) -> Response:
        """Write a draft for the named fixture set; the same text again is the same draft."""
        parameters(request, {})
        body = members(request.data, ["fixture_set", "toml"])
        name = text(body["fixture_set"], "fixture_set", most=80)
        toml = text(body["toml"], "toml", most=MAX_TOML)
        fixture_set = fixture_sets_visible_to(self.person, self.study).filter(name=name).first()
        if fixture_set is None:
            raise BadInput("fixture_set", f"there is no set “{name}” in this study", "Name one of its fixture sets.")
        written = write_plan(self.person, fixture_set=fixture_set, toml=toml)
        return _one(self.person, written.pk, status=201)

    def _shown(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        return [{**plan_object(row), "sweeps": row.sweep_count} for row in rows]


class PlanDetail(PlanEndpoint):
    """One plan."""

    actions = {"GET": "plan.view"}

    def get(self, request: Request, pk: int) -> Response:
        """Return it with its text and the payload that its digest is of."""
        parameters(request, {})
        return _one(self.person, self.plan.pk)


class PlanLock(PlanEndpoint):
    """The one thing that fixes a plan."""

    actions = {"POST": "plan.lock"}

    def post(self, request: Request, pk: int) -> Response:
        """Lock it; 409 when it is locked already."""
        parameters(request, {})
        members(request.data, [])
        return _one(self.person, lock_plan(self.person, self.plan).pk)


class PlanEstimate(PlanEndpoint):
    """What a sweep of the plan would be."""

    actions = {"POST": "plan.write"}

    def post(self, request: Request, pk: int) -> Response:
        """Count and measure it, or return what was measured before on this machine; prices by their names."""
        parameters(request, {})
        prices = read_limits(sent_limits(members(request.data, [], ["price_input", "price_output"]))).prices
        return Response(estimate_plan(self.person, self.plan, prices).data())


def plan_object(row: Plan) -> dict[str, Any]:
    """Return what a list says about a plan; needs `study`, `fixture_set`, `written_by` and `locked_by`."""
    return {
        "id": row.pk,
        "study": row.study.slug,
        "name": row.name,
        "digest": row.digest,
        "fixture_set": row.fixture_set.name,
        "fixture_set_digest": row.fixture_set.digest,
        "post_hoc": row.post_hoc,
        "written_by": row.written_by.username if row.written_by else None,
        "written_at": times(row.written_at),
        "locked_by": row.locked_by.username if row.locked_by else None,
        "locked_at": times(row.locked_at),
        "url": reverse("api-plan", args=[row.pk]),
    }


def _one(by: By, pk: int, status: int = 200) -> Response:
    row = plans_visible_to(by).get(pk=pk)
    body = {**plan_object(row), "toml": row.toml, "plan": parse_canonical(bytes(row.canonical))}
    return Response(body, status=status, headers={"Location": body["url"]} if status == 201 else None)

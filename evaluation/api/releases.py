"""The release of a sweep: what the plan's rule says, and the lead's signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.fields import idempotency_key, members, text
from annotate.api.listing import paged, parameters
from annotate.api.studies import times
from annotate.domain.errors import BadInput
from evaluation.api.endpoint import EvaluationEndpoint, SweepEndpoint
from evaluation.domain.decision import Disposition, decision_payload
from evaluation.models import Release, Sweep
from evaluation.selectors.pages import decision_for, held_out_openings, release_of
from evaluation.selectors.releases import released, sealed_sweeps
from evaluation.selectors.staleness import stale_reasons
from evaluation.services.sign_release import sign_release

MAX_REASON = 5_000


class Releases(EvaluationEndpoint):
    """The releases of a study."""

    actions = {"GET": "release.view"}

    def get(self, request: Request, slug: str) -> Response:
        """List its sealed sweeps, newest first: what was signed, and why one is stale."""
        return paged(request, sealed_sweeps(self.person, self.study), ("-pk",), _shown)


class SweepRelease(SweepEndpoint):
    """The release of one sweep."""

    actions = {"GET": "release.view", "POST": "release.sign"}

    def get(self, request: Request, pk: int) -> Response:
        """Return the decision (as signed, or as the rule computes it now); 409 while the sweep is not sealed."""
        parameters(request, {})
        return self._answer(release_of(self.sweep))

    def post(self, request: Request, pk: int) -> Response:
        """Sign; the same `Idempotency-Key` again returns the same release.

        Without `disposition` the computed one is signed; another one is an override and needs `override_reason`.
        """
        parameters(request, {})
        key = idempotency_key(request)
        body = members(request.data, [], ["disposition", "override_reason"])
        wanted = _disposition(body.get("disposition"))
        reason = text(body.get("override_reason", ""), "override_reason", most=MAX_REASON)
        signed = sign_release(self.person, self.sweep, idempotency_key=key, disposition=wanted, override_reason=reason)
        return self._answer(signed, status=201)

    def _answer(self, release: Release | None, status: int = 200) -> Response:
        decision = decision_for(self.sweep, release)
        return Response(
            {
                "sweep": self.sweep.pk,
                "root": self.sweep.root,
                "decision": decision_payload(decision),
                "signed": release_object(release) if release else None,
                "held_out_openings": held_out_openings(self.sweep.plan.fixture_set).count(),
                "stale": stale_reasons(self.sweep),
            },
            status=status,
        )


def release_object(row: Release) -> dict[str, Any]:
    """Return a signed release; an override's reason stands beside what the rule said."""
    return {
        "computed": row.computed,
        "disposition": row.disposition,
        "override_reason": row.override_reason,
        "digest": row.digest,
        "ledger_head": row.ledger_head,
        "held_out_openings": row.held_out_openings,
        "signed_by": row.signed_by.username,
        "signed_at": times(row.signed_at),
    }


def _shown(rows: Sequence[Sweep]) -> list[dict[str, Any]]:
    return [
        {
            "sweep": one.sweep.pk,
            "plan": one.sweep.plan_id,
            "plan_name": one.sweep.plan.name,
            "fixture_set": one.sweep.plan.fixture_set.name,
            "root": one.sweep.root,
            "sealed_at": times(one.sweep.finished_at),
            "signed": release_object(one.release) if one.release else None,
            "stale": one.stale,
            "url": reverse("api-release", args=[one.sweep.pk]),
        }
        for one in released(rows)
    ]


def _disposition(value: Any) -> Disposition | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in {word.value for word in Disposition}:
        raise BadInput(
            "disposition",
            f"it is {str(value)[:40]!r}",
            f"Send one of {', '.join(Disposition)}, or leave it out to sign what the rule says.",
        )
    return Disposition(value)

"""Sweeps: start, watch, cancel, and read the results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.fields import idempotency_key, members, text
from annotate.api.listing import number, one_of, paged, parameters
from annotate.api.studies import times
from annotate.domain.errors import BadInput
from evaluation.api.endpoint import EvaluationEndpoint, PlanEndpoint, SweepEndpoint
from evaluation.domain.sweep_limits import NAMES, read_limits
from evaluation.models import Sweep
from evaluation.selectors.pages import sweep_progress, sweeps_visible_to
from evaluation.services.cancel_sweep import cancel_sweep
from evaluation.services.limit_sweep import limits_of, resume_sweep, used_by
from evaluation.services.operations import limits_data, results_document, reused_data, used_data
from evaluation.services.pause_sweep import pause_sweep
from evaluation.services.results import sweep_results
from evaluation.services.start_sweep import start_sweep

MAX_SEED = 2**63 - 1
MAX_REASON = 500


class Sweeps(EvaluationEndpoint):
    """The sweeps of a study."""

    actions = {"GET": "results.view"}

    def get(self, request: Request, slug: str) -> Response:
        """List them, newest first; `?plan=` and `?state=` choose."""
        rows = sweeps_visible_to(self.person).filter(plan__study=self.study)
        filters: dict[str, Any] = {"plan": (number, "plan_id"), "state": (one_of(Sweep.State.values), "state")}
        return paged(request, rows, ("-pk",), _shown, **filters)


class PlanSweeps(PlanEndpoint):
    """The runs of one plan."""

    actions = {"GET": "results.view", "POST": "sweep.start"}

    def get(self, request: Request, pk: int) -> Response:
        """List them, newest first."""
        return paged(request, sweeps_visible_to(self.person).filter(plan=self.plan), ("-pk",), _shown)

    def post(self, request: Request, pk: int) -> Response:
        """Start a sweep of the locked plan; the same `Idempotency-Key` again returns the same sweep.

        `seed` (0 to 2⁶³ − 1) orders the cells; drawn and recorded when it is not sent. Caps and prices by their names.
        With `recompute` true no cell is taken from an earlier sweep of the plan.
        """
        parameters(request, {})
        key = idempotency_key(request)
        body = members(request.data, [], ["seed", "recompute", *NAMES])
        seed, recompute = _seed(body.get("seed")), _recompute(body.get("recompute", False))
        limits = read_limits(sent_limits(body))
        started = start_sweep(
            self.person, self.plan, idempotency_key=key, seed=seed, limits=limits, recompute=recompute
        )
        body = _shown([sweeps_visible_to(self.person).get(pk=started.pk)])[0]
        return Response(body, status=201, headers={"Location": body["url"]})


class SweepDetail(SweepEndpoint):
    """One sweep."""

    actions = {"GET": "results.view"}

    def get(self, request: Request, pk: int) -> Response:
        """Return it with how many cells are done, failed, running and waiting."""
        parameters(request, {})
        return Response(sweep_object(self.sweep))


class SweepCancel(SweepEndpoint):
    """The end of a running sweep."""

    actions = {"POST": "sweep.cancel"}

    def post(self, request: Request, pk: int) -> Response:
        """Cancel it, with a reason that stays; 409 when it is sealed."""
        parameters(request, {})
        body = members(request.data, ["reason"])
        cancel_sweep(self.person, self.sweep, reason=text(body["reason"], "reason", most=MAX_REASON))
        return Response(sweep_object(self.sweep))


class SweepPause(SweepEndpoint):
    """What lets a running sweep stand still."""

    actions = {"POST": "sweep.cancel"}

    def post(self, request: Request, pk: int) -> Response:
        """Pause it, with a reason; cells in work are finished. 409 when it is over."""
        parameters(request, {})
        body = members(request.data, ["reason"])
        pause_sweep(self.person, self.sweep, reason=text(body["reason"], "reason", most=MAX_REASON))
        return Response(sweep_object(self.sweep))


class SweepResume(SweepEndpoint):
    """What lets a capped or paused sweep go on."""

    actions = {"POST": "sweep.start"}

    def post(self, request: Request, pk: int) -> Response:
        """Set caps (what is not sent stays, "none" takes one away); 409 when they are used up or the sweep is over."""
        parameters(request, {})
        resume_sweep(self.person, self.sweep, sent_limits(members(request.data, [], NAMES)))
        return Response(sweep_object(self.sweep))


class SweepResults(SweepEndpoint):
    """The results of a sealed sweep."""

    actions = {"GET": "results.view"}

    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return what `manage.py results --json` writes, byte for byte; 409 while it runs."""
        parameters(request, {})
        data = results_document(self.sweep, sweep_results(self.sweep))
        content = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        return HttpResponse(content, content_type="application/json")


def sweep_object(row: Sweep) -> dict[str, Any]:
    """Return one sweep with its progress; the seed as a string, since not every reader of JSON has 63 bits."""
    progress = sweep_progress(row)
    limits = limits_of(row)
    return {
        **_plain(row),
        "cells": {
            "total": progress.total,
            "done": progress.done,
            "failed": progress.failed,
            "running": progress.running,
            "waiting": progress.waiting,
        },
        "attempts_without_result": progress.attempts_failed,
        "limits": limits_data(limits),
        "used": used_data(limits, used_by(row)),
        "reused": reused_data(row),
        "cells_per_second": None if progress.rate is None else round(progress.rate, 3),
        "seconds_left": None if progress.left is None else int(progress.left.total_seconds()),
    }


def _plain(row: Sweep) -> dict[str, Any]:
    return {
        "id": row.pk,
        "plan": row.plan_id,
        "plan_digest": row.plan.digest,
        "fixture_set": row.plan.fixture_set.name,
        "study": row.plan.study.slug,
        "state": row.state,
        "root": row.root or None,
        "problem": row.problem,
        "seed": str(row.seed),
        "recompute": row.recompute,
        "held_out": row.held_out,
        "started_by": row.started_by.username if row.started_by else None,
        "started_at": times(row.started_at),
        "finished_at": times(row.finished_at),
        "url": reverse("api-sweep", args=[row.pk]),
    }


def _shown(rows: Sequence[Sweep]) -> list[dict[str, Any]]:
    return [_plain(row) for row in rows]


def sent_limits(body: Mapping[str, Any]) -> dict[str, str]:
    """Return caps and prices sent as numbers or text, as `read_limits` takes them; raises BadInput by name."""
    said = {}
    for name in NAMES:
        value = body.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, str, NoneType)):
            raise BadInput(
                name, f"it is {str(value)[:40]!r}", "Send a whole number, or money as a text such as “2.50”."
            )
        said[name] = "" if value is None else str(value)[:40]
    return said


def _recompute(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadInput("recompute", f"it is {str(value)[:40]!r}", "Send true or false, or leave it out.")
    return value


def _seed(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SEED:
        raise BadInput("seed", f"it is {str(value)[:40]!r}", "Send a whole number from 0 to 2^63 − 1, or leave it out.")
    return value

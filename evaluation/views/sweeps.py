"""A running sweep: how far it is, what failed, and the button that stops it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotate.domain.errors import BadInput
from annotate.permissions import Actor, allows, require
from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.domain.sweep_limits import NAMES, NONE, read_limits
from evaluation.models import Sweep
from evaluation.selectors.latency import latencies_of
from evaluation.selectors.pages import failed_attempts, release_of, sweep_progress
from evaluation.selectors.reuse import reused_from
from evaluation.services.cancel_sweep import cancel_sweep
from evaluation.services.limit_sweep import limits_of, resume_sweep, used_by
from evaluation.services.pause_sweep import pause_sweep
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.operations_reading import latency_row, reused_rows, used_rows
from evaluation.views.sweep_tabs import sweep_tabs
from evaluation.views.wording import minutes


@require_http_methods(["GET", "HEAD", "POST"])
@page
def sweep(request: HttpRequest, pk: int) -> HttpResponse:
    """Show progress (htmx asks for the partial every two seconds while it runs); POST `action` = cancel ends it, pause
    lets it stand, resume lets it go on and gives it other caps."""
    found, actor = sweep_for(request, pk, "results.view")
    if request.method == "POST":
        act = {"resume": _resume, "pause": _pause, "cancel": _cancel}.get(request.POST.get("action", ""))
        if act is None:
            raise BadInput("action", "it is nothing a sweep can do", "Use the button of the page.")
        return act(request, found, actor)
    return _show(request, found, actor)


def _show(
    request: HttpRequest, found: Sweep, actor: Actor, *, limit_problem: BadInput | None = None, status: int = 200
) -> HttpResponse:
    progress = sweep_progress(found)
    limits = limits_of(found)
    context: dict[str, Any] = {
        **sweep_frame(actor, found),
        "progress": progress,
        "running": found.state == Sweep.State.RUNNING,
        "sealed": found.state == Sweep.State.SEALED,
        "failures": list(failed_attempts(found)) if progress.attempts_failed else [],
        "may_cancel": found.is_open and allows(actor, "sweep.cancel"),
        "may_resume": found.is_open and allows(actor, "sweep.start"),
        "standing": found.state in Sweep.STANDING_STATES,
        "paused": found.state == Sweep.State.PAUSED,
        "may_start": found.state == Sweep.State.CANCELLED and allows(actor, "sweep.start"),
        "left": minutes(progress.left.total_seconds() / 60) if progress.left else "",
        "used": used_rows(limits, used_by(found), progress.total),
        "reused": reused_rows(reused_from(found), recompute=found.recompute),
        "may_export": allows(actor, "ledger.export"),
        "latencies": [latency_row(one) for one in latencies_of(found)],
        "limits": {**limits.as_text(), **{name: text for name in NAMES if (text := request.POST.get(name))}},
        "limit_problem": limit_problem,
        "release": release_of(found),
        "value": plan_value(found.plan),
        "sweep_tabs": sweep_tabs(found, "sweep") if found.state == Sweep.State.SEALED else [],
    }
    return respond(request, "evaluation/sweep.html", context, partial="progress", status=status)


def _resume(request: HttpRequest, found: Sweep, actor: Actor) -> HttpResponse:
    require(actor, "sweep.start")
    try:
        # A field that was emptied takes its cap away: what stands in the form is what will hold.
        sent = {name: request.POST.get(name, "").strip() or NONE for name in NAMES}
        resume_sweep(asker(request), found, read_limits(sent))
    except BadInput as bad:
        return _show(request, found, actor, limit_problem=bad, status=422)
    return redirect("sweep", found.pk)


def _pause(request: HttpRequest, found: Sweep, actor: Actor) -> HttpResponse:
    require(actor, "sweep.cancel")
    pause_sweep(asker(request), found, reason=request.POST.get("reason", "").strip()[:500])
    return redirect("sweep", found.pk)


def _cancel(request: HttpRequest, found: Sweep, actor: Actor) -> HttpResponse:
    require(actor, "sweep.cancel")
    if not request.POST.get("sure"):
        raise BadInput(
            "cancel",
            "the box was not ticked",
            "Tick it: a cancelled sweep cannot go on. Pause it to let it go on later.",
        )
    cancel_sweep(asker(request), found, reason=request.POST.get("reason", "").strip()[:500])
    return redirect("sweep", found.pk)

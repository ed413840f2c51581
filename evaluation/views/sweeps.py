"""A running sweep: how far it is, what failed, and the button that stops it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotate.domain.errors import BadInput
from annotate.permissions import allows
from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.models import Sweep
from evaluation.selectors.pages import failed_attempts, release_of, sweep_progress
from evaluation.services.cancel_sweep import cancel_sweep
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame


@require_http_methods(["GET", "POST"])
@page
def sweep(request: HttpRequest, pk: int) -> HttpResponse:
    """Show progress (htmx asks for the partial every two seconds while it runs); POST `action` = cancel stops it."""
    found, actor = sweep_for(request, pk, "results.view")
    if request.method == "POST":
        return _cancel(request, found)
    progress = sweep_progress(found)
    context: dict[str, Any] = {
        **sweep_frame(actor, found),
        "progress": progress,
        "running": found.state == Sweep.State.RUNNING,
        "sealed": found.state == Sweep.State.SEALED,
        "failures": list(failed_attempts(found)) if progress.attempts_failed else [],
        "may_cancel": found.state == Sweep.State.RUNNING and allows(actor, "sweep.cancel"),
        "release": release_of(found),
        "value": plan_value(found.plan),
    }
    return respond(request, "evaluation/sweep.html", context, partial="progress")


def _cancel(request: HttpRequest, found: Sweep) -> HttpResponse:
    if request.POST.get("action") != "cancel":
        raise BadInput("action", "it is nothing a sweep can do", "Use the button of the page.")
    if not request.POST.get("sure"):
        raise BadInput("cancel", "the box was not ticked", "Tick it: a cancelled sweep cannot go on.")
    cancel_sweep(asker(request), found, reason=request.POST.get("reason", "").strip()[:500])
    return redirect("sweep", found.pk)

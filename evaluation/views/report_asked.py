"""The report a page is about: the candidate and the view that its address names, and the view in words."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest

from evaluation.domain.plan import Plan
from evaluation.models import Sweep
from evaluation.services.result_rows import view_of
from evaluation.services.results import sweep_results
from evaluation.services.write_plan import plan_value
from evaluation.views.result_tables import Report
from evaluation.views.wording import words


def view_title(view: dict[str, Any]) -> str:
    """Return a view's name with what it limits and counts."""
    if view["view"] == "budget":
        return f"Fixed budget: {view['value']:,} tokens of evidence"
    return f"Fixed top-k: {view['value']} {words(view['unit']).lower()}"


def view_in_words(plan: Plan, key: str) -> str:
    """Return a view's name inside a sentence or a choice: `budget of 400 tokens`, `first 5 prompt units`."""
    view = view_of(plan, key)
    if view["view"] == "budget":
        return f"budget of {view['value']:,} tokens"
    return f"first {view['value']} {words(view['unit']).lower()}"


def report_for(request: HttpRequest, sweep: Sweep) -> Report:
    """Return the report of a sealed sweep for `?candidate=`; raises NotSealed, Http404 for an unknown candidate."""
    plan = plan_value(sweep.plan)
    wanted = request.GET.get("candidate", plan.decision.candidate)
    if wanted not in {arm.name for arm in plan.candidates}:
        raise Http404(f"the plan has no candidate {wanted}")
    return Report(sweep_results(sweep), wanted)


def primary_view(report: Report) -> dict[str, Any]:
    """Return the view that gates read."""
    found: dict[str, Any] = next(view for view in report.data["views"] if view["primary"])
    return found


def view_for(request: HttpRequest, report: Report) -> dict[str, Any]:
    """Return the view `?view=` names, the primary one without; raises Http404."""
    wanted = request.GET.get("view", primary_view(report)["key"])
    for view in report.data["views"]:
        if view["key"] == wanted:
            found: dict[str, Any] = view
            return found
    raise Http404(f"the plan has no view {wanted}")


def with_query(url: str, **asked: str) -> str:
    """Return `url` with a query."""
    return f"{url}?{urlencode(asked)}"

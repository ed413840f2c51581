"""From a lost question onwards: what its records show, the experiment that asks for as a plan, and a fixture for CI."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from annotate.domain.errors import BadInput
from annotate.permissions import allows, require
from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.domain.diagnosis import Diagnosis, diagnose
from evaluation.domain.next_experiment import next_plan
from evaluation.domain.plan import Plan
from evaluation.domain.plan_factors import changed_factors
from evaluation.domain.plan_toml import plan_to_toml
from evaluation.models import Sweep
from evaluation.selectors.question_trace import QuestionTrace, question_trace
from evaluation.services.export_pack import regression_fixture
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.downloads import attachment
from evaluation.views.plan_drafts import keep_draft
from evaluation.views.report_asked import view_in_words, with_query
from evaluation.views.wording import words


@require_http_methods(["GET", "POST"])
@page
def next_experiment(request: HttpRequest, pk: int, question_id: str) -> HttpResponse:
    """Show why a question was lost at `phase` in `view`, and what to try; POST takes one as a plan draft."""
    sweep, actor = sweep_for(request, pk, "results.view")
    asked = request.POST if request.method == "POST" else request.GET
    plan = plan_value(sweep.plan)
    trace = _trace(sweep, question_id, plan, asked.get("candidate", ""), asked.get("phase", ""), asked.get("view", ""))
    proposals = _proposals(plan, trace)
    if request.method == "POST":
        require(actor, "plan.write")
        chosen = next((one for one in proposals if one["plan"] and one["ident"] == request.POST.get("proposal")), None)
        if chosen is None:
            raise BadInput("proposal", "this question asks for no such experiment here", "Choose one of the page.")
        keep_draft(request, sweep.plan.study, sweep.plan.fixture_set, plan_to_toml(chosen["plan"]))
        return redirect(f"{reverse('plans', args=[sweep.plan.study.slug])}#new")
    back = reverse("sweep-question", args=[sweep.pk, question_id])
    context: dict[str, Any] = {
        **sweep_frame(
            actor,
            sweep,
            ("Results", reverse("results", args=[sweep.pk])),
            (question_id, with_query(back, phase=trace.label, view=trace.view, candidate=trace.arms[-1].name)),
            ("Next", ""),
        ),
        "question": trace.question,
        "trace": trace,
        "view": view_in_words(plan, trace.view),
        "candidate": trace.arms[-1].name,
        "proposals": proposals,
        "may_write": allows(actor, "plan.write"),
        "may_export": allows(actor, "dataset.export") and sweep.state == Sweep.State.SEALED,
        "held_out": trace.question.partition == "held-out",
    }
    return respond(request, "evaluation/next_experiment.html", context)


@require_POST
@page
def fixture_file(request: HttpRequest, pk: int, question_id: str) -> HttpResponse:
    """Download a question as a regression fixture. By POST: corpora are indexed anew, which no crawler should do."""
    sweep, _ = sweep_for(request, pk, "dataset.export")
    try:
        made = regression_fixture(asker(request), sweep, question_id, request.POST.get("candidate", ""))
    except LookupError as missing:
        raise Http404(str(missing)) from missing
    return attachment(made.data, made.name, "application/gzip")


def _trace(sweep: Sweep, question_id: str, plan: Plan, candidate: str, phase: str, view: str) -> QuestionTrace:
    candidate = candidate or plan.decision.candidate
    if candidate not in {arm.name for arm in plan.candidates}:
        raise Http404(f"the plan has no candidate {candidate}")
    try:
        return question_trace(sweep, question_id, (plan.baseline.name, candidate), phase, view)
    except LookupError as missing:
        raise Http404(str(missing)) from missing


def _proposals(plan: Plan, trace: QuestionTrace) -> list[dict[str, Any]]:
    """Return every reason of both arms, the candidate's first, with the plan its experiment would be (or None)."""
    found: list[dict[str, Any]] = []
    for arm in reversed(trace.arms):
        if arm.outcome is None:
            continue
        k = plan.budget.top_k if trace.view.startswith("top-k") else 0
        for one in diagnose(trace.question, arm.outcome, oracle=trace.oracle, tie_at_k=arm.tie_at_k, k=k):
            made = next_plan(plan, arm.name, one, trace.question.question_id, trace.label)
            found.append(_proposal(arm.name, arm.role, one, made))
    return found


def _proposal(arm: str, role: str, one: Diagnosis, made: Plan | None) -> dict[str, Any]:
    return {
        "ident": f"{arm}/{one.trouble}",
        "arm": arm,
        "role": role,
        "title": words(one.trouble),
        "because": one.because,
        "experiment": one.experiment.words,
        "plan": made,
        "changes": ", ".join(str(factor) for factor in changed_factors(made, made.candidates[0])) if made else "",
    }

"""Everything of a report that no headline shows: other metrics, measures of runs and builds, oracle, agreement."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotate.permissions import require
from annotate.selectors.agreement import agreement_of, left_out_note
from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.models import Sweep
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.chart_parts import Asked
from evaluation.views.measure_tables import build_tables, measure_rows
from evaluation.views.metric_tables import metric_rows, oracle_rows, oracle_titles, targeted_rows
from evaluation.views.report_asked import report_for, view_for, view_title, with_query
from evaluation.views.result_charts import figure_of
from evaluation.views.sweep_tabs import sweep_tabs
from evaluation.views.wording import words


@require_safe
@page
def measures(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the other metrics and measures of a view; `?agreement=draw` computes the annotators' agreement too, which
    htmx asks for by itself."""
    sweep, actor = sweep_for(request, pk, "results.view")
    if sweep.state != Sweep.State.SEALED:
        return redirect("sweep", sweep.pk)
    report = report_for(request, sweep)
    view = view_for(request, report)
    places = [(words(one), report.place(view["key"], one)) for one in report.samples]
    agreement = None
    if request.GET.get("agreement"):
        require(actor, "agreement.view")
        lines = agreement_of(asker(request), sweep.plan.study)
        note = left_out_note(asker(request), sweep.plan.study)
        asked = Asked(report, plan_value(sweep.plan), places[0][1], agreement=lines, agreement_note=note)
        agreement = figure_of(sweep.pk, asked, "agreement", drawn=True)
    same = {"candidate": report.candidate}
    context = {
        **sweep_frame(actor, sweep, ("Results", reverse("results", args=[sweep.pk])), ("Measures", "")),
        "sweep_tabs": sweep_tabs(sweep, "results-measures", report.candidate),
        "report": report,
        "view_title": view_title(view),
        "metrics": [(sample, metric_rows(report, place)) for sample, place in places],
        "measures": [(sample, measure_rows(report, place)) for sample, place in places],
        "builds": build_tables(report),
        "oracle_titles": oracle_titles(report),
        "oracle": [(words(one), oracle_rows(report, one)) for one in report.samples],
        "targeted": targeted_rows(report, view["key"]),
        "agreement": agreement,
        "agreement_url": with_query(reverse("results-measures", args=[sweep.pk]), **same, agreement="draw"),
    }
    return respond(request, "evaluation/measures.html", context, partial="agreement")

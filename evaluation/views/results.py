"""Results of a sealed sweep: the headline and the fixed budget, fixed top-k on a page of its own, and the charts."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotate.permissions import Actor
from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.models import Sweep
from evaluation.selectors.latency import latencies_of
from evaluation.selectors.pages import decision_for, question_texts, release_of
from evaluation.selectors.staleness import stale_reasons
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.chart_parts import Asked
from evaluation.views.chunk_lines import chunk_lines
from evaluation.views.fragility_rows import fragility_rows
from evaluation.views.gate_rows import gate_lines
from evaluation.views.report_asked import primary_view, report_for, view_title, with_query
from evaluation.views.result_cells import OVERALL, SAMPLE_WORDS, SUPPORT, Place
from evaluation.views.result_charts import figure_of
from evaluation.views.result_tables import Report
from evaluation.views.sweep_tabs import sweep_tabs
from evaluation.views.wording import counted, made_by, said, words

#: Gained and lost questions that the page lists of each; the list of questions has them all.
LISTED = 8
#: Every chart by name and words; the first two stand on the results page too.
CHARTS = (
    ("differences", "Paired differences by segment"),
    ("support-by-phase", "Support by phase"),
    ("questions-by-phase", "Questions, phase by phase"),
    ("losses", "Where support was lost"),
    ("frontier", "Support against cost"),
)


@require_safe
@page
def results(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the disposition, then every segment under the fixed budget, the two samples apart, and what changed."""
    sweep, actor = sweep_for(request, pk, "results.view")
    if sweep.state != Sweep.State.SEALED:
        return redirect("sweep", sweep.pk)
    report = report_for(request, sweep)
    release = release_of(sweep)
    decision = decision_for(sweep, release, report.results)
    primary = primary_view(report)
    gained, lost = _changed(report, primary["key"])
    listed = {name for _, name in (*gained[:LISTED], *lost[:LISTED])}
    texts = question_texts(asker(request), sweep.plan.study, listed)
    lines = gate_lines(decision)
    figures = _figures(sweep, report)
    context = {
        **_frame(sweep, actor, report, "results", "Results"),
        "said": said(release.disposition if release else decision.disposition),
        "computed": said(decision.disposition),
        "release": release,
        "release_url": reverse("release", args=[sweep.pk]),
        "stale": stale_reasons(sweep),
        "deciding": [line for line in lines if line.decides],
        "others": [line for line in lines if not line.decides],
        "fragility": fragility_rows(report, primary_view(report)["key"]),
        "budgets": _blocks(report, budget=True),
        "charts": figures[:2],
        "more_charts": figures[2:],
        "changes": [
            _change("lost", "✕", "reject", lost, texts, sweep, report),
            _change("gained", "✓", "accept", gained, texts, sweep, report),
        ],
        "lines": chunk_lines(report),
        "measures_url": with_query(reverse("results-measures", args=[sweep.pk]), candidate=report.candidate),
        "charts_url": with_query(reverse("results-charts", args=[sweep.pk]), candidate=report.candidate),
        "files": [
            (words(kind), with_query(reverse(f"results-{name}", args=[sweep.pk]), candidate=report.candidate))
            for kind, name in (("CSV", "table"), ("Parquet", "parquet"))
        ],
    }
    return respond(request, "evaluation/results.html", context)


@require_safe
@page
def top_k(request: HttpRequest, pk: int) -> HttpResponse:
    """Show every segment under the fixed top-k: the secondary view, never in one table with the budget."""
    sweep, actor = sweep_for(request, pk, "results.view")
    if sweep.state != Sweep.State.SEALED:
        return redirect("sweep", sweep.pk)
    report = report_for(request, sweep)
    context = {
        **_frame(sweep, actor, report, "results-top-k", "Fixed top-k"),
        "blocks": _blocks(report, budget=False),
    }
    return respond(request, "evaluation/results_top_k.html", context)


@require_safe
@page
def charts(request: HttpRequest, pk: int) -> HttpResponse:
    """Show every chart of the primary view, the two samples beside each other."""
    sweep, actor = sweep_for(request, pk, "results.view")
    if sweep.state != Sweep.State.SEALED:
        return redirect("sweep", sweep.pk)
    report = report_for(request, sweep)
    context = {
        **_frame(sweep, actor, report, "results-charts", "Charts"),
        "view_title": view_title(primary_view(report)),
        "charts": _figures(sweep, report),
        "agreement_url": with_query(reverse("results-measures", args=[sweep.pk]), candidate=report.candidate),
    }
    return respond(request, "evaluation/results_charts.html", context)


def _frame(sweep: Sweep, actor: Actor, report: Report, current: str, name: str) -> dict[str, Any]:
    trail = [("Results", reverse("results", args=[sweep.pk]))] if current != "results" else []
    return {
        **sweep_frame(actor, sweep, *trail, (name, "")),
        "sweep_tabs": sweep_tabs(sweep, current, report.candidate),
        "report": report,
    }


def _figures(sweep: Sweep, report: Report) -> list[tuple[str, str, list[Any]]]:
    plan, view = plan_value(sweep.plan), primary_view(report)["key"]
    latencies = latencies_of(sweep)
    asked = [Asked(report, plan, report.place(view, one), latencies=latencies) for one in report.samples]
    return [(name, title, [figure_of(sweep.pk, one, name) for one in asked]) for name, title in CHARTS]


def _blocks(report: Report, *, budget: bool) -> list[dict[str, Any]]:
    """Return the tables of the views of one kind, the primary view first."""
    views = sorted(report.data["views"], key=lambda one: not one["primary"])
    return [_block(report, view) for view in views if (view["view"] == "budget") is budget]


def _change(
    word: str,
    icon: str,
    tone: str,
    found: list[tuple[str, str]],
    texts: dict[str, str],
    sweep: Sweep,
    report: Report,
) -> dict[str, Any]:
    every = with_query(
        reverse("sweep-questions", args=[sweep.pk]), candidate=report.candidate, change=f"{word}-everywhere"
    )
    return {
        "title": f"{words(word)}: {counted(len(found), 'question')}",
        "word": word,
        "icon": icon,
        "tone": tone,
        "rows": [(name, texts.get(name, ""), words(sample)) for sample, name in found[:LISTED]],
        "more": len(found) - LISTED,
        "total": len(found),
        "url": every,
    }


def _block(report: Report, view: dict[str, Any]) -> dict[str, Any]:
    tables = [
        {
            "sample": sample,
            "words": SAMPLE_WORDS[sample],
            "label": f"{view_title(view)}, {sample} sample",
            "rows": report.segment_rows(report.place(view["key"], sample)),
            "signature": _made(report, report.place(view["key"], sample)),
        }
        for sample in report.samples
    ]
    return {"view": view, "title": view_title(view), "tables": tables}


def _made(report: Report, place: Place) -> str:
    """Return what the intervals of a table have in common."""
    at = {"view": place.view, "sample": place.sample, "metric": SUPPORT, "segment": OVERALL}
    return made_by(report.results.row("pairs", candidate=place.candidate, **at)["mean"])


def _changed(report: Report, view: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return (sample, question) of those gained and lost by what holds in every phase."""
    rows = [(sample, report.segment_row(report.place(view, sample), OVERALL)) for sample in report.samples]
    return (
        [(sample, name) for sample, row in rows for name in row.gained],
        [(sample, name) for sample, row in rows for name in row.lost],
    )

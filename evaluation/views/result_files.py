"""Results as files: a chart as SVG or its numbers, every difference with its signature, and questions as filtered."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotate.domain.agreement_report import Line
from annotate.permissions import Actor, require
from annotate.selectors.agreement import agreement_of, left_out_note
from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.charts import svg
from evaluation.models import Sweep
from evaluation.selectors.latency import latencies_of
from evaluation.selectors.pages import question_texts
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.chart_parts import SIGNATURE, Asked, signature_cells
from evaluation.views.downloads import attachment, csv_file, table_file
from evaluation.views.question_list import listed_questions
from evaluation.views.question_rows import QuestionRow
from evaluation.views.report_asked import report_for, view_for
from evaluation.views.result_cells import OVERALL
from evaluation.views.result_charts import chart_of, figure_of, title_of
from evaluation.views.results import CHARTS
from evaluation.views.sweep_tabs import sweep_tabs
from evaluation.views.wording import words

HEADER = (
    *("baseline", "candidate", "view", "sample", "segment", "metric", "difference", "lower", "upper", "status"),
    *("reason", *SIGNATURE, "gained", "lost"),
)
QUESTION_HEADER = (
    *("question", "text", "segment", "sample", "view", "language", "sources", "restricted sources", "formats"),
    *("evidence bytes", "phases", "whole under baseline", "whole under candidate", "changes", "stages"),
)


@require_safe
@page
def chart_file(request: HttpRequest, pk: int, name: str, kind: str) -> HttpResponse:
    """Download a chart as SVG (colours resolved, the finding inside) or its numbers as CSV."""
    sweep, actor = sweep_for(request, pk, "results.view")
    asked = _asked(request, sweep, actor, name)
    chart, place = chart_of(name, asked), asked.place
    about = "" if name == "agreement" else f"-{asked.segment}-{place.sample}-{place.view}"
    file = f"sweep-{sweep.pk}-{name}{about}"
    if kind == "svg":
        title = title_of(name, asked, chart)
        drawn = chart.draw(f"{words(asked.segment)}: {title}" if about else title)
        return attachment(svg.resolved(drawn).encode(), f"{file}.svg", "image/svg+xml")
    return csv_file(f"{file}.csv", chart.columns, chart.numbers)


@require_safe
@page
def drawing(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Show one chart on a page of its own; htmx, which fills the charts of the other pages, gets the drawing alone."""
    sweep, actor = sweep_for(request, pk, "results.view")
    asked = _asked(request, sweep, actor, name)
    chart = figure_of(sweep.pk, asked, name, drawn=True)
    title = dict(CHARTS).get(name, words(name))
    trail = (("Results", reverse("results", args=[sweep.pk])), (title, ""))
    context = {
        **sweep_frame(actor, sweep, *trail),
        "sweep_tabs": sweep_tabs(sweep, "results-charts", asked.report.candidate),
        "report": asked.report,
        "chart": chart,
        "title": title,
        "segment": "All segments together" if asked.segment == OVERALL else words(asked.segment),
    }
    return respond(request, "evaluation/chart.html", context, partial="drawing")


def _asked(request: HttpRequest, sweep: Sweep, actor: Actor, name: str) -> Asked:
    report = report_for(request, sweep)
    sample, segment = request.GET.get("sample", report.samples[0]), request.GET.get("segment", OVERALL)
    if segment not in report.segments or sample not in report.samples:
        raise Http404("no such segment or sample")
    place = report.place(view_for(request, report)["key"], sample)
    lines: tuple[Line, ...] = ()
    note = ""
    if name == "agreement":
        require(actor, "agreement.view")
        lines = agreement_of(asker(request), sweep.plan.study)
        note = left_out_note(asker(request), sweep.plan.study)
    latencies = latencies_of(sweep) if name == "frontier" else ()
    return Asked(report, plan_value(sweep.plan), place, segment, lines, note, latencies)


@require_safe
@page
def differences_file(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """Download the differences of every view, sample, segment and metric, with their signatures."""
    sweep, _ = sweep_for(request, pk, "results.view")
    report = report_for(request, sweep)
    return table_file(kind, f"sweep-{sweep.pk}-differences", HEADER, [_row(row) for row in report.data["pairs"]])


@require_safe
@page
def questions_file(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """Download the questions that the filters of the address leave, as the page lists them."""
    sweep, actor = sweep_for(request, pk, "results.view")
    found = listed_questions(request, sweep, actor)
    texts = question_texts(asker(request), sweep.plan.study, [row.key for row in found.rows])
    header = (*QUESTION_HEADER, *(f"phase {label}" for label in found.report.labels))
    rows = [_question(row, texts.get(row.key), found.view["key"]) for row in found.rows]
    return table_file(kind, f"sweep-{sweep.pk}-questions", header, rows)


def _question(row: QuestionRow, text: str | None, view: str) -> list[object]:
    return [
        *(row.key, text, row.segment, row.sample, view, row.language, " ".join(row.sources), row.hidden),
        *(" ".join(row.formats), row.evidence_bytes, row.counted, *row.whole),
        *(" ".join(sorted(row.changes)), " ".join(row.stages), *(fate or None for fate in row.fates)),
    ]


def _row(row: dict[str, Any]) -> list[object]:
    mean = row["mean"]
    whole = row.get("cells", [None])[0]
    return [
        *(row[name] for name in ("baseline", "candidate", "view", "sample", "segment", "metric")),
        *(mean[name] for name in ("value", "lower", "upper", "status")),
        mean["reason"] or mean["note"],
        *signature_cells(mean),
        " ".join(whole["gained"]) if whole else None,
        " ".join(whole["lost"]) if whole else None,
    ]

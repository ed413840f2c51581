"""Results as files: a chart as SVG, its numbers as CSV, and every difference with its signature as CSV."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from evaluation.charts import svg
from evaluation.charts.support_by_phase import draw
from evaluation.views.access import page, sweep_for
from evaluation.views.downloads import attachment, csv_file
from evaluation.views.result_tables import finding
from evaluation.views.results import report_for, view_for
from evaluation.views.wording import words

HEADER = (
    *("baseline", "candidate", "view", "sample", "segment", "metric", "difference", "lower", "upper", "status"),
    *("reason", "questions", "clusters", "method", "confidence", "sidedness", "replicates", "seed", "gained", "lost"),
)


@require_GET
@page
def chart_file(request: HttpRequest, pk: int, segment: str, kind: str) -> HttpResponse:
    """Download a segment's chart of support by phase as SVG (colours resolved) or its numbers as CSV."""
    sweep, _ = sweep_for(request, pk, "results.view")
    report = report_for(request, sweep)
    sample = request.GET.get("sample", report.samples[0])
    if segment not in report.segments or sample not in report.samples:
        raise Http404("no such segment or sample")
    place = report.place(view_for(request, report)["key"], sample)
    points = [report.points(place, segment, arm) for arm in report.arms]
    name = f"sweep-{sweep.pk}-{segment}-{sample}-{place.view}"
    if kind == "svg":
        heading = f"{words(segment)}, {sample}: {finding(*points)}"
        drawn = draw([*points[0], *points[1]], report.arms, heading)
        return attachment(svg.resolved(drawn).encode(), f"{name}.svg", "image/svg+xml")
    rows = [[one.arm, one.label, one.numerator, one.denominator, one.value, one.why] for arm in points for one in arm]
    return csv_file(f"{name}.csv", ["arm", "phase", "numerator", "denominator", "value", "status"], rows)


@require_GET
@page
def table_file(request: HttpRequest, pk: int) -> HttpResponse:
    """Download the differences of every view, sample, segment and metric as CSV, with their signatures."""
    sweep, _ = sweep_for(request, pk, "results.view")
    report = report_for(request, sweep)
    return csv_file(f"sweep-{sweep.pk}-differences.csv", HEADER, (_csv_row(row) for row in report.data["pairs"]))


def _csv_row(row: dict[str, Any]) -> list[object]:
    mean, made = row["mean"], row["mean"]["signature"]
    whole = row.get("cells", [None])[0]
    return [
        *(row[name] for name in ("baseline", "candidate", "view", "sample", "segment", "metric")),
        *(mean[name] for name in ("value", "lower", "upper", "status")),
        mean["reason"] or mean["note"],
        *(made[name] for name in ("questions", "clusters", "method", "confidence", "sidedness", "replicates", "seed")),
        " ".join(whole["gained"]) if whole else None,
        " ".join(whole["lost"]) if whole else None,
    ]

"""One segment of a sealed sweep: every phase, average, worst phase, stability, and its questions phase by phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.charts.support_by_phase import PhasePoint
from evaluation.models import Sweep
from evaluation.selectors.pages import question_texts
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.chart_parts import Asked
from evaluation.views.fragility_rows import stable_or_not
from evaluation.views.measure_tables import measure_rows
from evaluation.views.metric_tables import metric_rows
from evaluation.views.phase_points import phase_table
from evaluation.views.report_asked import report_for, view_for, view_title, with_query
from evaluation.views.result_cells import OVERALL, SAMPLE_WORDS, SUPPORT, Place, difference, level
from evaluation.views.result_charts import figure_of
from evaluation.views.result_fates import fates_of, losses_of
from evaluation.views.result_tables import Report
from evaluation.views.sweep_tabs import sweep_tabs
from evaluation.views.wording import count_of, counted_in, made_by, share, words


@require_safe
@page
def segment(request: HttpRequest, pk: int, segment: str) -> HttpResponse:
    """Show one segment in one view and one sample (`?view=`, `?sample=`): phases, differences, questions, stability."""
    sweep, actor = sweep_for(request, pk, "results.view")
    if sweep.state != Sweep.State.SEALED:
        return redirect("sweep", sweep.pk)
    report = report_for(request, sweep)
    if segment not in report.segments:
        raise Http404(f"the plan has no segment {segment}")
    view = view_for(request, report)
    sample = request.GET.get("sample", report.samples[0])
    if sample not in report.samples:
        raise Http404(f"the sweep has no sample {sample}")
    table = _segment_block(sweep, report, report.place(view["key"], sample), segment)
    texts = question_texts(asker(request), sweep.plan.study, {row["key"] for row in table["questions"]})
    for row in table["questions"]:
        row["text"] = texts.get(row["key"], "")
    here = reverse("results-segment", args=[sweep.pk, segment])
    asked = {"candidate": report.candidate, "view": view["key"], "sample": sample}
    name = "All segments together" if segment == OVERALL else words(segment)
    context = {
        **sweep_frame(actor, sweep, ("Results", reverse("results", args=[sweep.pk])), (name, "")),
        "report": report,
        "name": name,
        "sweep_tabs": sweep_tabs(sweep, "results" if view["view"] == "budget" else "results-top-k", report.candidate),
        "view": view,
        "view_title": view_title(view),
        "segments": [
            {
                "text": "All together" if one == OVERALL else words(one),
                "url": with_query(reverse("results-segment", args=[sweep.pk, one]), **asked),
                "current": one == segment,
            }
            for one in report.segments
        ],
        "choices": [
            {
                "text": view_title(one),
                "url": with_query(here, **asked | {"view": one["key"]}),
                "current": one["key"] == view["key"],
            }
            for one in report.data["views"]
        ],
        "samples": [
            {"text": words(one), "url": with_query(here, **asked | {"sample": one}), "current": one == sample}
            for one in report.samples
        ],
        "labels": report.labels,
        "table": table,
        "changing": [row for row in table["questions"] if row["tags"]],
        "steady": [row for row in table["questions"] if not row["tags"]],
    }
    return respond(request, "evaluation/results_segment.html", context)


def _segment_block(sweep: Sweep, report: Report, place: Place, segment: str) -> dict[str, Any]:
    points = [report.points(place, segment, arm) for arm in report.arms]
    at = {"view": place.view, "sample": place.sample, "segment": segment, "metric": SUPPORT}
    pair = report.results.row("pairs", candidate=place.candidate, **at)
    by_label = {label: difference(one) for one in pair["phases"] for label in one["labels"]}
    arms = [report.results.row("arms_by_view", arm=arm, **at) for arm in report.arms]
    return {
        "sample": place.sample,
        "words": SAMPLE_WORDS[place.sample],
        "row": report.segment_row(place, segment),
        "phases": [
            (label, _counts(before), _counts(after), by_label.get(label))
            for label, before, after in phase_table(*points)
        ],
        "made_by": made_by(pair["mean"]),
        "counted_in": counted_in(pair["mean"]),
        "worst": difference(pair["worst"]),
        "own_worst": difference(pair["question_worst"]),
        "interactions": [
            (one["p_value"], one) for one in report.results.rows("interactions", candidate=place.candidate, **at)
        ],
        "stability": [
            {
                "arm": row["arm"],
                **report.sensitivity(place, segment, row["arm"]),
                "always": f"{len(row['always'])} of {stable_or_not(row)}",
                "never": f"{len(row['never'])} of {stable_or_not(row)}",
                "fragile": f"{len(row['fragile'])} of {stable_or_not(row)}",
                "question_worst": share(row["question_worst"]),
                "spread": share(row["spread"]),
                "distinct": row["distinct_phases"],
                "null": row["null"],
                "interval": level(row["interval"]),
                "worst_interval": level(row["worst_interval"]),
                "own_worst": level(row["question_worst_interval"]),
                "fragile_interval": level(row["fragile_interval"]),
                "flips": level(row["repeat_flips"]),
            }
            for row in arms
        ],
        "metrics": metric_rows(report, place, segment),
        "losses": losses_of(report, place, segment),
        "charts": [
            figure_of(sweep.pk, Asked(report, plan_value(sweep.plan), place, segment), name)
            for name in ("support-by-phase", "questions-by-phase", "losses")
        ],
        "measures": measure_rows(report, place, segment),
        "questions": _question_rows(report, place, segment, arms, pair["cells"][0]),
    }


def _question_rows(
    report: Report, place: Place, segment: str, arms: Sequence[dict[str, Any]], whole: dict[str, Any]
) -> list[dict[str, Any]]:
    fragile = [set(row["fragile"]) for row in arms]
    gained, lost = set(whole["gained"]), set(whole["lost"])
    rows = []
    for name, fates in fates_of(report, place, segment):
        tags = [("gained", "accept")] * (name in gained) + [("lost", "reject")] * (name in lost)
        tags += [
            (f"fragile under {arm}", "collect")
            for arm, names in zip(report.arms, fragile, strict=True)
            if name in names
        ]
        # The page opens where the arms differ first, since that is what one comes for.
        at = next((i for i, fate in enumerate(fates) if fate in {"lost", "gained"}), 0)
        cells = list(zip(report.labels, fates, strict=True))
        rows.append({"key": name, "tags": tags, "cells": cells, "open_at": report.labels[at]})
    return sorted(
        rows, key=lambda row: (not any(tone == "reject" for _, tone in row["tags"]), not row["tags"], row["key"])
    )


def _counts(point: PhasePoint) -> str:
    return count_of(point.numerator, point.denominator) if point.value is not None else f"undefined: {point.why}"

"""Results of a sealed sweep: the headline, segment by segment, charts, and everything as files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.charts.support_by_phase import PhasePoint
from evaluation.domain.decision import Decision
from evaluation.domain.gates import GateOutcome
from evaluation.models import Sweep
from evaluation.selectors.pages import decision_for, question_texts, release_of
from evaluation.services.results import sweep_results
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.chart_parts import Asked
from evaluation.views.measure_tables import measure_rows
from evaluation.views.result_charts import figure_of
from evaluation.views.result_tables import (
    OVERALL,
    SAMPLE_WORDS,
    SUPPORT,
    Place,
    Report,
    difference,
    level,
    phase_table,
)
from evaluation.views.wording import count_of, made_by, said, share, words


def _deciding(decision: Decision) -> dict[str, Any]:
    """Return what decided (triggered vetoes, rejecting and blocked gates) apart from what did not."""
    strong = (GateOutcome.REJECT, GateOutcome.BLOCKED)
    return {
        "deciding_gates": [(one, said(one.reading)) for one in decision.readings if one.reading in strong],
        "other_gates": [(one, said(one.reading)) for one in decision.readings if one.reading not in strong],
        "deciding_vetoes": [veto for veto in decision.vetoes if veto.triggered],
        "other_vetoes": [veto for veto in decision.vetoes if not veto.triggered],
    }


@require_safe
@page
def results(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the disposition, then every segment: the fixed budget first, top-k apart, the two samples apart."""
    sweep, actor = sweep_for(request, pk, "results.view")
    if sweep.state != Sweep.State.SEALED:
        return redirect("sweep", sweep.pk)
    report = report_for(request, sweep)
    release = release_of(sweep)
    decision = decision_for(sweep, release, report.results)
    primary = _primary(report)
    blocks = [_block(report, view) for view in sorted(report.data["views"], key=lambda one: not one["primary"])]
    gained, lost = _changed(report, primary["key"])
    texts = question_texts(asker(request), sweep.plan.study, {name for _, name in (*gained, *lost)})
    plan = plan_value(sweep.plan)
    asked = [Asked(report, plan, report.place(primary["key"], sample)) for sample in report.samples]
    context = {
        **sweep_frame(actor, sweep, ("Results", "")),
        "decision": decision,
        "said": said(release.disposition if release else decision.disposition),
        "computed": said(decision.disposition),
        "release": release,
        **_deciding(decision),
        "report": report,
        "primary": primary,
        "budgets": [one for one in blocks if one["view"]["view"] == "budget"],
        "top_k": [one for one in blocks if one["view"]["view"] != "budget"],
        "charts": [
            (name, title, [figure_of(sweep.pk, one, name) for one in asked])
            for name, title in (
                ("differences", "Paired differences by segment"),
                ("support-by-phase", "Support by phase"),
                ("questions-by-phase", "Questions, phase by phase"),
                ("losses", "Where support was lost"),
                ("frontier", "Support against cost"),
            )
        ],
        "gained": [(name, texts.get(name, ""), words(sample)) for sample, name in gained],
        "lost": [(name, texts.get(name, ""), words(sample)) for sample, name in lost],
        "measures_url": with_query(reverse("results-measures", args=[sweep.pk]), candidate=report.candidate),
        "questions_url": with_query(reverse("sweep-questions", args=[sweep.pk]), candidate=report.candidate),
        "files": [
            (words(kind), with_query(reverse(f"results-{name}", args=[sweep.pk]), candidate=report.candidate))
            for kind, name in (("CSV", "table"), ("Parquet", "parquet"))
        ],
    }
    return respond(request, "evaluation/results.html", context)


@require_safe
@page
def segment(request: HttpRequest, pk: int, segment: str) -> HttpResponse:
    """Show one segment: every phase, average, worst phase, paired difference, and its questions phase by phase."""
    sweep, actor = sweep_for(request, pk, "results.view")
    if sweep.state != Sweep.State.SEALED:
        return redirect("sweep", sweep.pk)
    report = report_for(request, sweep)
    if segment not in report.segments:
        raise Http404(f"the plan has no segment {segment}")
    view = view_for(request, report)
    tables = [_segment_block(sweep, report, report.place(view["key"], sample), segment) for sample in report.samples]
    texts = question_texts(
        asker(request), sweep.plan.study, {row["key"] for table in tables for row in table["questions"]}
    )
    name = "All segments together" if segment == OVERALL else words(segment)
    context = {
        **sweep_frame(actor, sweep, ("Results", reverse("results", args=[sweep.pk])), (name, "")),
        "report": report,
        "name": name,
        "segment": segment,
        "segments": [(one, "All together" if one == OVERALL else words(one)) for one in report.segments],
        "view": view,
        "view_title": view_title(view),
        "views": [
            {"key": one["key"], "title": view_title(one), "current": one["key"] == view["key"]}
            for one in report.data["views"]
        ],
        "labels": report.labels,
        "tables": tables,
        "texts": texts,
    }
    for table in tables:
        for row in table["questions"]:
            row["text"] = texts.get(row["key"], "")
    return respond(request, "evaluation/results_segment.html", context)


def view_title(view: dict[str, Any]) -> str:
    """Return a view's name with what it limits and counts."""
    if view["view"] == "budget":
        return f"Fixed budget: {view['value']:,} tokens of evidence"
    return f"Fixed top-k: {view['value']} {words(view['unit']).lower()}"


def report_for(request: HttpRequest, sweep: Sweep) -> Report:
    """Return the report of a sealed sweep for `?candidate=`; raises NotSealed, Http404 for an unknown candidate."""
    plan = plan_value(sweep.plan)
    wanted = request.GET.get("candidate", plan.decision.candidate)
    if wanted not in {arm.name for arm in plan.candidates}:
        raise Http404(f"the plan has no candidate {wanted}")
    return Report(sweep_results(sweep), wanted)


def _primary(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = next(view for view in report.data["views"] if view["primary"])
    return found


def view_for(request: HttpRequest, report: Report) -> dict[str, Any]:
    """Return the view `?view=` names, the primary one without; raises Http404."""
    wanted = request.GET.get("view", _primary(report)["key"])
    for view in report.data["views"]:
        if view["key"] == wanted:
            found: dict[str, Any] = view
            return found
    raise Http404(f"the plan has no view {wanted}")


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
        "worst": difference(pair["worst"]),
        "own_worst": difference(pair["question_worst"]),
        "interactions": [
            (one["p_value"], one) for one in report.results.rows("interactions", candidate=place.candidate, **at)
        ],
        "stability": [
            {
                "arm": row["arm"],
                **report.sensitivity(place, segment, row["arm"]),
                "always": f"{len(row['always'])} of {_counted(row)}",
                "never": f"{len(row['never'])} of {_counted(row)}",
                "fragile": f"{len(row['fragile'])} of {_counted(row)}",
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
        "metrics": report.metrics(place, segment),
        "losses": report.losses(place, segment),
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
    for name, fates in report.fates(place, segment):
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


def _counted(row: dict[str, Any]) -> int:
    return len(row["always"]) + len(row["never"]) + len(row["fragile"])


def with_query(url: str, **asked: str) -> str:
    """Return `url` with a query."""
    return f"{url}?{urlencode(asked)}"

"""Results of a sealed sweep: the headline, segment by segment, charts, and everything as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.charts import svg
from evaluation.charts.support_by_phase import PhasePoint, draw
from evaluation.domain.decision import Decision
from evaluation.domain.gates import GateOutcome
from evaluation.models import Sweep
from evaluation.selectors.pages import decision_for, question_texts, release_of
from evaluation.services.results import sweep_results
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.result_tables import (
    OVERALL,
    SAMPLE_WORDS,
    SUPPORT,
    Place,
    Report,
    difference,
    finding,
    level,
    phase_table,
)
from evaluation.views.wording import count_of, said, share, words


@dataclass(frozen=True)
class ChartFigure:
    """A chart as a page shows it: drawing, title, the same numbers as a table, and the two files."""

    heading: str
    ident: str
    view_box: str
    pieces: tuple[svg.Piece, ...]
    arms: tuple[str, str]
    rows: tuple[tuple[str, str, str], ...]
    signature: str
    svg_url: str
    csv_url: str


def _deciding(decision: Decision) -> dict[str, Any]:
    """Return what decided (triggered vetoes, rejecting and blocked gates) apart from what did not."""
    strong = (GateOutcome.REJECT, GateOutcome.BLOCKED)
    return {
        "deciding_gates": [(one, said(one.reading)) for one in decision.readings if one.reading in strong],
        "other_gates": [(one, said(one.reading)) for one in decision.readings if one.reading not in strong],
        "deciding_vetoes": [veto for veto in decision.vetoes if veto.triggered],
        "other_vetoes": [veto for veto in decision.vetoes if not veto.triggered],
    }


@require_GET
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
            _chart(sweep, report, report.place(primary["key"], sample), OVERALL, words(sample))
            for sample in report.samples
        ],
        "losses": [(words(one), report.losses(report.place(primary["key"], one))) for one in report.samples],
        "metrics": [(words(one), report.metrics(report.place(primary["key"], one))) for one in report.samples],
        "usage": [(words(one), report.usage(report.place(primary["key"], one))) for one in report.samples],
        "oracle": [(words(one), report.oracle(one)) for one in report.samples],
        "targeted": report.targeted(primary["key"]),
        "gained": [(name, texts.get(name, ""), words(sample)) for sample, name in gained],
        "lost": [(name, texts.get(name, ""), words(sample)) for sample, name in lost],
        "table_url": with_query(reverse("results-table", args=[sweep.pk]), candidate=report.candidate),
    }
    return respond(request, "evaluation/results.html", context)


@require_GET
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
        }
        for sample in report.samples
    ]
    return {"view": view, "title": view_title(view), "tables": tables}


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
            }
            for row in arms
        ],
        "metrics": report.metrics(place, segment),
        "losses": report.losses(place, segment),
        "chart": _chart(sweep, report, place, segment, words(place.sample)),
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


def _chart(sweep: Sweep, report: Report, place: Place, segment: str, sample: str) -> ChartFigure:
    points = [report.points(place, segment, arm) for arm in report.arms]
    asked = {"view": place.view, "sample": place.sample, "candidate": place.candidate}
    drawn = draw([*points[0], *points[1]], report.arms)
    n = points[0][0].denominator if points[0] else 0
    return ChartFigure(
        f"{sample}: {finding(*points)}",
        f"chart-{place.sample}",
        svg.view_box(drawn),
        svg.pieces(drawn),
        report.arms,
        tuple((label, _counts(before), _counts(after)) for label, before, after in phase_table(*points)),
        f"n = {n} answerable questions at each of {len(report.labels)} shared phases; observed shares, no interval",
        with_query(reverse("results-chart", args=[sweep.pk, segment, "svg"]), **asked),
        with_query(reverse("results-chart", args=[sweep.pk, segment, "csv"]), **asked),
    )


def with_query(url: str, **asked: str) -> str:
    """Return `url` with a query."""
    return f"{url}?{urlencode(asked)}"

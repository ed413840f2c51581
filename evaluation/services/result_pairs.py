"""Candidate − baseline, paired by question: differences with intervals, and who was gained and lost."""

from __future__ import annotations

from typing import Any

from evaluation.domain.phase_matrix import four_cells
from evaluation.domain.plan_words import MetricName
from evaluation.domain.resampling import rule_of
from evaluation.domain.statistics import paired_mean, paired_phases, paired_worst
from evaluation.services.outcome_table import OutcomeTable, Selection
from evaluation.services.result_figures import phase_metrics
from evaluation.services.result_rows import Rows, estimate_cells, primary_view, selection_cells


def pair_rows(table: OutcomeTable) -> Rows:
    """Return the differences per candidate, view, sample, segment and metric.

    Each phase and the worst phase are told for complete support; other metrics in the primary view, as a mean.
    """
    primary = primary_view(table.plan, table.views)
    places = [
        (candidate.name, view, selection, metric)
        for candidate in table.plan.candidates
        for view in table.views
        for selection in table.selections
        for metric in phase_metrics(table)
        if view == primary or metric is MetricName.COMPLETE_SUPPORT
    ]
    return Rows(len(places), (_pair_row(table, *place) for place in places))


def _pair_row(
    table: OutcomeTable, candidate: str, view: str, selection: Selection, metric: MetricName
) -> dict[str, Any]:
    baseline = table.plan.baseline.name
    before = table.matrix(metric, baseline, view, selection)
    after = table.matrix(metric, candidate, view, selection)
    rule = rule_of(table.plan)
    row: dict[str, Any] = {
        "baseline": baseline,
        "candidate": candidate,
        "view": view,
        "metric": str(metric),
        **selection_cells(selection),
        "mean": estimate_cells(paired_mean(before, after, rule)),
    }
    if metric is not MetricName.COMPLETE_SUPPORT:
        return row
    row["phases"] = [
        {"labels": list(one.labels)} | estimate_cells(one.estimate) for one in paired_phases(before, after, rule)
    ]
    row["worst"] = estimate_cells(paired_worst(before, after, rule))
    counted = (before.counted(), after.counted())
    row["cells"] = [_cells(four_cells(*counted, label)) for label in (None, *before.labels)]
    return row


def _cells(found: Any) -> dict[str, Any]:
    return {
        "rule": found.rule,
        "both": list(found.both),
        "gained": list(found.gained),
        "lost": list(found.lost),
        "neither": list(found.neither),
    }

"""The metrics beside complete support: over phases, with the adjudicated evidence alone, and at aimed phases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.views.result_cells import OVERALL, SUPPORT, ArmCell, Difference, Place, difference
from evaluation.views.result_tables import Report
from evaluation.views.wording import share, words


def metric_rows(
    report: Report, place: Place, segment: str = OVERALL
) -> list[tuple[str, ArmCell, ArmCell, Difference | None]]:
    """Return every other metric of the plan: both arms' averages over phases, and the paired difference if any."""
    found = []
    names = dict.fromkeys(row["metric"] for row in report.data["arms_by_view"])
    for metric in names:
        if metric == SUPPORT:
            continue
        at = {"view": place.view, "sample": place.sample, "segment": segment, "metric": metric}
        cells = [_metric_cell(report, place, arm, at) for arm in (place.baseline, place.candidate)]
        pairs = list(report.results.rows("pairs", candidate=place.candidate, **at))
        found.append((words(metric), cells[0], cells[1], difference(pairs[0]["mean"]) if pairs else None))
    return found


def oracle_rows(report: Report, sample: str, segment: str = OVERALL) -> list[tuple[str, list[tuple[str, ArmCell]]]]:
    """Return every metric with the adjudicated evidence alone, one titled cell per oracle view."""
    found: dict[str, list[ArmCell]] = {}
    for row in report.results.rows("oracle", sample=sample, segment=segment):
        cell = ArmCell("undefined", "", row["reason"])
        if row["value"] is not None:
            cell = ArmCell(share(row["value"]), f"{row['numerator']} of {row['denominator']}")
        found.setdefault(words(row["metric"]), []).append(cell)
    titles = oracle_titles(report)
    return [(name, list(zip(titles, cells, strict=True))) for name, cells in found.items()]


def oracle_titles(report: Report) -> list[str]:
    """Return the oracle views' names: the production ceiling, and the diagnostic one with more room."""
    names = {"oracle": "Production ceiling", "oracle-roomy": "Diagnostic, more room"}
    views = dict.fromkeys(row["view"].partition(":")[::2] for row in report.data["oracle"])
    return [f"{names[kind]}: {int(tokens):,} tokens" for kind, tokens in views]


def targeted_rows(report: Report, view: str) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Return (arm, count, rows) of the phases aimed at annotated spans, which stand in no average."""
    found = []
    for arm in report.arms:
        rows = list(report.results.rows("targeted", arm=arm, view=view))
        if rows:
            found.append((arm, f"{sum(row['complete'] for row in rows)} of {len(rows)}", rows))
    return found


def _metric_cell(report: Report, place: Place, arm: str, at: Mapping[str, Any]) -> ArmCell:
    row = report.results.row("arms_by_view", arm=arm, **at)
    if "mean" not in row:  # answer reversal: one figure over all phases
        if row["value"] is None:
            return ArmCell("undefined", "", row["reason"])
        note = "repeats were not run" if row["across_repeats"]["value"] is None else ""
        return ArmCell(share(row["value"]), f"{row['numerator']} of {row['denominator']} questions", note)
    points = report.points(place, at["segment"], arm, at["metric"])
    return report.average(row, points)

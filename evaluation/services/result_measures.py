"""What arms did beside their metrics: intervals at every phase, and the measures of runs that no gate reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from evaluation.domain.estimation import estimates
from evaluation.domain.plan_words import MetricName
from evaluation.domain.resampling import rule_of
from evaluation.domain.run_measures import run_measures
from evaluation.domain.statistics import ask_arm_phases, phase_estimates
from evaluation.services.outcome_table import OutcomeTable
from evaluation.services.result_rows import Rows, estimate_cells, primary_view, selection_cells


def measure_rows(table: OutcomeTable) -> Iterator[dict[str, Any]]:
    """Yield the sums of `RunMeasures` per arm, view, sample and segment over all distinct shared phases and repeats."""
    for arm in table.plan.arms:
        phases = list(dict.fromkeys(table.phases[arm.name].shared.values()))
        for view in table.views:
            for selection in table.selections:
                runs = [run for phase in phases for run in table.all_repeats(arm.name, phase, view, selection)]
                found = run_measures(runs, table.plan.budget.top_k)
                yield {"arm": arm.name, "view": view, **selection_cells(selection), **asdict(found)}


def arm_phase_rows(table: OutcomeTable) -> Rows:
    """Return complete support with its interval at each distinct phase, per arm, sample and segment, in the primary
    view: what a chart of phases draws. Resampling every phase of the other views would double a report's time."""
    primary = primary_view(table.plan, table.views)
    places = [(arm.name, primary) for arm in table.plan.arms]
    return Rows(len(places) * len(table.selections), _arm_phases(table, places))


def _arm_phases(table: OutcomeTable, places: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    rule = rule_of(table.plan)
    for arm, view in places:
        matrices = [table.matrix(MetricName.COMPLETE_SUPPORT, arm, view, one) for one in table.selections]
        found = estimates([ask_arm_phases(matrix) for matrix in matrices], rule)
        for selection, matrix, phases in zip(table.selections, matrices, found, strict=True):
            yield {
                "arm": arm,
                "view": view,
                "metric": str(MetricName.COMPLETE_SUPPORT),
                **selection_cells(selection),
                "phases": [
                    {"labels": list(one.labels)} | estimate_cells(one.estimate)
                    for one in phase_estimates((matrix,), phases)
                ],
            }

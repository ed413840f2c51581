"""Figures of single arms: every phase, every stage, the averages and the worst phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from evaluation.domain.estimation import estimates
from evaluation.domain.fragility import fragility
from evaluation.domain.metrics import Reading, answer_reversal, reading, stage_losses, usage
from evaluation.domain.outcomes import Stage
from evaluation.domain.permutation import worst_phase_null
from evaluation.domain.phase_matrix import PhaseMatrix, arm_table
from evaluation.domain.plan import Plan
from evaluation.domain.plan_words import MetricName
from evaluation.domain.resampling import Estimate, rule_of
from evaluation.domain.statistics import ask_arm_mean, ask_question_worst
from evaluation.domain.worst_phase import arm_worst
from evaluation.services.arm_phases import CONTROL
from evaluation.services.outcome_table import OutcomeTable, Selection
from evaluation.services.pipeline_of import ORACLE, oracle_views
from evaluation.services.result_rows import Rows, estimate_cells, figure_cells, number, selection_cells

#: Stages at which a metric has a figure: support at each of them, everything else where the prompt is packed.
_STAGED = (MetricName.COMPLETE_SUPPORT, MetricName.SINGLE_UNIT_SUPPORT)

type ArmPlace = tuple[str, str, Selection, MetricName]
"""(arm, view, selection, metric)"""


def stages_of(metric: MetricName) -> tuple[Stage, ...]:
    """Return the stages at which `metric` is told."""
    return tuple(Stage) if metric in _STAGED else (Stage.PACKED,)


def phase_metrics(table: OutcomeTable) -> tuple[MetricName, ...]:
    """Return the plan's metrics that one phase can show (answer reversal needs several)."""
    return tuple(metric for metric in table.plan.metrics if metric is not MetricName.REVERSAL)


def figure_rows(table: OutcomeTable) -> Iterator[dict[str, Any]]:
    """Yield a row per arm, view, stage, sample, segment, metric and shared phase label."""
    for arm in table.plan.arms:
        for label, phase in table.phases[arm.name].shared.items():
            for view in table.views:
                for selection in table.selections:
                    place = {"arm": arm.name, "view": view, "label": label, "phase": phase}
                    yield from _figures(table, place | selection_cells(selection), selection)


def oracle_rows(table: OutcomeTable) -> Iterator[dict[str, Any]]:
    """Yield every metric with the adjudicated evidence as the only evidence, per oracle view, sample and segment."""
    for view in oracle_views(table.plan):
        for selection in table.selections:
            runs = table.all_repeats(ORACLE, CONTROL, view, selection)
            for metric in phase_metrics(table):
                place = {"view": view, "metric": str(metric)} | selection_cells(selection)
                yield place | _reading_cells(reading(metric, runs))


def targeted_rows(table: OutcomeTable) -> Iterator[dict[str, Any]]:
    """Yield complete support at each targeted phase, for its own question only: listed apart, in no average."""
    for arm in table.plan.arms:
        for aim in table.phases[arm.name].targeted:
            for view in table.views:
                for repeat in table.repeats:
                    outcome = table.cells.get((arm.name, aim.phase, view, repeat), {}).get(aim.question_id)
                    if outcome is None:
                        continue
                    yield {
                        "arm": arm.name,
                        "view": view,
                        "phase": aim.phase,
                        "question": aim.question_id,
                        "version": aim.version,
                        "position": aim.position,
                        "token": aim.token,
                        "repeat": repeat,
                        "complete": not outcome.failed and outcome.complete.get(Stage.PACKED, False),
                        "failed": outcome.failed,
                    }


def arm_rows(table: OutcomeTable) -> Rows:
    """Return, per arm, view, sample, segment, metric and stage, what the phases come to together."""
    places = [
        (arm.name, view, selection, metric)
        for arm in table.plan.arms
        for view in table.views
        for selection in table.selections
        for metric in table.plan.metrics
    ]
    return Rows(len(places), _arm_rows(table, places))


def _figures(table: OutcomeTable, place: dict[str, Any], selection: Selection) -> Iterator[dict[str, Any]]:
    runs = table.all_repeats(place["arm"], place["phase"], place["view"], selection)
    for metric in phase_metrics(table):
        for stage in stages_of(metric):
            read = reading(metric, runs, stage)
            yield place | {"metric": str(metric), "stage": str(stage)} | _reading_cells(read)
    used = usage(runs)
    yield place | {
        "metric": "usage",
        "stage": str(Stage.PACKED),
        "runs": used.runs,
        "evidence_tokens": used.evidence_tokens,
        "unique_tokens": used.unique_tokens,
        "repeated_tokens": used.repeated_tokens,
        "prompt_tokens": used.prompt_tokens,
        "duplicate_pairs": used.duplicate_pairs,
        "compared_pairs": used.compared_pairs,
        "losses": {fate: list(names) for fate, names in stage_losses(runs).items()},
        "leaks": sum(sum(outcome.leaks.values()) for _, outcome in runs),
        "superseded": sum(sum(outcome.superseded.values()) for _, outcome in runs),
        "denials": sum(outcome.denials for _, outcome in runs),
    }


def _reading_cells(read: Reading) -> dict[str, Any]:
    return figure_cells(read.headline) | {
        "without_failures": figure_cells(read.without_failures),
        "feasible_only": figure_cells(read.feasible_only),
    }


def _arm_rows(table: OutcomeTable, places: Sequence[ArmPlace]) -> Iterator[dict[str, Any]]:
    """Answer an arm's places together: figures over the same clusters share their draws."""
    for _, group in groupby(places, key=lambda place: place[:2]):
        together = list(group)
        read = [place for place in together if place[3] is not MetricName.REVERSAL]
        matrices = {place: table.matrix(place[3], place[0], place[1], place[2]) for place in read}
        asked = [ask(matrices[place]) for place in read for ask in (ask_arm_mean, ask_question_worst)]
        found = [one[0] for one in estimates(asked, rule_of(table.plan))]
        pairs = dict(zip(read, zip(found[::2], found[1::2], strict=True), strict=True))
        for arm, view, selection, metric in together:
            place = {"arm": arm, "view": view, "metric": str(metric)} | selection_cells(selection)
            if metric is MetricName.REVERSAL:
                yield place | _reversal(table, arm, view, selection)
            else:
                key = (arm, view, selection, metric)
                yield place | _arm_cells(table.plan, matrices[key], *pairs[key])


def _arm_cells(plan: Plan, matrix: PhaseMatrix, mean: Estimate, own_worst: Estimate) -> dict[str, Any]:
    told = arm_table(matrix)
    stable = told.stability
    rule = rule_of(plan)
    fates = fragility(matrix, rule)
    row = {
        "mean": number(told.average),
        "interval": estimate_cells(mean),
        "worst": number(told.worst.value),
        "worst_labels": list(told.worst.labels),
        "worst_note": told.worst.note,
        "distinct_phases": told.worst.phases,
        "spread": number(told.spread),
        "question_worst": number(told.question_worst),
        "question_worst_interval": estimate_cells(own_worst),
        "always": list(stable.always),
        "never": list(stable.never),
        "fragile": list(stable.fragile),
        "always_share": number(stable.share(stable.always)),
        "never_share": number(stable.share(stable.never)),
        "fragile_share": number(stable.share(stable.fragile)),
        "always_interval": estimate_cells(fates.always),
        "never_interval": estimate_cells(fates.never),
        "fragile_interval": estimate_cells(fates.fragile),
        "repeat_flips": estimate_cells(fates.repeats),
        "note": told.note,
    }
    if matrix.metric is MetricName.COMPLETE_SUPPORT:
        row["worst_interval"] = estimate_cells(arm_worst(matrix, rule))
        row["null"] = _null(plan.statistics.seed, matrix)
    return row


def _null(seed: int, matrix: PhaseMatrix) -> dict[str, Any]:
    null = worst_phase_null(matrix, seed=seed)
    return {
        "status": str(null.status),
        "reason": null.reason,
        "observed": number(null.observed),
        "expected": number(null.expected),
        "low": number(null.low),
        "high": number(null.high),
        "p_value": number(null.p_value),
        "spread": number(null.spread),
        "spread_expected": number(null.spread_expected),
        "spread_p_value": number(null.spread_p_value),
        "permutations": null.permutations,
        "seed": null.seed,
        "clusters": null.clusters,
    }


def _reversal(table: OutcomeTable, arm: str, view: str, selection: Selection) -> dict[str, Any]:
    shared = table.phases[arm].shared
    distinct = {phase: label for label, phase in reversed(list(shared.items()))}
    by_phase = {label: table.runs(arm, phase, view, selection) for phase, label in sorted(distinct.items())}
    first = min(distinct)
    repeats = [table.runs(arm, first, view, selection, repeat) for repeat in table.repeats]
    found = answer_reversal(by_phase, repeats)
    return figure_cells(found.across_phases) | {
        "questions": list(found.questions),
        "across_repeats": figure_cells(found.across_repeats),
        "explained_by_repeats": number(found.explained),
    }

"""Every arm of a sweep beside the others: support against what it costs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from evaluation.domain.estimation import estimates
from evaluation.domain.frontier import Frontier, FrontierArm, Placed, frontier
from evaluation.domain.gate_evidence import total_usage
from evaluation.domain.metrics import Usage
from evaluation.domain.plan_words import FrontierCost, MetricName
from evaluation.domain.resampling import Estimate, rule_of
from evaluation.domain.statistics import ask_arm_mean
from evaluation.models import Sweep
from evaluation.services.outcome_table import OutcomeTable, Selection
from evaluation.services.result_keys import MANIFEST, build_key
from evaluation.services.result_rows import Rows, estimate_cells, number, selection_cells
from ledger.models import Result


def frontier_rows(sweep: Sweep, table: OutcomeTable) -> Rows:
    """Return one frontier per view and sample, over all segments."""
    places = [(view, selection) for view in table.views for selection in table.selections if selection.segment is None]
    expansion = {arm.name: index_expansion(sweep, table, arm.name) for arm in table.plan.arms}
    return Rows(len(places), (_frontier_row(table, expansion, *place) for place in places))


def index_expansion(sweep: Sweep, table: OutcomeTable, arm: str) -> Fraction | None:
    """Return indexed ÷ source tokens of an arm over its shared phases; None where no build says so."""
    keys = [
        build_key(sweep.plan.digest, arm, phase, MANIFEST) for phase in sorted(set(table.phases[arm].shared.values()))
    ]
    manifests = [one.value for one in Result.objects.filter(scope=sweep.scope, key__in=keys).order_by("key")]
    source = sum(manifest["source_tokens"] for manifest in manifests)
    return Fraction(sum(manifest["index_tokens"] for manifest in manifests), source) if source else None


def _frontier_row(
    table: OutcomeTable, expansion: dict[str, Fraction | None], view: str, selection: Selection
) -> dict[str, Any]:
    plan = table.plan
    names = [arm.name for arm in plan.arms]
    asked = [ask_arm_mean(table.matrix(MetricName.COMPLETE_SUPPORT, name, view, selection)) for name in names]
    support = [found[0] for found in estimates(asked, rule_of(plan))]
    arms = [_arm(table, name, one, expansion[name], view, selection) for name, one in zip(names, support, strict=True)]
    found = frontier(arms, plan.decision.support_floor, plan.decision.floor_cost)
    return {"view": view, **selection_cells(selection), **_cells(found)}


def _arm(
    table: OutcomeTable, name: str, support: Estimate, expansion: Fraction | None, view: str, selection: Selection
) -> FrontierArm[Estimate]:
    used = _usage(table, name, view, selection)
    return FrontierArm(
        name,
        support,
        {
            FrontierCost.EVIDENCE_TOKENS: used.mean_evidence_tokens,
            FrontierCost.DUPLICATION: used.duplicate_pressure,
            FrontierCost.INDEX_TOKENS: expansion,
            # Latencies belong to operations and are read beside the sealed results, not from them.
            FrontierCost.LATENCY: None,
        },
    )


def _usage(table: OutcomeTable, name: str, view: str, selection: Selection) -> Usage:
    shared = table.phases[name].shared
    distinct = {phase: label for label, phase in shared.items()}
    return total_usage({label: table.all_repeats(name, phase, view, selection) for phase, label in distinct.items()})


def _cells(found: Frontier[Estimate]) -> dict[str, Any]:
    return {
        "floor": found.floor,
        "floor_cost": str(found.cost),
        "cheapest": found.cheapest,
        "reason": found.reason,
        "compared": [str(kind) for kind in found.compared],
        "left_out": {str(kind): why for kind, why in found.left_out.items()},
        "arms": [_arm_cells(one) for one in found.arms],
    }


def _arm_cells(one: Placed[Estimate]) -> dict[str, Any]:
    return {
        "arm": one.arm.arm,
        "support": estimate_cells(one.arm.support),
        "costs": {str(kind): number(value) for kind, value in one.arm.costs.items()},
        "dominated_by": list(one.dominated_by),
        "above_floor": one.above_floor,
    }

"""The chart of support against what it costs: every arm of the plan, one panel for each kind of cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from evaluation.charts import frontier
from evaluation.domain.frontier import UNITS, Frontier, FrontierArm
from evaluation.domain.frontier import frontier as placed_arms
from evaluation.domain.plan_words import FrontierCost, LatencyState
from evaluation.selectors.latency import ArmLatency
from evaluation.views.chart_parts import SIGNATURE, Asked, Chart, signature_cells
from evaluation.views.result_cells import OVERALL
from evaluation.views.wording import NOT_MEASURED, interval, share, signature, words

#: What a panel's axis says; short enough for half a drawing.
_AXES = {
    FrontierCost.EVIDENCE_TOKENS: "Evidence tokens per question",
    FrontierCost.DUPLICATION: "Duplicate pairs per compared pair",
    FrontierCost.INDEX_TOKENS: "Indexed tokens per source token",
    FrontierCost.LATENCY: "Latency, ms per query",
}


@dataclass(frozen=True)
class _Support:
    """A recorded figure of support."""

    point: float | None
    lower: float | None
    cells: dict[str, Any]


def frontier_chart(asked: Asked) -> Chart:
    """Support against each cost. Latency comes from the sweep's operations, since no sealed result holds a time."""
    row = asked.report.results.row("frontier", view=asked.place.view, sample=asked.place.sample, segment=OVERALL)
    state, times = _times([one["arm"] for one in row["arms"]], asked.latencies)
    found = placed_arms(
        [_arm(one, times) for one in row["arms"]], row["floor"] or None, FrontierCost(row["floor_cost"])
    )
    costs = [str(one) for one in FrontierCost]
    return Chart(
        "frontier",
        _heading(found),
        ("Arm", "Support", "Interval", *(words(one) for one in costs), "Dominated by"),
        tuple(
            (
                one.arm.arm,
                share(one.arm.support.point),
                interval(one.arm.support.cells),
                *(_cost(one.arm.costs[kind]) for kind in FrontierCost),
                ", ".join(one.dominated_by) or "no arm",
            )
            for one in found.arms
        ),
        ("arm", "support", "lower", "upper", *costs, "latency_state", "dominated_by", "above_floor", *SIGNATURE),
        tuple(
            (
                one.arm.arm,
                *(one.arm.support.cells[part] for part in ("value", "lower", "upper")),
                *(_plain(one.arm.costs[kind]) for kind in FrontierCost),
                state,
                " ".join(one.dominated_by),
                one.above_floor,
                *signature_cells(one.arm.support.cells),
            )
            for one in found.arms
        ),
        f"Costs: {'; '.join(UNITS[one] for one in FrontierCost)}. {signature(row['arms'][0]['support'])}",
        lambda inside: frontier.draw(*_drawn(found), float(row["floor"]) if row["floor"] else None, inside),
        _note(found, state),
    )


def _arm(one: dict[str, Any], times: dict[str, float]) -> FrontierArm[_Support]:
    cells = one["support"]
    costs = {kind: _fraction(one["costs"][str(kind)]) for kind in FrontierCost}
    if one["arm"] in times:
        costs[FrontierCost.LATENCY] = _fraction(times[one["arm"]])
    return FrontierArm(one["arm"], _Support(cells["value"], cells["lower"], cells), costs)


def _times(arms: Sequence[str], latencies: Sequence[ArmLatency]) -> tuple[str, dict[str, float]]:
    """Return (state, ms by arm) for the state in which every arm was measured, warm before cold; ("", {}) for none."""
    for state in (LatencyState.WARM, LatencyState.COLD):
        found = {one.arm: one.query_ms for one in latencies if one.state is state and one.arm in arms}
        if len(found) == len(arms):
            return str(state), found
    return "", {}


def _heading(found: Frontier[_Support]) -> str:
    if all(one.arm.support.point is None for one in found.arms):
        return "no arm has a figure of support"
    beaten = [one.arm.arm for one in found.arms if one.dominated_by]
    heading = f"{', '.join(beaten)} dominated" if beaten else "no arm is dominated by another"
    if found.cheapest:
        heading = f"{found.cheapest} is the cheapest above the floor {found.floor}; {heading}"
    return heading


def _note(found: Frontier[_Support], state: str) -> str:
    told = [found.reason, *(f"{words(kind)}: {why}." for kind, why in found.left_out.items())]
    if state:
        told.append(
            f"Latency is the {state} median of this sweep's own run, not a sealed result: another run may differ, and "
            "results --json compares the other costs alone."
        )
    return " ".join(told)


def _drawn(found: Frontier[_Support]) -> tuple[list[frontier.Arm], list[str]]:
    """Return a point per arm and kind of cost that every arm has, and the kinds' axes."""
    points = [
        frontier.Arm(
            one.arm.arm,
            one.arm.support.point,
            one.arm.support.cells["lower"],
            one.arm.support.cells["upper"],
            float(cost),
            bool(one.dominated_by),
            _AXES[kind],
        )
        for kind in found.compared
        for one in found.arms
        if one.arm.support.point is not None and (cost := one.arm.costs[kind]) is not None
    ]
    return points, [_AXES[kind] for kind in found.compared]


def _fraction(value: float | None) -> Fraction | None:
    return None if value is None else Fraction(str(value))


def _plain(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _cost(value: Fraction | None) -> str:
    return NOT_MEASURED if value is None else f"{float(value):,.2f}"

"""Several candidates at once: support against what it costs, the dominated arms, and the cheapest arm above a floor.

An arm is dominated when another one supports at least as many questions at no greater cost of any compared kind, and is
better in at least one of them. Observed values are compared, so an arm just behind another counts as dominated however
wide the intervals are; the floor is read from the lower bound instead, since somebody relies on it. A cost that was not
measured for every arm compares nothing and is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from evaluation.domain.plan_words import FrontierCost
from evaluation.domain.resampling import six

UNITS = {
    FrontierCost.EVIDENCE_TOKENS: "evidence tokens per question",
    FrontierCost.DUPLICATION: "duplicate pairs per compared pair",
    FrontierCost.INDEX_TOKENS: "indexed tokens per source token",
    FrontierCost.LATENCY: "ms per query, median",
}


class Supported(Protocol):
    """A figure of support: its value and lower bound, None where there is none."""

    @property
    def point(self) -> float | None:
        """The value."""

    @property
    def lower(self) -> float | None:
        """The lower bound."""


@dataclass(frozen=True)
class FrontierArm[S: Supported]:
    """One arm: its phase average of support with bounds, and its costs (None: not measured), each in UNITS."""

    arm: str
    support: S
    costs: Mapping[FrontierCost, Fraction | None]


@dataclass(frozen=True)
class Placed[S: Supported]:
    """An arm on the frontier, or the arms that dominate it. `above_floor` is None where no floor is declared."""

    arm: FrontierArm[S]
    dominated_by: tuple[str, ...]
    above_floor: bool | None


@dataclass(frozen=True)
class Frontier[S: Supported]:
    """All arms in the plan's order. `left_out` says why a cost compares nothing; `reason` why `cheapest` is what it is.

    `floor` and `cost` are what the plan declares ("" and the default cost without a floor).
    """

    arms: tuple[Placed[S], ...]
    compared: tuple[FrontierCost, ...]
    left_out: Mapping[FrontierCost, str]
    floor: str
    cost: FrontierCost
    cheapest: str | None
    reason: str


def frontier[S: Supported](arms: Sequence[FrontierArm[S]], floor: str | None, cost: FrontierCost) -> Frontier[S]:
    """Place the arms, and name the one of least `cost` among those whose lower bound of support reaches `floor`.

    `floor` is a decimal string, or None for no choice. Equal costs are told apart by higher support, then by the other
    costs, then by the order given. Raises ValueError for two arms of one name.
    """
    if len({one.arm for one in arms}) != len(arms):
        raise ValueError("an arm stands twice on the frontier")
    left_out: dict[FrontierCost, str] = {}
    for kind in FrontierCost:
        missing = [one.arm for one in arms if one.costs.get(kind) is None]
        if missing:
            left_out[kind] = f"not measured for {', '.join(missing)}"
    compared = tuple(kind for kind in FrontierCost if kind not in left_out)
    placed = tuple(
        Placed(
            one,
            tuple(other.arm for other in arms if _dominates(other, one, compared)),
            None if floor is None else _reaches(one, floor),
        )
        for one in arms
    )
    cheapest, reason = _cheapest(placed, floor, cost, left_out)
    return Frontier(placed, compared, left_out, floor or "", cost, cheapest, reason)


def _cost[S: Supported](arm: FrontierArm[S], kind: FrontierCost) -> Fraction:
    found = arm.costs[kind]
    if found is None:
        raise ValueError(f"{kind} was not measured for {arm.arm}")
    return found


def _dominates[S: Supported](other: FrontierArm[S], one: FrontierArm[S], compared: Sequence[FrontierCost]) -> bool:
    if other.support.point is None or one.support.point is None:
        return False
    # Less is better in every column.
    theirs = [-Fraction(str(six(other.support.point))), *(_cost(other, kind) for kind in compared)]
    own = [-Fraction(str(six(one.support.point))), *(_cost(one, kind) for kind in compared)]
    return all(a <= b for a, b in zip(theirs, own, strict=True)) and theirs != own


def _reaches[S: Supported](arm: FrontierArm[S], floor: str) -> bool:
    return arm.support.lower is not None and Fraction(f"{arm.support.lower:.6f}") >= Fraction(floor)


def _cheapest[S: Supported](
    placed: Sequence[Placed[S]], floor: str | None, cost: FrontierCost, left_out: Mapping[FrontierCost, str]
) -> tuple[str | None, str]:
    if floor is None:
        return None, "The plan declares no floor of support, so no arm is named."
    if cost in left_out:
        return None, f"The plan compares {UNITS[cost]}, {left_out[cost]}; so no arm is named."
    above = [one for one in placed if one.above_floor]
    if not above:
        bounds = [one.arm.support.lower for one in placed if one.arm.support.lower is not None]
        most = f"the highest lower bound is {max(bounds):.6f}" if bounds else "no arm has an interval"
        return None, f"No arm's lower bound reaches the floor {floor}: {most}. More questions may decide it."
    others = [kind for kind in FrontierCost if kind is not cost and kind not in left_out]

    def order(one: Placed[S]) -> tuple[Fraction, Fraction, tuple[Fraction, ...]]:
        support = Fraction(str(six(one.arm.support.point or 0.0)))
        return _cost(one.arm, cost), -support, tuple(_cost(one.arm, kind) for kind in others)

    best = min(above, key=order)
    spent = float(_cost(best.arm, cost))
    return best.arm.arm, (
        f"{best.arm.arm} is the cheapest of {len(above)} arms whose lower bound reaches the floor {floor}: "
        f"{spent:.6g} {UNITS[cost]}."
    )

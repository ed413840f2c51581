"""Frontiers by hand and by property: nobody better is dominated, and the floor is read from the lower bound."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.domain.frontier import FrontierArm, frontier
from evaluation.domain.outcomes import Status
from evaluation.domain.plan_words import FrontierCost, Sidedness
from evaluation.domain.resampling import Estimate, Signature

MADE = Signature("studentised cluster bootstrap", "0.95", Sidedness.ONE_SIDED, 4000, 1, 40, 120)
TOKENS = FrontierCost.EVIDENCE_TOKENS


def arm(name: str, support: float, tokens: int | None, index: int | None = 1, width: float = 0.05) -> FrontierArm:
    costs = {
        TOKENS: None if tokens is None else Fraction(tokens),
        FrontierCost.DUPLICATION: Fraction(0),
        FrontierCost.INDEX_TOKENS: None if index is None else Fraction(index),
        FrontierCost.LATENCY: None,
    }
    return FrontierArm(name, Estimate(support, support - width, support + width, Status.VALUE, "", MADE), costs)


def test_dominated_arms_name_who_dominates_them() -> None:
    found = frontier([arm("small", 0.8, 100), arm("large", 0.9, 300), arm("waste", 0.8, 200)], None, TOKENS)
    assert [one.dominated_by for one in found.arms] == [(), (), ("small",)]
    assert found.left_out == {FrontierCost.LATENCY: "not measured for small, large, waste"}
    assert (found.cheapest, found.reason[:31]) == (None, "The plan declares no floor of s")


def test_equal_arms_do_not_dominate_each_other() -> None:
    found = frontier([arm("one", 0.8, 100), arm("two", 0.8, 100)], None, TOKENS)
    assert all(not one.dominated_by for one in found.arms)


def test_cheapest_arm_needs_its_lower_bound_above_the_floor() -> None:
    arms = [arm("small", 0.82, 100), arm("middle", 0.86, 200), arm("large", 0.95, 300)]
    found = frontier(arms, "0.8", TOKENS)
    assert [one.above_floor for one in found.arms] == [False, True, True]
    assert found.cheapest == "middle"
    none = frontier(arms, "0.97", TOKENS)
    assert none.cheapest is None
    assert "highest lower bound is 0.900000" in none.reason


def test_cost_that_is_not_measured_names_no_arm() -> None:
    arms = [arm("one", 0.9, 100), arm("two", 0.9, None)]
    found = frontier(arms, "0.5", TOKENS)
    assert found.cheapest is None
    assert "not measured for two" in found.reason
    assert TOKENS not in found.compared


def test_arm_without_a_value_is_never_on_top() -> None:
    empty = FrontierArm("empty", Estimate(None, None, None, Status.UNDEFINED, "n = 0", MADE), arm("x", 0.5, 1).costs)
    found = frontier([empty, arm("full", 0.9, 100)], "0.5", TOKENS)
    assert found.cheapest == "full"
    assert found.arms[0].above_floor is False


def test_arm_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        frontier([arm("one", 0.5, 1), arm("one", 0.6, 1)], None, TOKENS)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=8))
def test_somebody_stands_and_every_dominated_arm_is_dominated_by_one_who_does(
    rows: list[tuple[int, int, int]],
) -> None:
    arms = [arm(f"a{place}", support / 10, tokens, index) for place, (support, tokens, index) in enumerate(rows)]
    found = frontier(arms, None, TOKENS)
    standing = {one.arm.arm for one in found.arms if not one.dominated_by}
    assert standing
    assert all(standing & set(one.dominated_by) for one in found.arms if one.dominated_by)

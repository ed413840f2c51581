"""The worst phase: what its bounds promise, what the plug-in minimum gets wrong, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.outcomes import Status
from evaluation.domain.resampling import UncertaintyRule
from evaluation.domain.worst_phase import arm_worst, intersection_bounds, paired_worst

from .outcome_makers import matrix

RULE = UncertaintyRule(replicates=400, seed=7)


def coin(rows: int, phases: int, rate: float, seed: int) -> list[list[int]]:
    return (np.random.default_rng(seed).random((rows, phases)) < rate).astype(int).tolist()


def test_unequal_phase_counts_are_refused() -> None:
    control, window = matrix([[1] * 8] * 20, cuts=[0] * 8), matrix(coin(20, 8, 0.9, 3))
    found = paired_worst(control, window, RULE)
    assert (found.status, found.point, found.lower) == (Status.UNDEFINED, None, None)
    assert "8 distinct phases and the baseline 1" in found.reason


def test_figure_names_its_estimator_and_the_plug_in_beside_it() -> None:
    before, after = np.array(coin(60, 6, 0.6, 1)), np.array(coin(60, 6, 0.6, 2))
    found = paired_worst(matrix(before.tolist()), matrix(after.tolist()), RULE)
    plug_in = after.mean(axis=0).min() - before.mean(axis=0).min()
    assert found.signature.method == "intersection bounds on the cluster bootstrap"
    assert f"plug-in minimum ({plug_in:+.6f}) is biased" in found.note
    assert found.lower <= found.point <= found.upper
    assert found.lower < plug_in < found.upper


def test_point_undoes_the_bias_that_the_plug_in_minimum_has() -> None:
    plug_in, points, covered = [], [], 0
    for seed in range(60):
        rows = np.array(coin(150, 12, 0.8, seed))
        found = arm_worst(matrix(rows.tolist()), replace(RULE, seed=seed))
        plug_in.append(rows.mean(axis=0).min() - 0.8)
        points.append(found.point - 0.8)
        covered += found.lower <= 0.8 <= found.upper
    assert np.mean(plug_in) < -0.04
    assert abs(np.mean(points)) < 0.012
    assert covered >= 50  # one-sided 95 % bounds on both sides: 54 of 60 expected


def test_phase_that_is_surely_the_worst_is_estimated_like_any_other() -> None:
    rows = np.array(coin(400, 8, 0.9, 1))
    rows[:, 3] = np.array(coin(400, 1, 0.4, 2))[:, 0]
    found = arm_worst(matrix(rows.tolist()), RULE)
    assert found.point == pytest.approx(rows[:, 3].mean(), abs=0.005)
    assert found.upper - found.lower < 0.1


def test_one_phase_alone_is_a_plain_estimate() -> None:
    rows = coin(100, 1, 0.7, 1)
    found = arm_worst(matrix(rows), RULE)
    assert found.point == pytest.approx(np.mean(rows), abs=0.01)


def test_equal_outcomes_and_few_clusters_say_so() -> None:
    arm = matrix([[1] * 4] * 12)
    same = paired_worst(arm, arm, RULE)
    assert (same.status, same.exact, same.lower, same.upper) == (Status.UNDEFINED, True, -0.220922, 0.220922)
    few = arm_worst(matrix(coin(20, 4, 0.5, 1), ["one", "two"] * 10), RULE)
    assert (few.status, few.lower) == (Status.UNDEFINED, None)
    assert "2 clusters, and the plan asks for 10" in few.reason
    empty = arm_worst(arm.rows(()), RULE)
    assert (empty.point, empty.reason[:5]) == (None, "n = 0")


def test_rarely_counted_phase_is_undefined_rather_than_nan() -> None:
    totals = [[1, 1]] * 2 + [[1, 0]] * 18
    found = arm_worst(matrix(coin(20, 2, 0.5, 1), totals=totals), RULE)
    assert found.status is Status.UNDEFINED
    assert "replicates a phase counted nothing" in found.reason


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(1, 6), st.integers(0, 10_000), st.floats(0.02, 0.45))
def test_bounds_are_ordered_and_swap_sides_with_the_arms(mine: int, theirs: int, seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    own, other = rng.normal(size=mine), rng.normal(size=theirs)
    draws = own[:, None] + rng.normal(size=(mine, 200)), other[:, None] + rng.normal(size=(theirs, 200))
    found = intersection_bounds((own, draws[0]), (other, draws[1]), alpha, 30)
    turned = intersection_bounds((other, draws[1]), (own, draws[0]), alpha, 30)
    assert found.lower <= found.point <= found.upper
    assert (turned.lower, turned.upper) == pytest.approx((-found.upper, -found.lower))
    wider = intersection_bounds((own, draws[0]), (other, draws[1]), alpha / 2, 30)
    assert wider.lower <= found.lower
    assert found.upper <= wider.upper


@pytest.mark.parametrize("dead", [0, 1])
def test_worst_phase_in_which_every_cluster_agrees_has_no_zero_width(dead: int) -> None:
    rows, others = np.array(coin(40, 4, 0.8, 1)), np.array(coin(40, 4, 0.8, 2))
    rows[:, 2], others[:, dead] = 0, 0
    alone = arm_worst(matrix(rows.tolist()), RULE)
    assert (alone.point, alone.lower) == (0.0, 0.0)
    assert alone.upper == pytest.approx(1 - 0.05 ** (1 / 40), abs=1e-6)  # 0 of 40 clusters
    both = paired_worst(matrix(rows.tolist()), matrix(others.tolist()), RULE)
    assert both.lower == pytest.approx(-(1 - 0.05 ** (1 / 40)), abs=1e-6)
    assert both.upper == pytest.approx(1 - 0.05 ** (1 / 40), abs=1e-6)
    assert "all agree in a worst phase" in both.note


def test_baseline_without_a_miss_still_allows_some_in_the_difference_of_worst_phases() -> None:
    kept, rows = matrix([[1] * 4] * 40), np.array(coin(40, 4, 0.9, 3))
    found = paired_worst(kept, matrix(rows.tolist()), RULE)
    alone = arm_worst(matrix(rows.tolist()), RULE)
    assert found.upper > alone.upper - 1.0  # the baseline's own worst phase may be below what was seen
    assert found.lower == pytest.approx(alone.lower - 1.0, abs=1e-6)

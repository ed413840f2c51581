"""Fragility, nulls and interaction: exact shares, noise of repeats beside them, and sizes of the permutation tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from evaluation.domain.fragility import fragility
from evaluation.domain.interaction import interaction
from evaluation.domain.outcomes import Status
from evaluation.domain.permutation import permuted_extremes, worst_phase_null
from evaluation.domain.phase_matrix import stability
from evaluation.domain.resampling import UncertaintyRule

from .outcome_makers import matrix

RULE = UncertaintyRule(replicates=400, seed=3)


def coin(rows: int, phases: int, rate: float, seed: int) -> list[list[int]]:
    return (np.random.default_rng(seed).random((rows, phases)) < rate).astype(int).tolist()


def test_shares_are_those_of_the_table_with_exact_bounds() -> None:
    arm = matrix([[1, 1]] * 20 + [[1, 0]] * 6 + [[0, 0]] * 14)
    found = fragility(arm, RULE)
    stable = stability(arm)
    assert (found.fragile.point, found.always.point, found.never.point) == (0.15, 0.5, 0.35)
    assert len(stable.fragile) == 6
    exact = binomtest(6, 40).proportion_ci(0.90, method="exact")
    assert (found.fragile.lower, found.fragile.upper) == pytest.approx((exact.low, exact.high), abs=1e-6)
    assert found.fragile.signature.method == "Clopper–Pearson bound"
    assert found.fragile.signature.replicates == 0


def test_clustered_shares_count_effective_clusters_as_trials() -> None:
    rows = [[1, 0]] * 10 + [[1, 1]] * 30
    alone, together = (
        fragility(matrix(rows, clusters), RULE).fragile for clusters in (None, [f"d{row // 4}" for row in range(40)])
    )
    assert together.lower < alone.lower < alone.upper < together.upper
    assert "10 effective clusters" in together.note


def test_observed_zero_prints_its_upper_bound() -> None:
    found = fragility(matrix([[1, 1, 1]] * 12), RULE).fragile
    assert (found.point, found.lower, found.upper) == (0.0, 0.0, 0.220922)


def test_repeats_at_one_phase_show_the_noise_without_a_moved_cut() -> None:
    single = fragility(matrix([[1, 0]] * 10), RULE).repeats
    assert (single.status, single.point) == (Status.UNDEFINED, None)
    assert "nothing was repeated" in single.reason
    rows, totals = [[2, 1], [2, 2], [0, 0], [1, 1]] * 5, [[2, 2]] * 20
    found = fragility(matrix(rows, totals=totals), RULE).repeats
    assert found.point == pytest.approx(3 / 8)


def test_nothing_counted_in_every_phase_says_so() -> None:
    found = fragility(matrix([[1, 0]] * 5, totals=[[1, 0]] * 5), RULE).fragile
    assert (found.status, found.reason) == (Status.UNDEFINED, "n = 0: no question is counted in every phase")


def test_interaction_is_the_double_centred_table() -> None:
    before, after = np.array(coin(80, 4, 0.7, 1)), np.array(coin(80, 4, 0.6, 2))
    found = interaction(matrix(before.tolist()), matrix(after.tolist()), RULE, permutations=99)
    difference = after.mean(axis=0) - before.mean(axis=0)
    assert [one.estimate.point for one in found.phases] == pytest.approx(difference - difference.mean(), abs=1e-6)
    assert found.spread == pytest.approx(np.ptp(difference), abs=1e-6)
    assert found.phases[0].estimate.signature.comparisons == 4


def test_equal_effects_of_the_phase_are_no_interaction_and_opposite_ones_are() -> None:
    effect = np.linspace(0.5, 0.9, 6)
    rng = np.random.default_rng(4)
    draw = [rng.random((200, 6)) < rate for rate in (effect, effect, effect[::-1])]
    same, other, turned = (matrix(one.astype(int).tolist()) for one in draw)
    assert interaction(same, other, RULE, permutations=199).p_value > 0.05
    found = interaction(same, turned, RULE, permutations=199)
    assert found.p_value <= 0.01
    assert found.phases[0].estimate.lower > 0
    assert found.phases[-1].estimate.upper < 0


def test_control_has_no_phase_effect_to_compare() -> None:
    control, window = matrix([[1] * 4] * 20, cuts=[0] * 4), matrix(coin(20, 4, 0.5, 1))
    found = interaction(control, window, RULE)
    assert (found.status, found.phases) == (Status.UNDEFINED, ())
    assert "one distinct phase" in found.reason


def test_permuted_phases_keep_every_cluster_whole() -> None:
    """With two clusters of two phases there are four equally likely tables, two with equal and two with far phases."""
    counts = np.array([[4.0, 0.0], [2.0, 0.0]])
    worsts, spreads = permuted_extremes(counts, np.full((2, 2), 4.0), 4000, 1)
    assert set(worsts.round(6)) == {0.0, 0.25}
    assert np.mean(worsts == 0.0) == pytest.approx(0.5, abs=0.04)
    assert set(spreads.round(6)) == {0.25, 0.75}


def test_null_rejects_no_more_than_promised_where_documents_move_together() -> None:
    rejected = {"worst": 0, "spread": 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        shared = np.repeat(rng.random((25, 8)), 4, axis=0)
        rows = (np.where(rng.random((100, 1)) < 0.7, shared, rng.random((100, 8))) < 0.7).astype(int).tolist()
        found = worst_phase_null(matrix(rows, [f"doc{row // 4}" for row in range(100)]), 199, seed)
        rejected["worst"] += found.p_value <= 0.05
        rejected["spread"] += found.spread_p_value <= 0.05
    assert max(rejected.values()) <= 9  # 3 expected; 9 or fewer has probability 0.998 at the nominal 5 %

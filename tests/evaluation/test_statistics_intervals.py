"""Intervals: agreement with SciPy, pairing, clusters, degenerate samples, memory, and coverage where truth is known."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap

from evaluation.domain.estimation import estimates
from evaluation.domain.fragility import fragility
from evaluation.domain.interaction import interaction
from evaluation.domain.outcomes import Status
from evaluation.domain.permutation import worst_phase_null
from evaluation.domain.phase_matrix import arm_table
from evaluation.domain.plan_words import IntervalMethod, MetricName, Sidedness
from evaluation.domain.resampling import UncertaintyRule
from evaluation.domain.statistics import (
    arm_mean,
    arm_phases,
    ask_arm_mean,
    ask_arm_phases,
    ask_paired_mean,
    ask_paired_phases,
    ask_question_worst,
    paired_mean,
    paired_phases,
    question_worst,
)
from evaluation.domain.worst_phase import paired_worst

from .outcome_makers import matrix

RULE = UncertaintyRule(replicates=1000, seed=7)


def coin(rows: int, phases: int, rate: float, seed: int) -> list[list[int]]:
    return (np.random.default_rng(seed).random((rows, phases)) < rate).astype(int).tolist()


@pytest.mark.parametrize("method", [IntervalMethod.PERCENTILE, IntervalMethod.BASIC, IntervalMethod.BCA])
def test_paired_mean_is_scipys_bootstrap_of_question_differences(method: IntervalMethod) -> None:
    before, after = coin(60, 8, 0.6, 1), coin(60, 8, 0.7, 2)
    found = paired_mean(matrix(before), matrix(after), replace(RULE, method=method, sidedness=Sidedness.TWO_SIDED))
    difference = np.array(after).mean(axis=1) - np.array(before).mean(axis=1)
    names = {IntervalMethod.BCA: "BCa"}
    plain = bootstrap(
        (difference,),
        lambda drawn, axis: np.round(np.mean(drawn, axis=axis), 12),
        n_resamples=1000,
        method=names.get(method, str(method)),
        rng=np.random.default_rng(7),
    ).confidence_interval
    assert found.status is Status.VALUE
    assert found.point == pytest.approx(difference.mean(), abs=1e-6)
    assert (found.lower, found.upper) == pytest.approx((plain.low, plain.high), abs=1e-6)
    assert found.signature.text() == (
        f"{method} cluster bootstrap, 95 % two-sided, 60 clusters of 60 questions, 1000 replicates, seed 7"
    )


def test_studentised_bounds_are_those_made_by_hand() -> None:
    before, after = np.array(coin(100, 6, 0.6, 1)), np.array(coin(100, 6, 0.6, 2))
    names = [f"doc{row // 3:02d}" for row in range(100)]
    rule = replace(RULE, method=IntervalMethod.STUDENTISED)
    found = paired_mean(matrix(before.tolist(), names), matrix(after.tolist(), names), rule)
    codes = np.array([int(name[3:]) for name in names])
    sums = np.bincount(codes, (after - before).mean(axis=1))
    sizes = np.bincount(codes).astype(float)
    mean, count = sums.sum() / 100, len(sums)
    left = (sums.sum() - sums) / (100 - sizes)
    error = np.sqrt((count - 1) / count * ((left - mean) ** 2).sum())
    draws = np.random.default_rng(7).integers(0, count, (1000, count))
    drawn = sums[draws].sum(axis=1) / sizes[draws].sum(axis=1)
    residuals = sums[draws] - drawn[:, None] * sizes[draws]
    errors = np.sqrt(count / (count - 1) * (residuals**2).sum(axis=1)) / sizes[draws].sum(axis=1)
    low, high = np.quantile((drawn - mean) / errors, [0.05, 0.95])
    assert (found.lower, found.upper) == pytest.approx((mean - high * error, mean - low * error), abs=2e-6)


def test_many_requests_together_give_what_each_gives_alone() -> None:
    arms = [
        matrix(coin(60, 5, rate, seed), [f"d{row // 2}" for row in range(60)]) for seed, rate in enumerate((0.5, 0.7))
    ]
    other = matrix(coin(25, 3, 0.5, 9))
    requests = [
        ask_arm_mean(arms[0]),
        ask_paired_phases(*arms),
        ask_arm_mean(other),
        ask_paired_mean(*arms),
        ask_question_worst(*arms),
        ask_arm_phases(arms[1]),
    ]
    for method in IntervalMethod:
        rule = replace(RULE, method=method)
        assert estimates(requests, rule) == [estimates([one], rule)[0] for one in requests]


def test_question_worst_is_the_mean_of_each_ones_own_minimum() -> None:
    before, after = np.array(coin(60, 6, 0.8, 1)), np.array(coin(60, 6, 0.9, 2))
    found = question_worst((matrix(before.tolist()), matrix(after.tolist())), RULE)
    assert found.point == pytest.approx((after.min(axis=1) - before.min(axis=1)).mean(), abs=1e-6)
    alone = question_worst((matrix(after.tolist()),), RULE)
    assert alone.point == pytest.approx(float(arm_table(matrix(after.tolist())).question_worst), abs=1e-6)


def test_same_seed_same_interval_and_batches_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = matrix(coin(40, 4, 0.5, 1)), matrix(coin(40, 4, 0.6, 2))
    whole = paired_phases(before, after, RULE)
    assert paired_phases(before, after, RULE) == whole
    monkeypatch.setattr("evaluation.domain.resampling.DISTRIBUTION_BYTES", 8 * 1000)
    assert paired_phases(before, after, RULE) == whole
    assert paired_mean(before, after, replace(RULE, seed=8)) != paired_mean(before, after, RULE)


def test_one_sided_bounds_lie_inside_two_sided_and_corrected_ones_outside() -> None:
    arms = matrix(coin(80, 4, 0.5, 1)), matrix(coin(80, 4, 0.6, 2))
    one = paired_mean(*arms, RULE)
    two = paired_mean(*arms, replace(RULE, sidedness=Sidedness.TWO_SIDED))
    many = paired_mean(*arms, replace(RULE, comparisons=5))
    assert many.lower < two.lower < one.lower < one.upper < two.upper < many.upper
    assert "shared by 5 comparisons" in many.signature.text()


def test_whole_clusters_are_drawn_so_copies_add_no_certainty() -> None:
    before, after = coin(30, 4, 0.5, 1), coin(30, 4, 0.6, 2)
    names = [f"doc{row}" for row in range(30)]
    single = paired_mean(matrix(before, names), matrix(after, names), RULE)
    copied = paired_mean(matrix(before * 4, names * 4), matrix(after * 4, names * 4), RULE)
    assert (copied.lower, copied.upper) == pytest.approx((single.lower, single.upper), abs=1e-6)
    assert (copied.signature.clusters, copied.signature.questions) == (30, 120)


def test_unshifted_control_repeated_over_phases_is_one_observation() -> None:
    control = [[1] * 8 if row % 2 else [0] * 8 for row in range(30)]
    shown_often = matrix(control, cuts=[0] * 8)
    shown_once = matrix([row[:1] for row in control])
    window = matrix(coin(30, 8, 0.5, 3))
    assert (arm_mean(shown_often, RULE).lower, len(arm_phases(shown_often, RULE))) == (
        arm_mean(shown_once, RULE).lower,
        1,
    )
    assert arm_phases(shown_often, RULE)[0].labels == shown_often.labels
    assert len(paired_phases(shown_often, window, RULE)) == 8


@pytest.mark.parametrize("method", list(IntervalMethod))
def test_identical_arms_give_an_exact_bound_and_no_zero_width(method: IntervalMethod) -> None:
    arm = matrix(coin(12, 8, 0.7, 1))
    found = paired_mean(arm, arm, replace(RULE, method=method))
    assert (found.status, found.exact, found.point) == (Status.UNDEFINED, True, 0.0)
    assert (found.lower, found.upper) == (-0.220922, 0.220922)
    assert "every outcome is equal" in found.reason
    assert "12 effective clusters" in found.reason


def test_all_lost_gives_an_exact_upper_bound() -> None:
    found = paired_mean(matrix([[1] * 4] * 12), matrix([[0] * 4] * 12), RULE)
    assert (found.point, found.lower) == (-1.0, -1.0)
    assert found.upper == pytest.approx(1 - 2 * 0.05 ** (1 / 12), abs=1e-6)


@pytest.mark.parametrize(
    ("rows", "clusters", "reason"),
    [
        (20, ["one"] * 20, "one cluster, and the plan asks for 10"),
        (20, ["one", "two"] * 10, "2 clusters, and the plan asks for 10"),
    ],
)
def test_few_clusters_give_a_point_and_the_reason(rows: int, clusters: list[str], reason: str) -> None:
    found = paired_mean(matrix(coin(rows, 4, 0.5, 1), clusters), matrix(coin(rows, 4, 0.5, 2), clusters), RULE)
    assert found.status is Status.UNDEFINED
    assert found.point is not None
    assert (found.lower, found.upper) == (None, None)
    assert reason in found.reason


def test_no_question_gives_no_number() -> None:
    empty = matrix(coin(5, 4, 0.5, 1)).rows(())
    uncounted = matrix(coin(5, 4, 0.5, 1), totals=[[0] * 4] * 5)
    for arm in (empty, uncounted):
        found = paired_mean(arm, arm, RULE)
        assert (found.point, found.lower, found.status) == (None, None, Status.UNDEFINED)
        assert found.reason.startswith("n = 0")
        assert paired_phases(arm, arm, RULE)[0].estimate.point is None


def test_rare_denominator_is_undefined_rather_than_nan() -> None:
    totals = [[1, 1]] * 2 + [[0, 0]] * 18
    arm = matrix([[1, 1]] + [[0, 0]] * 19, totals=totals, metric=MetricName.ATTRIBUTION)
    other = matrix([[0, 1]] * 20, metric=MetricName.ATTRIBUTION)
    found = paired_mean(arm, other, RULE)
    assert found.status is Status.UNDEFINED
    assert "replicates nothing was counted" in found.reason


def test_rare_losses_widen_the_lower_bound_beyond_the_bootstrap() -> None:
    kept = [[1] * 4] * 100
    found = paired_mean(matrix(kept), matrix([*kept[:99], [0] * 4]), RULE)
    assert found.status is Status.VALUE
    assert found.lower == pytest.approx(-0.0466, abs=1e-3)  # Clopper–Pearson upper bound of 1 in 100
    assert "lower bound taken from an exact test, since only 1 cluster lost" in found.note
    assert "clusters gained" not in found.note


def test_single_proportion_near_one_meets_the_exact_bound() -> None:
    found = arm_mean(matrix([[1] * 4] * 39 + [[0] * 4]), RULE)
    assert found.lower == pytest.approx(0.8866, abs=1e-3)
    assert "joined with an exact bound, since only 1 cluster differs from the rest" in found.note
    assert arm_mean(matrix([[1] * 4] * 40), RULE).lower == pytest.approx(0.05 ** (1 / 40), abs=1e-6)


def test_mismatched_arms_are_refused() -> None:
    arm = matrix(coin(12, 4, 0.5, 1))
    with pytest.raises(ValueError, match="different questions"):
        paired_mean(arm, arm.rows(arm.questions[:5]), RULE)
    with pytest.raises(ValueError, match="different phase labels"):
        paired_phases(arm, matrix(coin(12, 3, 0.5, 1)), RULE)
    with pytest.raises(ValueError, match="different metrics"):
        paired_mean(arm, matrix(coin(12, 4, 0.5, 1), metric=MetricName.CORRECTNESS), RULE)


def test_memory_stays_bounded_for_many_clusters_phases_and_replicates() -> None:
    arms = matrix(coin(1500, 64, 0.6, 1)), matrix(coin(1500, 64, 0.6, 2))
    paired_mean(*(arm.rows(arm.questions[:20]) for arm in arms), RULE)  # imports are not the bootstrap's memory
    tracemalloc.start()
    paired_phases(*arms, replace(RULE, replicates=2000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000


def test_null_is_calibrated_when_documents_move_together() -> None:
    rejected = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        shared = np.repeat(rng.random((20, 8)) < 0.5, 4, axis=0)
        own = rng.random((80, 8)) < 0.5
        rows = np.where(rng.random((80, 1)) < 0.8, shared, own).astype(int).tolist()
        clusters = [f"doc{row // 4}" for row in range(80)]
        found = worst_phase_null(matrix(rows, clusters), permutations=199, seed=seed)
        rejected += found.p_value <= 0.05
    assert rejected <= 9  # 3 expected; 9 or fewer has probability 0.998 at the nominal 5 %


def test_null_sees_one_bad_phase_and_refuses_what_cannot_be_permuted() -> None:
    rows = np.array(coin(60, 8, 0.8, 1))
    rows[:, 3] = np.array(coin(60, 1, 0.4, 2))[:, 0]
    found = worst_phase_null(matrix(rows.tolist()), permutations=499, seed=1)
    assert found.p_value <= 0.01
    assert found.observed < found.low <= found.expected <= found.high
    assert worst_phase_null(matrix([[1]] * 5)).status is Status.UNDEFINED
    assert "one cluster" in worst_phase_null(matrix([[1, 0]] * 5, ["d"] * 5)).reason
    assert worst_phase_null(matrix([[1, 0]] * 5).rows(())).status is Status.UNDEFINED


def test_coverage_and_false_accepts_are_near_nominal_for_thirty_clusters() -> None:
    covered = accepted = 0
    runs = 150
    for seed in range(runs):
        rng = np.random.default_rng(1000 + seed)
        document = np.repeat(rng.random((30, 1)), 3, axis=0)
        mixed = np.where(rng.random((90, 1)) < 0.5, document, rng.random((90, 1)))
        level = np.broadcast_to(mixed, (90, 6))
        before = (level < 0.8).astype(int)
        after = np.where(rng.random((90, 6)) < 0.125, 0, before)  # loses one supported answer in eight: 0.10
        clusters = [f"doc{row // 3}" for row in range(90)]
        arms = matrix(before.tolist(), clusters), matrix(after.tolist(), clusters)
        found = paired_mean(*arms, replace(RULE, sidedness=Sidedness.TWO_SIDED, replicates=500))
        covered += found.lower <= -0.10 <= found.upper
        accepted += paired_mean(*arms, replace(RULE, replicates=500)).lower >= -0.10
    assert covered / runs >= 0.88
    assert accepted / runs <= 0.11


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 99), method=st.sampled_from(IntervalMethod), order=st.randoms(use_true_random=False))
def test_order_of_questions_changes_no_digit(seed: int, method: IntervalMethod, order: Any) -> None:
    rule = replace(RULE, method=method, replicates=120)
    clusters = [f"d{row % 13}" for row in range(40)]
    arms = [matrix(coin(40, 3, 0.7, seed + arm), clusters) for arm in (0, 100)]
    shuffled = list(range(40))
    order.shuffle(shuffled)
    moved = [
        replace(
            arm,
            questions=tuple(arm.questions[row] for row in shuffled),
            clusters=tuple(arm.clusters[row] for row in shuffled),
            numerator=arm.numerator[shuffled],
            denominator=arm.denominator[shuffled],
            failed=arm.failed[shuffled],
        )
        for arm in arms
    ]
    assert paired_mean(*arms, rule) == paired_mean(*moved, rule)
    assert paired_phases(*arms, rule) == paired_phases(*moved, rule)
    assert question_worst(arms, rule) == question_worst(moved, rule)
    assert paired_worst(*arms, rule) == paired_worst(*moved, rule)
    assert worst_phase_null(arms[0], 50, 3) == worst_phase_null(moved[0], 50, 3)
    assert interaction(*arms, rule, 50) == interaction(*moved, rule, 50)
    assert fragility(arms[0], rule) == fragility(moved[0], rule)


def test_swapped_arms_mirror_the_interval_of_a_symmetric_method() -> None:
    arms = [matrix(coin(40, 3, 0.7, arm)) for arm in (0, 100)]
    there, back = paired_mean(*arms, RULE), paired_mean(*arms[::-1], RULE)
    assert (there.point, there.lower, there.upper) == (-back.point, -back.upper, -back.lower)


def test_phase_that_counts_fewer_questions_signs_with_those_it_counts() -> None:
    totals = [[1, 1]] * 3 + [[1, 0]] * 37
    arm = matrix([[1, 1]] * 3 + [[row % 2, 0] for row in range(37)], totals=totals)
    whole, small = (one.estimate for one in arm_phases(arm, RULE))
    assert (whole.signature.questions, whole.signature.clusters) == (40, 40)
    assert (small.signature.questions, small.signature.clusters) == (3, 3)
    assert small.exact
    assert small.lower == pytest.approx(0.05 ** (1 / 3), abs=1e-6)


@pytest.mark.parametrize("outlier", [1, 2, 5])
def test_bca_whose_jackknife_is_degenerate_has_a_width_or_a_reason(outlier: int) -> None:
    found = arm_mean(matrix([[0]] * outlier + [[1]] * 39), replace(RULE, method=IntervalMethod.BCA))
    assert found.reason if found.lower is None else found.upper - found.lower > 0.02

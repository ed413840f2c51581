"""Score bounds by hand, against the test they invert, and joined with the studentised interval of the product."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

import evaluation
from evaluation.domain.judged import SPARSE
from evaluation.domain.outcomes import Status
from evaluation.domain.plan_toml import parse_plan, plan_from_payload, plan_payload
from evaluation.domain.plan_words import IntervalMethod, MetricName, Sidedness
from evaluation.domain.resampling import Estimate, UncertaintyRule, rule_of
from evaluation.domain.score_bounds import difference_bounds, share_bounds
from evaluation.domain.statistics import arm_mean, paired_mean, paired_phases

from .outcome_makers import matrix

PLANS = Path(evaluation.__file__).parent / "plans"
RULE = UncertaintyRule(replicates=600, seed=3)
BEFORE = replace(RULE, method=IntervalMethod.STUDENTISED)


def growth(value: float, point: float, differing: float) -> float:
    return max(1.0, (1 + sqrt(1 + 4 * value * (value - point) / differing**2)) / 2)


@pytest.mark.parametrize(
    ("point", "differing", "reach", "wanted"),
    [
        # As much lost as gained: 0.03 ÷ (1 − 0.25) = 0.04 to both sides.
        (0.0, 0.06, 0.03, (-0.04, 0.04)),
        # Losses alone grow like the loss: 0.04 ÷ (1 − 0.04 ÷ 0.08); above them the error is smaller, so it stays.
        (-0.08, 0.08, 0.04, (-0.16, -0.04)),
        # 0.05 lost, 0.03 gained: 0.02 · (1 ± 0.02 · 0.02 ÷ 0.0064) ÷ (1 − 1 ÷ 16) = 0.022667, 0.02.
        (-0.02, 0.08, 0.02, (-0.042667, 0.0)),
        # An error as large as all that differs excludes nothing; no error moves nothing.
        (-0.01, 0.02, 0.02, (-1.0, 1.0)),
        (0.25, 0.5, 0.0, (0.25, 0.25)),
    ],
)
def test_difference_bounds_are_those_made_by_hand(
    point: float, differing: float, reach: float, wanted: tuple[float, float]
) -> None:
    assert difference_bounds(point, differing, reach) == pytest.approx(wanted, abs=1e-6)


def test_share_bounds_keep_the_error_of_the_logit() -> None:
    # k = 0.036 ÷ 0.09 = 0.4: 0.4 δ² − 1.4 δ + 0.9 = 0 below, 0.4 δ² + 0.6 δ − 0.9 = 0 above (0.926, inside 0.936).
    lower, upper = share_bounds(0.9, 0.036)
    assert lower == pytest.approx((1.4 - sqrt(1.96 - 1.44)) / 0.8, abs=1e-12)
    assert upper == pytest.approx(0.936)
    assert share_bounds(0.1, 0.036) == pytest.approx((1 - upper, 1 - lower))
    assert share_bounds(0.5, 0.0) == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize(
    "given",
    [(0.0, 0.0, 0.1), (0.0, 0.1, -0.1), (nan, 0.1, 0.1), (0.0, nan, 0.1), (0.0, 0.1, nan), (0.0, inf, 0.1)],
)
def test_nothing_that_differs_has_no_score_bound(given: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="no score bound"):
        difference_bounds(*given)


@pytest.mark.parametrize("differing", [5e-324, 1e-200, 1e-17, 0.3, 1.0])
@pytest.mark.parametrize("share", [0.0, 0.5, 1 - 1e-16, 1.0, inf])
def test_difference_of_any_size_has_bounds_around_it(differing: float, share: float) -> None:
    for point in (-differing, 0.0, differing):
        lower, upper = difference_bounds(point, differing, differing * share)
        assert -1 <= lower <= min(1.0, point)
        assert max(-1.0, point) <= upper <= 1


@pytest.mark.parametrize("point", [5e-324, 1e-17, 1e-9, 0.3, 1 - 2**-53])
@pytest.mark.parametrize("reach", [0.0, 1e-300, 1e-9, 0.3, 1e9, 1e300, inf])
def test_share_of_any_size_has_bounds_around_it(point: float, reach: float) -> None:
    lower, upper = share_bounds(point, reach)
    assert 0 <= lower <= point <= upper <= 1


@pytest.mark.parametrize(("point", "reach"), [(0.0, 0.1), (1.0, 0.1), (0.5, -0.1), (nan, 0.1), (0.5, nan)])
def test_share_of_equal_outcomes_has_no_score_bound(point: float, reach: float) -> None:
    with pytest.raises(ValueError, match="no score bound"):
        share_bounds(point, reach)


@settings(deadline=None)
@given(lost=st.floats(0, 0.5), gained=st.floats(0, 0.5), part=st.floats(0.01, 0.95), beyond=st.floats(0.0, 1.0))
def test_values_outside_are_those_the_score_test_refuses(
    lost: float, gained: float, part: float, beyond: float
) -> None:
    differing, point = lost + gained, gained - lost
    if differing < 1e-6:
        return
    reach = part * differing
    for sign in (1, -1):
        lower = difference_bounds(sign * point, differing, reach)[0]
        if lower <= -1:
            continue
        # Just inside, the value stands; at any place further out the point lies too far from it.
        outside = lower - beyond * (1 + lower) - 1e-9
        assert sign * point - outside >= reach * growth(outside, sign * point, differing) - 1e-7
        inside = lower + 1e-6 * reach
        assert sign * point - inside <= reach * growth(inside, sign * point, differing) + 1e-7


@settings(deadline=None)
@given(point=st.floats(0.001, 0.999), reach=st.floats(0, 2), more=st.floats(1, 3))
def test_share_bounds_stay_in_the_unit_interval_and_widen_with_the_error(
    point: float, reach: float, more: float
) -> None:
    lower, upper = share_bounds(point, reach)
    wider = share_bounds(point, reach * more)
    assert 0 <= wider[0] <= lower + 1e-12
    assert lower <= point - min(reach, point) + 1e-12
    assert point + min(reach, 1 - point) - 1e-12 <= upper <= wider[1] + 1e-12 <= 1 + 1e-12


def clustered(seed: int, clusters: int, size: int, phases: int, rate: float) -> tuple[Any, Any, list[str]]:
    rng = np.random.default_rng(seed)
    document = np.repeat(rng.normal(size=(2, clusters, 1)), size, axis=1)
    level = 0.7 * document + 0.7 * rng.normal(size=(2, clusters * size, phases))
    before, after = (level < np.quantile(level, rate)).astype(int)
    return before, after, [f"doc{row // size:02d}" for row in range(clusters * size)]


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    clusters=st.integers(10, 30),
    size=st.integers(1, 5),
    rate=st.sampled_from([0.6, 0.8, 0.95]),
    sides=st.sampled_from(Sidedness),
)
def test_interval_is_never_narrower_than_the_studentised_one(
    seed: int, clusters: int, size: int, rate: float, sides: Sidedness
) -> None:
    before, after, names = clustered(seed, clusters, size, 3, rate)
    arms = matrix(before.tolist(), names), matrix(after.tolist(), names)

    def both(rule: UncertaintyRule) -> list[Estimate]:
        phases = [one.estimate for one in paired_phases(*arms, rule)]
        return [paired_mean(*arms, rule), arm_mean(arms[1], rule), *phases]

    rules = (replace(one, sidedness=sides, replicates=200) for one in (RULE, BEFORE))
    for found, narrow in zip(*map(both, rules), strict=True):
        assert (found.status, found.point, found.exact) == (narrow.status, narrow.point, narrow.exact)
        if narrow.lower is not None:
            assert found.lower <= narrow.lower
            assert narrow.upper <= found.upper


def test_joined_bound_is_the_score_bound_where_that_is_wider() -> None:
    before, after, names = clustered(4, 20, 15, 6, 0.9)
    arms = matrix(before.tolist(), names), matrix(after.tolist(), names)
    found, narrow = paired_mean(*arms, RULE), paired_mean(*arms, BEFORE)
    change = (after - before).mean(axis=1)
    sums = change.reshape(20, 15).sum(axis=1)
    moved = change.reshape(20, 15)
    assert min((moved < 0).any(axis=1).sum(), (moved > 0).any(axis=1).sum()) >= SPARSE
    error = (sums / 15).std(ddof=1) / sqrt(20)
    wanted = difference_bounds(change.mean(), np.abs(change).mean(), t.ppf(0.95, 19) * error)
    assert found.lower == pytest.approx(min(wanted[0], narrow.lower), abs=2e-6)
    assert found.upper == pytest.approx(max(wanted[1], narrow.upper), abs=2e-6)
    assert found.lower < narrow.lower
    assert found.signature.text().startswith("studentised-score cluster bootstrap, 95 % one-sided, 20 clusters")


def test_joined_share_is_the_score_bound_where_that_is_wider() -> None:
    _, after, names = clustered(4, 20, 15, 6, 0.8)
    found, narrow = (arm_mean(matrix(after.tolist(), names), rule) for rule in (RULE, BEFORE))
    error = after.mean(axis=1).reshape(20, 15).mean(axis=1).std(ddof=1) / sqrt(20)
    lower, upper = share_bounds(after.mean(), t.ppf(0.95, 19) * error)
    assert (found.lower, found.upper) == pytest.approx((min(lower, narrow.lower), max(upper, narrow.upper)), abs=2e-6)
    assert found.lower < narrow.lower


def test_copies_of_questions_in_their_clusters_move_no_bound() -> None:
    before, after, names = clustered(8, 15, 3, 2, 0.8)
    once = paired_mean(matrix(before.tolist(), names), matrix(after.tolist(), names), RULE)
    thrice = paired_mean(matrix(before.tolist() * 3, names * 3), matrix(after.tolist() * 3, names * 3), RULE)
    assert (thrice.point, thrice.lower, thrice.upper) == pytest.approx((once.point, once.lower, once.upper), abs=2e-6)


def test_one_loss_keeps_the_exact_bound_and_equal_outcomes_theirs() -> None:
    kept = [[1] * 4] * 40
    for lost in (kept, [*kept[:39], [0] * 4], [[0] * 4] * 40):
        arms = matrix(kept), matrix(lost)
        found, narrow = paired_mean(*arms, RULE), paired_mean(*arms, BEFORE)
        assert (found.lower, found.reason, found.exact) == (narrow.lower, narrow.reason, narrow.exact)
    assert paired_mean(matrix(kept), matrix([*kept[:39], [0] * 4]), RULE).lower > -0.12


def test_score_bound_reaches_no_further_than_the_exact_one() -> None:
    # Nine small losses and a whole document lost: the error is larger than all that differs, which excludes nothing.
    names = [f"doc{row // 10}" for row in range(300)]
    after = np.ones((300, 4), dtype=int)
    after[[*range(0, 90, 10)], 0] = 0
    after[290:] = 0
    arms = matrix(np.ones((300, 4), dtype=int).tolist(), names), matrix(after.tolist(), names)
    found, narrow = paired_mean(*arms, RULE), paired_mean(*arms, BEFORE)
    assert (found.status, found.lower) == (Status.VALUE, narrow.lower)
    assert found.lower > -0.7


def test_one_cluster_has_a_reason_and_no_bound() -> None:
    arms = matrix([[1, 0], [0, 1], [1, 1]], ["only"] * 3), matrix([[1, 0], [1, 1], [0, 1]], ["only"] * 3)
    found = paired_mean(*arms, replace(RULE, minimum_clusters=2))
    assert (found.lower, found.upper, found.status) == (None, None, Status.UNDEFINED)
    assert "one cluster" in found.reason


def test_arms_that_count_other_questions_and_agree_on_the_common_ones_have_bounds() -> None:
    # What an arm asserts it is counted for: on no question counted in both do they differ, and yet their shares do.
    rows = [[1]] * 30 + [[0]] * 10
    first = matrix(rows, totals=[[1]] * 30 + [[0]] * 10, metric=MetricName.ATTRIBUTION)
    second = matrix(rows, totals=[[1]] * 40, metric=MetricName.ATTRIBUTION)
    found, narrow = paired_mean(first, second, RULE), paired_mean(first, second, BEFORE)
    assert found.point == -0.25
    assert (found.lower, found.upper) == (narrow.lower, narrow.upper)


def test_a_plan_names_its_method_so_an_old_one_is_read_as_it_was_locked() -> None:
    standard_plan = (PLANS / "standard.toml").read_text("utf-8")
    new = parse_plan(standard_plan)
    old = parse_plan(standard_plan.replace('"studentised-score"', '"studentised"'))
    silent = parse_plan("\n".join(line for line in standard_plan.splitlines() if not line.startswith("interval =")))
    assert plan_payload(silent)["statistics"]["interval"] == "studentised-score"
    assert rule_of(plan_from_payload(plan_payload(old))).method is IntervalMethod.STUDENTISED
    assert rule_of(new).method is rule_of(silent).method is IntervalMethod.STUDENTISED_SCORE

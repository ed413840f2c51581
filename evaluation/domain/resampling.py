"""Cluster bootstrap through `scipy.stats.bootstrap`, batched to a bounded memory, honest about degenerate samples.

What is resampled is the index of a cluster; every arm and phase of a question travels with it, so pairing across arms
and phases is kept by construction. Cluster sums are integers and exact in float64 whatever the order of addition, so
a seed gives the same replicates on every machine.

The studentised interval divides each replicate's distance from the sample by that replicate's own standard error
(Hall 1988; Efron and Tibshirani 1993, 12.5), so it knows both the few clusters and the skewness of rare losses. Joined
with a score bound (`evaluation.domain.score_bounds`) it is the default, chosen for what it covers (bench/coverage.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.outcomes import Status
from evaluation.domain.plan import Plan
from evaluation.domain.plan_words import IntervalMethod, Multiplicity, ResamplingUnit, Sidedness

type Numbers = NDArray[np.float64]
type ClusterStatistic = Callable[[Numbers, slice], Numbers]
"""From cluster weights (B, C), how often each cluster was drawn, and a slice of the K values, to (B, slice)."""

BATCH_BYTES = 16_000_000
DISTRIBUTION_BYTES = 16_000_000
_SCIPY_METHOD = {
    IntervalMethod.PERCENTILE: "percentile",
    IntervalMethod.BASIC: "basic",
    IntervalMethod.BCA: "BCa",
    # Studentised bounds are read from the replicates below; SciPy draws them and makes no interval of its own for them.
    IntervalMethod.STUDENTISED_SCORE: "percentile",
    IntervalMethod.STUDENTISED: "percentile",
}


@dataclass(frozen=True)
class UncertaintyRule:
    """How to make an interval. `comparisons` > 1 divides the allowed error (Bonferroni)."""

    method: IntervalMethod = IntervalMethod.STUDENTISED_SCORE
    confidence: str = "0.95"
    sidedness: Sidedness = Sidedness.ONE_SIDED
    replicates: int = 4000
    seed: int = 0
    minimum_clusters: int = 10
    comparisons: int = 1

    @property
    def alpha(self) -> float:
        """Error allowed to each of the two bounds."""
        error = 1 - Decimal(self.confidence)
        if self.sidedness is Sidedness.TWO_SIDED:
            error /= 2
        return float(error / self.comparisons)


def rule_of(plan: Plan) -> UncertaintyRule:
    """Return the plan's rule; several candidates share the error when the plan corrects for them."""
    stated = plan.statistics
    corrected = stated.multiplicity is Multiplicity.BONFERRONI
    return UncertaintyRule(
        stated.interval,
        stated.confidence,
        stated.sidedness,
        stated.replicates,
        stated.seed,
        stated.minimum_clusters,
        max(1, len(plan.candidates)) if corrected else 1,
    )


@dataclass(frozen=True)
class Signature:
    """What an interval is made of; printed beside every number."""

    method: str
    confidence: str
    sidedness: Sidedness
    replicates: int
    seed: int
    clusters: int
    questions: int
    comparisons: int = 1
    unit: ResamplingUnit = ResamplingUnit.CLUSTER

    def text(self) -> str:
        """Return the one-line form."""
        level = format((Decimal(self.confidence) * 100).normalize(), "f")
        shared = f", error shared by {self.comparisons} comparisons" if self.comparisons > 1 else ""
        drawn = f", {self.replicates} replicates, seed {self.seed}" if self.replicates else ""
        return (
            f"{self.method}, {level} % {self.sidedness}{shared}, {self.clusters} {self.unit}s of "
            f"{self.questions} questions{drawn}"
        )


@dataclass(frozen=True)
class Estimate:
    """A point with bounds, or the reason why there are none.

    UNDEFINED may still carry exact bounds (`exact`): every outcome was equal, and this is what so few clusters allow.
    `note` says how a defined interval was treated. Numbers are rounded to six places, which is how gates read them.
    """

    point: float | None
    lower: float | None
    upper: float | None
    status: Status
    reason: str
    signature: Signature
    exact: bool = False
    note: str = ""


def six(value: float) -> float:
    """Round to the six places that records keep, so that a decision can be recomputed from its record."""
    return round(float(value), 6) + 0.0


@dataclass(frozen=True)
class Resampled:
    """Bootstrap output per value: bounds of shape (K,), NaN where undefined, and how much the replicates spread.

    `errors` are the sample's own standard errors where the method studentises, else NaN.
    """

    lower: Numbers
    upper: Numbers
    spread: Numbers
    undefined: NDArray[np.int64]
    errors: Numbers


@dataclass(frozen=True, eq=False)
class Linear:
    """K values as a sum over C clusters, for the studentised bootstrap: both arrays have shape (C, K).

    Value k moves by `influence[g, k]` when cluster g weighs one more, and `share[g, k]` is the cluster's share of what
    is counted; columns of `share` sum to 1, those of `influence` to 0. For a mean over questions that are counted in
    every arm and phase the linear form is exact, otherwise of first order.
    """

    influence: Numbers
    share: Numbers

    def errors(self) -> Numbers:
        """Return the jackknife standard error of each value, (K,): √((C−1)/C · Σ (influence ÷ (1 − share))²)."""
        size = len(self.influence)
        left = np.divide(
            self.influence, 1 - self.share, out=np.full(self.influence.shape, np.nan), where=self.share < 1 - 1e-12
        )
        found: Numbers = np.sqrt((size - 1) / size * (left**2).sum(axis=0))
        return found

    def replicated(self, weights: Numbers, moved: Numbers) -> Numbers:
        """Return each replicate's own standard error (B, K), given how far its value `moved` from the sample's."""
        size = len(self.influence)
        squares = (
            weights @ self.influence**2
            - 2 * moved * (weights @ (self.influence * self.share))
            + moved**2 * (weights @ self.share**2)
        )
        found: Numbers = np.sqrt(np.maximum(squares, 0.0) * size / (size - 1)) / (weights @ self.share)
        return found


def resample(
    statistic: ClusterStatistic,
    clusters: int,
    width: int,
    rule: UncertaintyRule,
    points: Numbers,
    linear: Linear | None = None,
) -> Resampled:
    """Bootstrap the K values whose sample values are `points`; `width` is the number of columns touched per cluster.

    Needs at least two `clusters`, and `linear` for the studentised methods. One batch holds at most BATCH_BYTES, and
    values are taken in groups so that the kept replicates stay within DISTRIBUTION_BYTES; every group sees the same
    draws, since each starts from the same seed.
    """
    values = len(points)
    group = max(1, DISTRIBUTION_BYTES // (8 * rule.replicates))
    parts = [
        _resample_group(statistic, clusters, width, rule, points, linear, slice(start, min(start + group, values)))
        for start in range(0, values, group)
    ]
    return Resampled(
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
        np.concatenate([part.spread for part in parts]),
        np.concatenate([part.undefined for part in parts]),
        np.concatenate([part.errors for part in parts]),
    )


def replicates(
    statistic: ClusterStatistic, clusters: int, width: int, rule: UncertaintyRule, values: int
) -> tuple[Numbers, Any]:
    """Return the replicates of `values` statistics, (K, B), and SciPy's interval in the rule's method.

    The memory of the result is 8 · K · B bytes; callers take values in groups.
    """
    from scipy.stats import bootstrap  # imported late: 1.5 s that no page without statistics should pay

    def of_draws(draws: NDArray[np.float64], axis: int = -1) -> Numbers:
        indices = np.moveaxis(draws, axis, -1)
        flat = indices.reshape(-1, indices.shape[-1]).astype(np.intp)
        # Twelve places keep replicates that are equal in exact arithmetic equal here, on which BCa's correction counts.
        found = np.round(statistic(_weights(flat, clusters), slice(0, values)), 12)
        return np.ascontiguousarray(found.T).reshape((found.shape[1], *indices.shape[:-1]))

    batch = max(1, BATCH_BYTES // (8 * (5 * clusters + 6 * width)))
    with warnings.catch_warnings():
        # Degenerate samples are judged below from the replicates themselves; SciPy's warning would say less.
        warnings.simplefilter("ignore")
        result = bootstrap(
            (np.arange(clusters),),
            of_draws,
            vectorized=True,
            axis=-1,
            n_resamples=rule.replicates,
            batch=min(batch, rule.replicates),
            confidence_level=1 - 2 * rule.alpha,
            method=_SCIPY_METHOD[rule.method],
            rng=np.random.default_rng(rule.seed),
        )
    return result.bootstrap_distribution, result.confidence_interval


def _resample_group(
    statistic: ClusterStatistic,
    clusters: int,
    width: int,
    rule: UncertaintyRule,
    points: Numbers,
    linear: Linear | None,
    group: slice,
) -> Resampled:
    count = group.stop - group.start
    if not rule.method.studentises:
        drawn, interval = replicates(lambda weights, _: statistic(weights, group), clusters, width, rule, count)
        missing = np.isnan(drawn)
        low, high = np.atleast_1d(interval.low), np.atleast_1d(interval.high)
        unknown = np.full(count, np.nan)
        return Resampled(low, high, _spread(drawn, missing), np.atleast_1d(missing.sum(axis=-1)), unknown)
    if linear is None:
        raise ValueError("the studentised bootstrap needs the linear form of its values")
    part = Linear(linear.influence[:, group], linear.share[:, group])
    errors = part.errors()
    whole = np.where(errors > 1e-12, errors, np.inf)

    def studentised(weights: Numbers, _: slice) -> Numbers:
        moved = statistic(weights, group) - points[group]
        own = part.replicated(weights, moved)
        # Clusters that do not differ at all say nothing about their error: the sample's stands in. It matters only
        # where very few clusters differ, and there an exact bound is joined.
        return moved / np.where(own > 1e-6 * whole, own, whole)

    drawn, interval = replicates(studentised, clusters, width + 3 * count, rule, count)
    missing = np.isnan(drawn)
    low, high = np.atleast_1d(interval.low), np.atleast_1d(interval.high)
    spread = np.where(np.nan_to_num(errors, nan=1.0) < 1e-12, 0.0, _spread(drawn, missing))
    return Resampled(
        points[group] - high * errors,
        points[group] - low * errors,
        spread,
        np.atleast_1d(missing.sum(axis=-1)),
        errors,
    )


def _spread(drawn: Numbers, missing: NDArray[np.bool_]) -> Numbers:
    filled = np.where(missing, 0.0, drawn)
    return np.atleast_1d(np.where(missing.any(axis=-1), np.nan, np.ptp(filled, axis=-1)))


def _weights(draws: NDArray[np.intp], clusters: int) -> Numbers:
    """Count how often each cluster was drawn: (B, n) indices to (B, C) weights."""
    rows = draws.shape[0]
    shifted = draws + clusters * np.arange(rows)[:, None]
    return np.bincount(shifted.ravel(), minlength=rows * clusters).reshape(rows, clusters).astype(np.float64)

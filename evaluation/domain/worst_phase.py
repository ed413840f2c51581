"""The worst phase as a figure: bounds on a minimum of many estimates, and on the difference of two minima.

The smallest of K estimates is low-biased for an arm that varies with phase and not for one that cannot; its plain
bootstrap interval covers far less than it promises. Intersection bounds (Chernozhukov, Lee and Rosen 2013) put the
correction into every phase before the minimum is taken: over the phases that could be the worst, each estimate is
moved by a critical value of the largest studentised deviation *together*, so the minimum of the moved estimates holds
whichever phase is the worst. The point shown is the median-unbiased one of the same construction. Among seven
estimators this is the one whose interval kept its promise everywhere bench/coverage.py looked; it is conservative where
many phases are alike. A gate never reads it: gates are intersection–union tests over phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.domain.bounds import effective_clusters, equal_outcomes_bounds
from evaluation.domain.estimation import Counted, Request, counted, estimates, ratio
from evaluation.domain.judged import too_few
from evaluation.domain.outcomes import Status
from evaluation.domain.phase_matrix import PhaseMatrix
from evaluation.domain.resampling import Estimate, Numbers, Signature, UncertaintyRule, replicates, six

METHOD = "intersection bounds on the cluster bootstrap"

PLAUSIBLE = 2.0
"""A phase could be the worst when it lies within so many of the largest standard errors above the lowest one."""

REPLICATE_BYTES = 64_000_000


@dataclass(frozen=True)
class Bounds:
    """A median-unbiased point with a lower and an upper bound."""

    point: float
    lower: float
    upper: float


def arm_worst(matrix: PhaseMatrix, rule: UncertaintyRule) -> Estimate:
    """Return one arm's worst phase: the minimum over its distinct phases of the aggregate, with intersection bounds."""
    return _estimate(counted((matrix,), matrix.distinct), rule)


def paired_worst(baseline: PhaseMatrix, candidate: PhaseMatrix, rule: UncertaintyRule) -> Estimate:
    """Return the difference of the arms' worst phases, candidate − baseline, with intersection bounds.

    Refused as UNDEFINED when the arms have different numbers of distinct phases, whose minima do not compare.
    """
    ours, theirs = len(candidate.distinct), len(baseline.distinct)
    if ours != theirs:
        reason = (
            f"the candidate has {ours} distinct phases and the baseline {theirs}: "
            "a minimum over more phases is lower by chance alone, so the two do not compare"
        )
        made = replace(_signature(rule, 0, len(candidate.questions)), replicates=0)
        return Estimate(None, None, None, Status.UNDEFINED, reason, made)
    return _estimate(counted((baseline, candidate), range(len(candidate.labels))), rule)


def _estimate(of: Counted, rule: UncertaintyRule) -> Estimate:
    found, codes = np.unique(of.clusters, return_inverse=True)
    size, (questions, arms, phases) = len(found), of.numerator.shape
    made = _signature(rule, size, questions)
    if not questions:
        return Estimate(None, None, None, Status.UNDEFINED, of.empty, made)
    sums = [np.zeros((size, arms, phases)) for _ in range(2)]
    for target, part in zip(sums, (of.numerator, of.denominator), strict=True):
        np.add.at(target, codes, part)
    whole = ratio(sums[0].sum(axis=0), sums[1].sum(axis=0))
    known = [np.flatnonzero(~np.isnan(row)) for row in whole]
    if not all(len(columns) for columns in known):
        return Estimate(None, None, None, Status.UNDEFINED, "nothing was counted in one of the arms", made)
    plug_in = _difference([float(row[columns].min()) for row, columns in zip(whole, known, strict=True)])
    shares = ratio(*sums)
    if np.nanmax(np.nanmax(shares, axis=0) - np.nanmin(shares, axis=0)) < 1e-12:
        # Every cluster is like every other in every phase: the same exact bound as for a mean.
        return estimates([Request(of, _lowest)], replace(rule, minimum_clusters=2))[0][0]
    if size < max(2, rule.minimum_clusters):
        return Estimate(six(plug_in), None, None, Status.UNDEFINED, too_few(size, rule), made)
    kept = max(200, min(rule.replicates, REPLICATE_BYTES // (8 * arms * phases)))
    rule = replace(rule, replicates=kept)
    flat = [part.reshape(size, -1) for part in sums]

    def ratios(weights: Numbers, _: slice) -> Numbers:
        return ratio(weights @ flat[0], weights @ flat[1])

    drawn = replicates(ratios, size, 2 * arms * phases, rule, arms * phases)[0].reshape(arms, phases, -1)
    parts = [(row[columns], drawn[arm, columns]) for arm, (row, columns) in enumerate(zip(whole, known, strict=True))]
    missing = int(max(np.isnan(replicate).any(axis=0).sum() for _, replicate in parts))
    if missing:
        reason = f"in {missing} of {kept} replicates a phase counted nothing"
        return Estimate(six(plug_in), None, None, Status.UNDEFINED, reason, replace(made, replicates=kept))
    own, other = parts[-1], parts[0] if arms > 1 else (np.zeros(1), np.zeros((1, kept)))
    trials = effective_clusters(np.bincount(codes).tolist())
    bounds = intersection_bounds(own, other, rule.alpha, trials)
    still = [
        _still(row[columns], shares[:, arm, columns], rule.alpha, trials)
        for arm, (row, columns) in enumerate(zip(whole, known, strict=True))
    ]
    if any(still):
        bounds = _widened(bounds, still[-1], still[0] if arms > 1 else None)
    low = -1.0 if arms > 1 else 0.0
    point, lower, upper = (six(min(max(value, low), 1.0)) for value in (bounds.point, bounds.lower, bounds.upper))
    note = (
        f"median-unbiased over {len(own[0])} phases, since the plug-in minimum ({plug_in:+.6f}) is biased; "
        "chosen by measured coverage"
    )
    if any(still):
        note += f"; joined with an exact bound on {trials:.3g} clusters, since all agree in a worst phase"
    return Estimate(point, lower, upper, Status.VALUE, "", replace(made, replicates=kept), note=note)


def intersection_bounds(
    own: tuple[Numbers, Numbers], other: tuple[Numbers, Numbers], alpha: float, trials: float
) -> Bounds:
    """Bound min(own) − min(other), each bound at error `alpha`.

    `own` and `other` hold estimates (K,) and their replicates (K, B), drawn together. With θ = own[k*] − other[j*],
    θ ≥ own[k*] − other[j] for every j, so max_j of the lowered differences at k* is below θ when the largest
    studentised deviation over j stays below its 1 − α quantile; k* is unknown, hence the minimum over k. The upper
    bound mirrors this. Critical values are stretched by Student's t on the effective clusters `trials` − 1.
    """
    from scipy.stats import norm, t

    mine, theirs = _plausible(*own), _plausible(*other)
    stretch = float(t.ppf(1 - alpha, max(trials - 1, 1.0)) / norm.ppf(1 - alpha)) if alpha < 0.5 else 1.0
    point = _median_unbiased(*mine) - _median_unbiased(*theirs)
    lower = _outer(mine, theirs, alpha, stretch)
    upper = -_outer(theirs, mine, alpha, stretch)
    # The median correction may overtake a bound where few outcomes differ; a point never lies outside its interval.
    return Bounds(min(max(point, lower), upper), lower, upper)


def _still(lowest: Numbers, shares: Numbers, alpha: float, trials: float) -> tuple[float, float] | None:
    """Return how far the exact bounds reach below and above an arm's worst phase in which every cluster is alike.

    No replicate moves such a phase, however few clusters there are. None where clusters differ in every worst phase.
    """
    worst = np.flatnonzero(lowest <= lowest.min() + 1e-12)
    spread = np.nanmax(shares[:, worst], axis=0) - np.nanmin(shares[:, worst], axis=0)
    if spread.min() > 1e-12:
        return None
    value = min(max(float(lowest.min()), 0.0), 1.0)
    lower, upper = equal_outcomes_bounds(value, 0.0, 1.0, trials, alpha)
    return value - lower, upper - value


def _widened(bounds: Bounds, own: tuple[float, float] | None, other: tuple[float, float] | None) -> Bounds:
    """Join exact bounds of still arms with resampled ones: squared distances add up (Zou and Donner 2008)."""
    own, other = own or (0.0, 0.0), other or (0.0, 0.0)
    below = float(np.hypot.reduce([bounds.point - bounds.lower, own[0], other[1]]))
    above = float(np.hypot.reduce([bounds.upper - bounds.point, own[1], other[0]]))
    return Bounds(bounds.point, bounds.point - below, bounds.point + above)


def _outer(mine: tuple[Numbers, Numbers], theirs: tuple[Numbers, Numbers], alpha: float, stretch: float) -> float:
    """Return min over k of max over j of (mine[k] − theirs[j]) − c·s, c the largest critical value over k."""
    kept, critical = [], 0.0
    moved = theirs[1] - theirs[0][:, None]
    for estimate, replicate in zip(*mine, strict=True):
        deviations = (replicate - estimate) - moved
        errors = deviations.std(axis=1, ddof=1)
        scaled = deviations / np.where(errors > 1e-12, errors, np.inf)[:, None]
        critical = max(critical, float(np.quantile(scaled.max(axis=0), 1 - alpha)))
        kept.append((estimate - theirs[0], errors))
    return min(float((differences - stretch * critical * errors).max()) for differences, errors in kept)


def _plausible(estimates_: Numbers, replicates_: Numbers) -> tuple[Numbers, Numbers]:
    """Keep the phases that could be the worst."""
    slack = PLAUSIBLE * float(replicates_.std(axis=1).max())
    near = estimates_ <= estimates_.min() + slack
    return estimates_[near], replicates_[near]


def _median_unbiased(estimates_: Numbers, replicates_: Numbers) -> float:
    """Raise every estimate by the median of the largest studentised shortfall, then take the minimum."""
    errors = replicates_.std(axis=1, ddof=1)
    scale = np.where(errors > 1e-12, errors, np.inf)[:, None]
    shortfall = ((estimates_[:, None] - replicates_) / scale).max(axis=0)
    return float((estimates_ + np.quantile(shortfall, 0.5) * errors).min())


def _lowest(ratios: Numbers) -> Numbers:
    lowest = np.where(np.isnan(ratios), np.inf, ratios).min(axis=2)
    known = np.where(np.isinf(lowest), np.nan, lowest)
    return np.asarray(known[:, -1] - known[:, 0] if known.shape[1] > 1 else known[:, 0])[:, None]


def _difference(lowest: Sequence[float]) -> float:
    return lowest[-1] - lowest[0] if len(lowest) > 1 else lowest[0]


def _signature(rule: UncertaintyRule, clusters: int, questions: int) -> Signature:
    return Signature(
        METHOD, rule.confidence, rule.sidedness, rule.replicates, rule.seed, clusters, questions, rule.comparisons
    )

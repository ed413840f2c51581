"""What one resampled value is worth: the bounds it gets, or the reason why it gets none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evaluation.domain.bounds import effective_clusters, equal_outcomes_bounds, proportion_bounds
from evaluation.domain.outcomes import Status
from evaluation.domain.plan_words import IntervalMethod
from evaluation.domain.resampling import Estimate, Numbers, Resampled, Signature, UncertaintyRule, six
from evaluation.domain.score_bounds import difference_bounds, share_bounds
from evaluation.domain.trust import caution

SPARSE = 8
"""Below so many clusters with a loss (or gain), resampling has too little to vary, and an exact bound is joined.

Chosen by bench/coverage.py at a true loss equal to the tolerance: without it a bound over few losing clusters accepts
up to three times as often as promised.
"""


@dataclass(frozen=True, eq=False)
class Sample:
    """What was observed for one value: its point, its value per cluster and per question, and the clusters' codes.

    `additive` says that the point is a mean over questions, so that shares of losing questions speak about it.
    """

    point: float
    per_cluster: Numbers
    per_question: Numbers
    codes: np.ndarray
    low: float
    additive: bool = True

    @cached_property
    def trials(self) -> float:
        """Effective number of clusters among the questions that were counted."""
        counted = ~np.isnan(self.per_question)
        return effective_clusters(np.bincount(self.codes[counted]).tolist())

    @property
    def equal(self) -> bool:
        """Whether every cluster that was counted gave the same value (with one cluster: every question)."""
        known = self.per_cluster[~np.isnan(self.per_cluster)]
        if known.size < 2:
            known = self.per_question[~np.isnan(self.per_question)]
        return bool(known.size) and float(np.ptp(known)) < 1e-12

    @cached_property
    def losses(self) -> tuple[float, int]:
        """The mean size of losses per question, and the clusters that show any."""
        return self._events(-self.per_question)

    @cached_property
    def gains(self) -> tuple[float, int]:
        """The mean size of gains per question (of one arm: its share), and the clusters that show any."""
        return self._events(self.per_question)

    @cached_property
    def misses(self) -> tuple[float, int]:
        """What one arm's questions lack of 1, and the clusters that show any."""
        return self._events(1.0 - self.per_question)

    def _events(self, values: Numbers) -> tuple[float, int]:
        counted = ~np.isnan(values)
        amounts = np.maximum(0.0, values[counted])
        return float(amounts.mean()), len(np.unique(self.codes[counted][amounts > 1e-12]))


def judged(sample: Sample, sampled: Resampled | None, k: int, rule: UncertaintyRule, signature: Signature) -> Estimate:
    """Return the estimate of value `k`; `sampled` is None where too few clusters were there to be drawn again."""
    point = None if np.isnan(sample.point) else six(sample.point)
    # A phase or an arm may count fewer questions than the others read with it.
    size = int((~np.isnan(sample.per_cluster)).sum())
    signature = replace(signature, clusters=size, questions=int((~np.isnan(sample.per_question)).sum()))
    if point is None or not sample.trials:
        return Estimate(None, None, None, Status.UNDEFINED, "nothing was counted in one of the arms", signature)
    if sample.additive and (sample.equal or (sampled is not None and sampled.spread[k] < 1e-12)):
        return exact(sample, point, rule, signature)
    if sampled is not None and sampled.undefined[k]:
        reason = f"in {sampled.undefined[k]} of {rule.replicates} replicates nothing was counted in one of the arms"
        return Estimate(point, None, None, Status.UNDEFINED, reason, signature)
    if sampled is None or size < max(2, rule.minimum_clusters):
        return Estimate(point, None, None, Status.UNDEFINED, too_few(size, rule), signature)
    lower, upper = float(sampled.lower[k]), float(sampled.upper[k])
    if np.isnan(lower) or np.isnan(upper) or sampled.spread[k] < 1e-12:
        reason = f"the {rule.method} interval does not exist for this sample (its correction is undefined)"
        return Estimate(point, None, None, Status.UNDEFINED, reason, signature)
    note = ""
    if sample.additive:
        beyond = None
        if rule.method is IntervalMethod.STUDENTISED_SCORE:
            beyond = scored(sample, float(sampled.errors[k]), rule.alpha)
        lower, upper, note = widened(sample, lower, upper, rule.alpha, beyond)
    note = "; ".join(part for part in (note, caution(rule, size)) if part)
    limits = (max(sample.low, lower), min(1.0, upper))
    return Estimate(point, six(limits[0]), six(limits[1]), Status.VALUE, "", signature, note=note)


def too_few(size: int, rule: UncertaintyRule) -> str:
    """Say that there are too few clusters to draw again."""
    counted = "one cluster" if size == 1 else f"{size} clusters"
    return f"too few clusters: {counted}, and the plan asks for {rule.minimum_clusters}"


def exact(sample: Sample, point: float, rule: UncertaintyRule, signature: Signature) -> Estimate:
    """Bound a sample in which every outcome is equal, so that an interval is never of zero width."""
    lower, upper = equal_outcomes_bounds(sample.point, sample.low, 1.0, sample.trials, rule.alpha)
    reason = (
        f"every outcome is equal ({point:g}), so no interval can be resampled; "
        f"exact bound on {sample.trials:.3g} effective clusters"
    )
    made = replace(signature, method="exact bound", replicates=0)
    return Estimate(point, six(lower), six(upper), Status.UNDEFINED, reason, made, exact=True)


def _only(clusters: int) -> str:
    return ("no cluster", "only 1 cluster")[clusters] if clusters < 2 else f"only {clusters} clusters"


def scored(sample: Sample, error: float, alpha: float) -> tuple[float, float] | None:
    """Return the score bounds of a value of unequal clusters; `error` is its jackknife standard error over them.

    The quantile is Student's t with one degree of freedom fewer than clusters were counted. None where no question that
    counts in both arms differs: nobody lost or gained, and exact bounds are read.
    """
    from scipy.special import stdtrit  # imported late, like all of SciPy

    clusters = int((~np.isnan(sample.per_cluster)).sum())
    reach = float(stdtrit(clusters - 1, 1 - alpha)) * error
    if sample.low < 0:
        differing = sample.losses[0] + sample.gains[0]
        return difference_bounds(sample.point, differing, reach) if differing else None
    return share_bounds(sample.point, reach)


def widened(
    sample: Sample, lower: float, upper: float, alpha: float, beyond: tuple[float, float] | None
) -> tuple[float, float, str]:
    """Join a resampled interval with exact and score bounds (`beyond`): the wider limit counts.

    Where losses (or gains) were seen in too few clusters for resampling to vary them, an exact bound is joined.
    Elsewhere the score bound is, but no further than the exact one, which takes a cluster's questions for one already.
    """
    trials, notes = sample.trials, []
    if sample.low < 0:
        (loss, losing), (gain, gaining) = sample.losses, sample.gains
        if min(losing, gaining) >= SPARSE and beyond is None:
            return lower, upper, ""
        down, up = (proportion_bounds(min(amount, 1.0) * trials, trials, alpha) for amount in (loss, gain))
        least, most = up.lower - down.upper, up.upper - down.lower
        if losing < SPARSE and least < lower:
            lower = least
            notes.append(f"lower bound taken from an exact test, since {_only(losing)} lost")
        if gaining < SPARSE and most > upper:
            upper = most
            notes.append(f"upper bound taken from an exact test, since {_only(gaining)} gained")
        if beyond is not None:
            lower = lower if losing < SPARSE else min(lower, max(beyond[0], least))
            upper = upper if gaining < SPARSE else max(upper, min(beyond[1], most))
        return lower, upper, "; ".join(notes)
    share, hitting = sample.gains
    few = min(hitting, sample.misses[1])
    if few >= SPARSE and beyond is None:
        return lower, upper, ""
    bound = proportion_bounds(min(share, 1.0) * trials, trials, alpha)
    if few < SPARSE:
        lower, upper = min(lower, bound.lower), max(upper, bound.upper)
        notes.append(f"joined with an exact bound, since {_only(few)} differ{'s' if few < 2 else ''} from the rest")
    elif beyond is not None:
        lower, upper = min(lower, max(beyond[0], bound.lower)), max(upper, min(beyond[1], bound.upper))
    return lower, upper, "; ".join(notes)

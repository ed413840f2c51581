"""What one resampled value is worth: the bounds it gets, or the reason why it gets none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evaluation.domain.bounds import effective_clusters, equal_outcomes_bounds, proportion_bounds
from evaluation.domain.outcomes import Status
from evaluation.domain.resampling import Estimate, Numbers, Resampled, Signature, UncertaintyRule, six
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

    @property
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

    def events(self, sign: int) -> tuple[float, int]:
        """Return the mean size of losses (sign −1) or gains (+1) per question, and the clusters that show any."""
        counted = ~np.isnan(self.per_question)
        amounts = np.maximum(0.0, sign * self.per_question[counted])
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
    lower, upper, note = widened(sample, lower, upper, rule.alpha) if sample.additive else (lower, upper, "")
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


def widened(sample: Sample, lower: float, upper: float, alpha: float) -> tuple[float, float, str]:
    """Join exact bounds where losses (or gains) were seen in too few clusters for resampling to vary them."""
    trials, notes = sample.trials, []
    if sample.low < 0:
        loss, losing = sample.events(-1)
        gain, gaining = sample.events(+1)
        if min(losing, gaining) >= SPARSE:
            return lower, upper, ""
        down, up = proportion_bounds(loss * trials, trials, alpha), proportion_bounds(gain * trials, trials, alpha)
        if losing < SPARSE and up.lower - down.upper < lower:
            lower = up.lower - down.upper
            notes.append(f"lower bound taken from an exact test, since {_only(losing)} lost")
        if gaining < SPARSE and up.upper - down.lower > upper:
            upper = up.upper - down.lower
            notes.append(f"upper bound taken from an exact test, since {_only(gaining)} gained")
        return lower, upper, "; ".join(notes)
    share, hitting = sample.events(+1)
    misses = replace(sample, per_question=1.0 - sample.per_question).events(+1)[1]
    if min(hitting, misses) < SPARSE:
        bound = proportion_bounds(min(share, 1.0) * trials, trials, alpha)
        lower, upper = min(lower, bound.lower), max(upper, bound.upper)
        few = min(hitting, misses)
        notes.append(f"joined with an exact bound, since {_only(few)} differ{'s' if few < 2 else ''} from the rest")
    return lower, upper, "; ".join(notes)

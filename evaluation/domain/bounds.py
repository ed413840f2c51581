"""Exact bounds for proportions and for samples in which every outcome is equal.

A bootstrap of equal outcomes has no width, and of rare ones too little; these bounds say what such a sample still
allows. `alpha` is always the error allowed to the one bound asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Proportion:
    """`events` of `trials` with exact one-sided bounds, each at error `alpha`."""

    events: float
    trials: float
    lower: float
    upper: float
    alpha: float


def proportion_bounds(events: float, trials: float, alpha: float) -> Proportion:
    """Return Clopper–Pearson bounds, each one-sided at `alpha`.

    `events` and `trials` may be fractional effective counts (Korn and Graubard 1998: the beta form with a design's
    effective sample size). Raises ValueError unless 0 ≤ events ≤ trials, trials > 0 and 0 < alpha < 1.
    """
    # Imported here: SciPy takes longer to load than everything else a page or a command needs.
    from scipy.special import betaincinv

    if not trials > 0 or not 0 <= events <= trials or not 0 < alpha < 1:
        raise ValueError(f"no proportion bound for {events} of {trials} at alpha {alpha}")
    lower = 0.0 if events == 0 else float(betaincinv(events, trials - events + 1, alpha))
    upper = 1.0 if events == trials else float(betaincinv(events + 1, trials - events, 1 - alpha))
    return Proportion(float(events), float(trials), lower, upper, alpha)


def zero_upper_bound(trials: float, alpha: float = 0.05) -> float:
    """Return the largest rate that still leaves zero events in `trials` a chance of `alpha`: 1 − alpha^(1/trials).

    0 of 12 at 0.05 gives 0.2209. Raises ValueError when there was no trial.
    """
    return proportion_bounds(0, trials, alpha).upper


def equal_outcomes_bounds(value: float, low: float, high: float, trials: float, alpha: float) -> tuple[float, float]:
    """Bound the mean of a quantity in [low, high] that came out as `value` in each of `trials` independent draws.

    With probability p of drawing `value`, all draws agree with chance p^trials, so p ≥ L = alpha^(1/trials); whatever
    else there is lies in [low, high]. Hence mean ∈ [value·L + low·(1 − L), value·L + high·(1 − L)]. For value 0 in
    [−1, 1] this is ± the zero-event bound; for 0 or 1 in [0, 1] it is Clopper–Pearson.
    """
    if not low <= value <= high:
        raise ValueError(f"{value} is outside [{low}, {high}]")
    least = 1 - zero_upper_bound(trials, alpha)
    return value * least + low * (1 - least), value * least + high * (1 - least)


def effective_clusters(sizes: Sequence[float]) -> float:
    """Return Kish's effective number of clusters, (Σm)² ÷ Σm², taking all questions of a cluster as one observation."""
    weights = np.asarray(sizes, dtype=float)
    total = float((weights**2).sum())
    return float(weights.sum()) ** 2 / total if total else 0.0

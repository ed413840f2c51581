"""Where intervals may be trusted: what bench/coverage.py measured, so that a result can say so beside its number.

The table is that of bench/coverage.md (a test compares them): per method and number of clusters the lowest coverage of
a 95 % interval over the scenarios tried, and the highest rate at which a gate accepted at a true loss equal to its
tolerance, where 5 % was promised.
"""

from __future__ import annotations

from evaluation.domain.plan_words import IntervalMethod
from evaluation.domain.resampling import UncertaintyRule

PROMISED = 0.95
SHORTFALL = 0.03
"""A result warns where the lowest coverage measured is further below what was promised than this."""

ERROR = 0.05
EXCESS = 0.04
"""It warns as well where a gate at its tolerance accepted by more above ERROR, which was promised, than this."""

BANDS = ((5, 9), (10, 19), (20, 49), (50, 99), (100, 10**9))
"""Numbers of clusters that are read together."""

MEASURED: dict[IntervalMethod, tuple[tuple[float, float], ...]] = {
    IntervalMethod.STUDENTISED_SCORE: ((1.0, 0.0), (0.97, 0.061), (0.962, 0.056), (0.977, 0.025), (0.959, 0.045)),
    IntervalMethod.STUDENTISED: ((1.0, 0.0), (0.924, 0.102), (0.921, 0.106), (0.958, 0.051), (0.943, 0.069)),
    IntervalMethod.PERCENTILE: ((1.0, 0.0), (0.89, 0.113), (0.895, 0.125), (0.945, 0.083), (0.922, 0.095)),
    IntervalMethod.BASIC: ((1.0, 0.0), (0.863, 0.15), (0.902, 0.133), (0.953, 0.09), (0.9, 0.107)),
    IntervalMethod.BCA: ((1.0, 0.0), (0.868, 0.128), (0.892, 0.12), (0.95, 0.085), (0.9, 0.095)),
}
"""(lowest coverage, highest rate of false accepts) in each of BANDS."""


def caution(rule: UncertaintyRule, clusters: int) -> str:
    """Return a warning where intervals like this one were measured to cover too little, or ""."""
    for (least, most), (coverage, accepts) in zip(BANDS, MEASURED[rule.method], strict=True):
        if clusters < least:
            return f"not measured below {least} clusters: do not rely on it"
        if clusters <= most:
            if coverage >= PROMISED - SHORTFALL - 1e-9 and accepts <= ERROR + EXCESS + 1e-9:
                return ""
            size = f"{least} or more" if most >= 10**9 else f"{least} to {most}"
            return (
                f"with {size} clusters such intervals covered as little as {coverage:.1%} of {PROMISED:.0%} promised, "
                f"and a gate at its tolerance accepted up to {accepts:.1%}"
            )
    return ""

"""Score bounds: every supposed value is tested with the standard error it would bring about itself.

A sample that misses the few clusters which lose most shows a small loss *and* a small spread, so a bound made of its
own standard error accepts too readily. A score bound asks of each value δ whether the point is further from it than the
error *at δ* allows (Wilson 1927; for paired outcomes Tango 1998):

    |point − δ| ≤ reach · R(δ),

where `reach` is a quantile times the sample's standard error, and R(δ) ≥ 1 says how much more would differ if δ were
the mean. That the error grows like what differs, and not like its square root as Tango's of independent questions does,
is what clusters of unlike rates bring about: over the samples of bench/coverage.py the logarithm of the clustered
variance rises by 1.9 to 2.1 with that of what differs. Nothing else is read of a sample, so questions copied within
their clusters change no bound.
"""

from __future__ import annotations

from math import inf, isfinite, sqrt


def difference_bounds(point: float, differing: float, reach: float) -> tuple[float, float]:
    """Return score bounds in [−1, 1] of a mean paired difference, never inside point ± reach.

    `differing` is what was lost and gained per question, added up (> 0; `point` is gained − lost). If δ were the mean,
    the likeliest lost′ and gained′ with gained′ − lost′ = δ, as Poisson amounts, would add up to R(δ) times as much:

        R(δ) = (1 + √(1 + 4 δ (δ − point) ÷ differing²)) ÷ 2,

    and point − δ = reach · R(δ) has the solution δ = point − d with

        d = reach · (1 − reach · point ÷ differing²) ÷ (1 − (reach ÷ differing)²).

    From reach = differing on, the sample excludes no loss at all. Raises ValueError where nothing differs, or for a
    reach or point that is no number a sample can have.
    """
    if not (0 < differing < inf and reach >= 0 and isfinite(point)):
        raise ValueError(f"no score bound of {point} where {differing} differs and a bound reaches {reach}")
    # Of `differing`, and never squared alone, so that no size of it leaves the range of a float.
    share = reach / differing

    def distance(centre: float) -> float:
        if share >= 1:
            return 2.0
        grown = reach * (1 - share * (centre / differing)) / ((1 - share) * (1 + share))
        return max(grown, reach)

    return max(-1.0, point - distance(point)), min(1.0, point + distance(-point))


def share_bounds(point: float, reach: float) -> tuple[float, float]:
    """Return score bounds in [0, 1] of a mean of outcomes in [0, 1], never inside point ± reach.

    Here R(δ) = δ(1 − δ) ÷ (point · (1 − point)), which keeps the error of the logit what it is, and with
    k = reach ÷ (point · (1 − point)) the bounds solve k δ² − (1 + k) δ + point = 0 and k δ² + (1 − k) δ − point = 0.
    Raises ValueError for a point that is 0 or 1 (every outcome is equal), or a reach that is negative or no number.
    """
    if not (0 < point < 1 and reach >= 0):
        raise ValueError(f"no score bound of a share of {point} that reaches {reach}")
    variance = point * (1 - point)
    # Each root in the form that loses no digits; above k = 1 in h = 1 ÷ k, which no reach takes out of range.
    if reach <= variance:
        k = reach / variance
        lower = 2 * point / (1 + k + sqrt((1 + k) ** 2 - 4 * k * point))
        upper = 2 * point / (1 - k + sqrt((1 - k) ** 2 + 4 * k * point))
    else:
        h = variance / reach
        lower = 2 * h * point / (1 + h + sqrt((1 + h) ** 2 - 4 * h * point))
        upper = (1 - h + sqrt((1 - h) ** 2 + 4 * h * point)) / 2
    return max(0.0, min(lower, point - reach)), min(1.0, max(upper, point + reach))

"""How many questions a tolerance needs: what a gate on a mean difference would read, before anything is run.

A share `discordance` of the questions differs between the arms, by `step` each (root mean square), so the paired
difference has mean `change` and variance discordance · step² − change².
Questions of one cluster correlate by `correlation`; m of them to a cluster inflate the variance by the design effect
1 + (m − 1)·ρ (Kish 1965). A gate accepts when the lower bound clears −tolerance. The default's score bound reads the
standard error s as R times as large, as it would be if the tolerance were lost; with G clusters and Student's t,

    power = P(T ≤ (tolerance + change) ÷ s − R · t_{1−α, G−1}),  s² = variance · design effect ÷ questions,
    R = (1 + √(1 + 4 · tolerance · (tolerance + change) ÷ (discordance · step)²)) ÷ 2.

Where fewer clusters lose than resampling can vary, the gate reads an exact bound on effective clusters instead, and the
power is summed over the binomial number of losing clusters. bench/coverage.py compares both with simulated gates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from evaluation.domain.bounds import proportion_bounds, zero_upper_bound
from evaluation.domain.judged import SPARSE

MOST_QUESTIONS = 1_000_000
"""Beyond, the answer is that this tolerance cannot be tested."""


@dataclass(frozen=True)
class Assumptions:
    """What is supposed about the study; shares are fractions of 1.

    `discordance` is the share of questions on which the arms differ at all, `step` by how much those differ (root mean
    square): 1 at one phase, about 0.4 when phases are averaged and most questions differ in some of them only. `change`
    is the true difference that is expected (0: none, negative: a loss within the tolerance). `error` is the error of
    the one bound the gate reads. Raises ValueError for values that cannot be.
    """

    tolerance: float
    discordance: float = 0.3
    step: float = 0.5
    change: float = 0.0
    correlation: float = 0.3
    per_cluster: float = 3.0
    error: float = 0.05

    def __post_init__(self) -> None:
        checks = (
            (0 < self.tolerance <= 1, "the tolerance must be above 0 and at most 1"),
            (0 <= self.discordance <= 1, "the discordance must be between 0 and 1"),
            (0 < self.step <= 1, "the step must be above 0 and at most 1"),
            (abs(self.change) <= self.discordance * self.step, "the expected change cannot exceed discordance × step"),
            (0 <= self.correlation <= 1, "the correlation within clusters must be between 0 and 1"),
            (self.per_cluster >= 1, "a cluster holds at least one question"),
            (0 < self.error < 0.5, "the error of a bound must be above 0 and below 0.5"),
        )
        for holds, what in checks:
            if not holds:
                raise ValueError(f"{what}.")

    @property
    def design_effect(self) -> float:
        """How much the clusters inflate the variance."""
        return 1 + (self.per_cluster - 1) * self.correlation


@dataclass(frozen=True)
class Need:
    """Questions and clusters a gate needs to accept with the chance asked for; None when no number suffices."""

    questions: int | None
    clusters: int | None
    power: float
    design_effect: float
    reason: str


def gate_power(assumed: Assumptions, questions: int) -> float:
    """Return the chance that a mean gate accepts with so many questions; 0 below two clusters."""
    from scipy.stats import binom, t  # imported late: no page without this figure should pay for it

    clusters = questions / assumed.per_cluster
    room = assumed.tolerance + assumed.change
    if clusters < 2 or room <= 0:
        return 0.0
    degrees = clusters - 1
    variance = max(assumed.discordance * assumed.step**2 - assumed.change**2, 0.0)
    error = math.sqrt(variance * assumed.design_effect / questions)
    resampled = 1.0
    if error:
        differing = assumed.discordance * assumed.step
        # Each factor divided by itself: a square could be too small for a float.
        grown = (1 + math.sqrt(1 + 4 * (assumed.tolerance / differing) * (room / differing))) / 2
        resampled = float(t.cdf(room / error - grown * t.ppf(1 - assumed.error, degrees), degrees))
    lost, gained = (max(assumed.discordance + sign * assumed.change / assumed.step, 0.0) / 2 for sign in (-1, 1))
    # The chance that a cluster loses at all: independent questions make it largest, fully correlated ones `lost`.
    independent = 1 - (1 - lost) ** assumed.per_cluster
    losing = assumed.correlation * lost + (1 - assumed.correlation) * independent
    whole = max(2, round(clusters))
    few = 0.0
    for count in range(min(SPARSE, whole + 1)):
        chance = float(binom.pmf(count, whole, losing))
        share = lost * count / (whole * losing) if losing else 0.0
        down = proportion_bounds(min(share * assumed.step, 1.0) * whole, whole, assumed.error).upper
        up = proportion_bounds(gained * assumed.step * whole, whole, assumed.error).lower
        few += chance * (up - down >= -assumed.tolerance)
    return few + float(binom.sf(SPARSE - 1, whole, losing)) * resampled


def questions_needed(assumed: Assumptions, power: float = 0.8) -> Need:
    """Return the smallest number of questions from which on the gate accepts with chance `power`.

    Raises ValueError unless 0 < power < 1.
    """
    if not 0 < power < 1:
        raise ValueError("the chance to accept must be above 0 and below 1.")
    effect = assumed.design_effect
    if assumed.tolerance + assumed.change <= 0:
        reason = "the expected loss is the tolerance or more, so no number of questions makes the gate accept"
        return Need(None, None, 0.0, effect, reason)
    low, high = 2, 8
    while gate_power(assumed, high) < power:
        low, high = high, high * 2
        if high > MOST_QUESTIONS:
            return Need(None, None, gate_power(assumed, MOST_QUESTIONS), effect, "more than a million questions")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if gate_power(assumed, middle) < power else (low, middle)
    clusters = math.ceil(high / assumed.per_cluster)
    zero = math.ceil(math.log(assumed.error) / math.log(1 - assumed.tolerance)) if assumed.tolerance < 1 else 1
    reason = (
        f"{high} questions in {clusters} clusters (design effect {effect:.2f}); without any loss at all, "
        f"{zero} clusters would be the least, since 0 of {zero} still allow {zero_upper_bound(zero, assumed.error):.1%}"
    )
    return Need(high, clusters, gate_power(assumed, high), effect, reason)

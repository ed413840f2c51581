"""Size by phase: does the effect of the phase differ between arms of different capacity?

In the two-way table arm × phase of aggregates, the interaction of candidate c and baseline b at phase p is the
double-centred contrast (c_p − c̄) − (b_p − b̄) = d_p − d̄, with d_p = c_p − b_p (Scheffé 1959, 4.1). It is 0 everywhere
when moving the cut shifts both arms alike, however large the main effects of size and phase are. Reported are each
phase's contrast, with intervals that hold for all phases together (Bonferroni), and a null for the spread of d_p, in
which phases are permuted within every cluster, both arms together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evaluation.domain.estimation import Request, counted, estimates
from evaluation.domain.outcomes import Status
from evaluation.domain.permutation import phase_orders
from evaluation.domain.phase_matrix import PhaseMatrix
from evaluation.domain.resampling import BATCH_BYTES, Numbers, UncertaintyRule, six
from evaluation.domain.statistics import PhaseEstimate, check_pair, distinct_pairs, last_minus_first, phase_estimates

PERMUTATIONS = 2000


@dataclass(frozen=True)
class Interaction:
    """The interaction at each shared phase, and how far the paired difference spreads over phases.

    `spread` is max d_p − min d_p; `expected` its mean when phases are permuted, `p_value` the share of permutations
    (the observed one included) that spread as far. UNDEFINED carries the reason.
    """

    phases: tuple[PhaseEstimate, ...]
    status: Status
    reason: str
    spread: float | None = None
    expected: float | None = None
    p_value: float | None = None
    permutations: int = 0
    seed: int = 0


def interaction(
    baseline: PhaseMatrix, candidate: PhaseMatrix, rule: UncertaintyRule, permutations: int = PERMUTATIONS
) -> Interaction:
    """Return the size-by-phase interaction of two arms over their shared phases.

    UNDEFINED with fewer than two distinct phases in either arm: an arm that cannot move has no phase effect to differ.
    Raises ValueError when the arms hold different questions, metrics or phase labels.
    """
    check_pair(baseline, candidate)
    fewest = min(len(baseline.distinct), len(candidate.distinct))
    if fewest < 2:
        return Interaction((), Status.UNDEFINED, "an arm with one distinct phase has no phase effect to compare")
    request = ask_interaction(baseline, candidate)
    shared = replace(rule, comparisons=rule.comparisons * request.values)
    phases = phase_estimates((baseline, candidate), estimates([request], shared)[0])
    of = request.counted
    names, codes = np.unique(of.clusters, return_inverse=True)
    if len(names) < 2:
        return Interaction(phases, Status.UNDEFINED, "with one cluster every permutation spreads alike")
    sums = [np.zeros((len(names), *of.numerator.shape[1:])) for _ in range(2)]
    for target, part in zip(sums, (of.numerator, of.denominator), strict=True):
        np.add.at(target, codes, part)
    observed = _spread(sums[0].sum(axis=0)[None], sums[1].sum(axis=0)[None])[0]
    if np.isnan(observed):
        return Interaction(phases, Status.UNDEFINED, "a phase counted nothing in one of the arms")
    drawn = _permuted(sums[0], sums[1], permutations, rule.seed)
    known = drawn[~np.isnan(drawn)]
    p_value = (1 + int((known >= observed - 1e-12).sum())) / (1 + len(known))
    return Interaction(
        phases,
        Status.VALUE,
        "",
        six(observed),
        six(known.mean()),
        six(p_value),
        len(known),
        rule.seed,
    )


def ask_interaction(baseline: PhaseMatrix, candidate: PhaseMatrix) -> Request:
    """Ask for d_p − d̄ at each shared phase."""
    columns = distinct_pairs(baseline, candidate)
    return Request(counted((baseline, candidate), columns, blank_repeated=False), _centred, additive=False)


def _centred(ratios: Numbers) -> Numbers:
    difference = last_minus_first(ratios)
    found: Numbers = difference - difference.mean(axis=1, keepdims=True)
    return found


def _spread(numerator: Numbers, denominator: Numbers) -> Numbers:
    """Return max − min over phases of the paired difference, from totals of shape (B, 2, P); NaN if undefined."""
    ratios = np.divide(numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator > 0)
    found: Numbers = np.ptp(last_minus_first(ratios), axis=1)
    return found


def _permuted(numerator: Numbers, denominator: Numbers, permutations: int, seed: int) -> Numbers:
    rng = np.random.default_rng(seed)
    batch = max(1, BATCH_BYTES // (8 * 4 * numerator.size))
    found = []
    for start in range(0, permutations, batch):
        rows = min(batch, permutations - start)
        # One order per cluster, the same for both arms: their pairing by phase is kept.
        order = phase_orders(rng, rows, (numerator.shape[0], numerator.shape[2]))[:, :, None, :]
        tops, bottoms = (np.take_along_axis(part[None], order, axis=3).sum(axis=1) for part in (numerator, denominator))
        found.append(_spread(tops, bottoms))
    return np.concatenate(found)

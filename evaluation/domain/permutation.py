"""What the phases would look like if none were special: phases permuted within every cluster.

Questions of a cluster move together, because their documents do; permuting each question on its own rejected 24 to 52 %
where 5 % was nominal. What each rejects is measured in bench/coverage.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.outcomes import Status
from evaluation.domain.phase_matrix import PhaseMatrix
from evaluation.domain.resampling import BATCH_BYTES, Numbers, six


@dataclass(frozen=True)
class PhaseNull:
    """Observed worst phase and spread beside their distributions under permuted phases.

    `p_value` is the share of permutations (the observed one included) whose worst phase is as low; `low` and `high`
    hold the middle 95 % of the permuted worst phases. `spread` is largest − smallest phase, `spread_expected` its mean
    over permutations, what phases that are all alike show by chance, and `spread_p_value` the share that spreads as
    far. UNDEFINED carries the reason and no numbers.
    """

    status: Status
    reason: str
    observed: float | None = None
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    permutations: int = 0
    seed: int = 0
    clusters: int = 0
    spread: float | None = None
    spread_expected: float | None = None
    spread_p_value: float | None = None


def worst_phase_null(matrix: PhaseMatrix, permutations: int = 2000, seed: int = 0) -> PhaseNull:
    """Permute the distinct phases of each cluster `permutations` times and return where the observed ones fall."""
    columns = list(matrix.distinct)
    counted = matrix.counted()
    clusters = len(set(counted.clusters))
    if not counted.questions:
        return PhaseNull(Status.UNDEFINED, "n = 0: no question is counted", clusters=0)
    if len(columns) < 2:
        return PhaseNull(Status.UNDEFINED, "one distinct phase cannot be permuted", clusters=clusters)
    if clusters < 2:
        return PhaseNull(
            Status.UNDEFINED, "with one cluster every permutation has the same worst phase", clusters=clusters
        )
    names, codes = np.unique(np.array(counted.clusters, dtype=str), return_inverse=True)
    sums = [np.zeros((len(names), len(columns))) for _ in range(2)]
    for target, part in zip(sums, (counted.numerator, counted.denominator), strict=True):
        np.add.at(target, codes, part[:, columns])
    lowest, spread = _extremes(sums[0].sum(axis=0)[None], sums[1].sum(axis=0)[None])
    worsts, spreads = permuted_extremes(sums[0], sums[1], permutations, seed)
    low, high = np.quantile(worsts, [0.025, 0.975])
    as_low = int((worsts <= lowest[0] + 1e-12).sum())
    as_far = int((spreads >= spread[0] - 1e-12).sum())
    return PhaseNull(
        Status.VALUE,
        "",
        six(lowest[0]),
        six(worsts.mean()),
        six(low),
        six(high),
        six((1 + as_low) / (1 + permutations)),
        permutations,
        seed,
        clusters,
        six(spread[0]),
        six(spreads.mean()),
        six((1 + as_far) / (1 + permutations)),
    )


def permuted_extremes(
    numerator: Numbers, denominator: Numbers, permutations: int, seed: int
) -> tuple[Numbers, Numbers]:
    """Return the worst phase and the spread of each permutation, from cluster sums of shape (C, P)."""
    rng = np.random.default_rng(seed)
    # A cluster whose phases are all alike is the same under every permutation.
    moving = (np.ptp(numerator, axis=1) > 0) | (np.ptp(denominator, axis=1) > 0)
    still = [part[~moving].sum(axis=0) for part in (numerator, denominator)]
    moved = [part[moving] for part in (numerator, denominator)]
    batch = max(1, BATCH_BYTES // (8 * 4 * max(1, moved[0].size)))
    found = []
    for start in range(0, permutations, batch):
        rows = min(batch, permutations - start)
        order = phase_orders(rng, rows, moved[0].shape)
        tops, bottoms = (
            fixed + np.take_along_axis(np.broadcast_to(part, order.shape), order, axis=2).sum(axis=1)
            for fixed, part in zip(still, moved, strict=True)
        )
        found.append(_extremes(tops, bottoms))
    worsts, spreads = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return worsts, spreads


def phase_orders(rng: np.random.Generator, rows: int, shape: tuple[int, int]) -> np.ndarray:
    """Return one random order of the P phases per row and cluster, (rows, C, P).

    The place stands in the low bits of a random whole number, so that a plain sort, several times faster than an
    argsort, carries it along.
    """
    places = np.arange(shape[1], dtype=np.uint64)
    keys = rng.integers(0, 2**63, size=(rows, *shape), dtype=np.uint64)
    keys &= ~np.uint64(0xFFFF)
    keys |= places
    keys.sort(axis=2)
    return (keys & np.uint64(0xFFFF)).astype(np.intp)


def _extremes(numerator: Numbers, denominator: Numbers) -> tuple[Numbers, Numbers]:
    """Return minimum and range over phases of the aggregate; phases in which nothing was counted are left out."""
    ratios = np.divide(numerator, denominator, out=np.full(numerator.shape, np.inf), where=denominator > 0)
    lowest: Numbers = ratios.min(axis=1)
    highest = np.where(np.isinf(ratios), -np.inf, ratios).max(axis=1)
    return lowest, highest - lowest

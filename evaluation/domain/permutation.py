"""What the worst phase would look like if no phase were special: phases permuted within every cluster.

Questions of a cluster move together, because their documents do; permuting each question on its own rejected 24 to 52 %
where 5 % was nominal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.outcomes import Status
from evaluation.domain.phase_matrix import PhaseMatrix
from evaluation.domain.resampling import BATCH_BYTES, Numbers, six


@dataclass(frozen=True)
class PhaseNull:
    """Observed worst phase beside its distribution under permuted phases.

    `p_value` is the share of permutations (the observed one included) whose worst phase is as low; `low` and `high`
    hold the middle 95 % of the permuted worst phases. UNDEFINED carries the reason and no numbers.
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


def worst_phase_null(matrix: PhaseMatrix, permutations: int = 2000, seed: int = 0) -> PhaseNull:
    """Permute the distinct phases of each cluster `permutations` times and return where the observed worst falls."""
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
    observed = float(_worst(sums[0].sum(axis=0)[None], sums[1].sum(axis=0)[None])[0])
    rng = np.random.default_rng(seed)
    batch = max(1, BATCH_BYTES // (8 * 4 * sums[0].size))
    drawn = np.concatenate(
        [
            _permuted_worst(sums[0], sums[1], min(batch, permutations - start), rng)
            for start in range(0, permutations, batch)
        ]
    )
    low, high = np.quantile(drawn, [0.025, 0.975])
    as_low = int((drawn <= observed + 1e-12).sum())
    return PhaseNull(
        Status.VALUE,
        "",
        six(observed),
        six(drawn.mean()),
        six(low),
        six(high),
        six((1 + as_low) / (1 + permutations)),
        permutations,
        seed,
        clusters,
    )


def _permuted_worst(numerator: Numbers, denominator: Numbers, rows: int, rng: np.random.Generator) -> Numbers:
    order = rng.random((rows, *numerator.shape)).argsort(axis=2)
    tops, bottoms = (
        np.take_along_axis(np.broadcast_to(part, order.shape), order, axis=2).sum(axis=1)
        for part in (numerator, denominator)
    )
    return _worst(tops, bottoms)


def _worst(numerator: Numbers, denominator: Numbers) -> Numbers:
    """Minimum over phases of the aggregate; phases in which nothing was counted are left out."""
    ratios = np.divide(numerator, denominator, out=np.full(numerator.shape, np.inf), where=denominator > 0)
    lowest: Numbers = ratios.min(axis=1)
    return lowest

"""Many estimates in one resampling: what shares its clusters shares its draws.

A page shows hundreds of figures over the same questions. Each draw of clusters serves them all: the cluster sums of
every figure stand side by side in one matrix, which the weights of a batch of draws multiply at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.judged import Sample, judged
from evaluation.domain.metrics import EMPTY
from evaluation.domain.outcomes import Status
from evaluation.domain.phase_matrix import PhaseMatrix
from evaluation.domain.resampling import Estimate, Linear, Numbers, Resampled, Signature, UncertaintyRule, resample


@dataclass(frozen=True, eq=False)
class Counted:
    """What figures count: numerators and denominators (Q, A, P) of A arms, the candidate last, and clusters (Q,).

    Only questions that count somewhere are in. A label that repeats another's cut in one arm has denominator 0 there,
    so that averages see each observation once. `empty` says why there is nothing when Q is 0.
    """

    numerator: Numbers
    denominator: Numbers
    clusters: np.ndarray
    empty: str

    @property
    def ratios(self) -> Numbers:
        """Each question's own values, NaN where nothing is counted."""
        return ratio(self.numerator, self.denominator)


def counted(matrices: Sequence[PhaseMatrix], columns: Sequence[int], *, blank_repeated: bool = True) -> Counted:
    """Stack the chosen columns of matrices over the same questions.

    `blank_repeated` blanks labels that repeat a cut of their arm; comparisons at one phase keep them.
    """
    tops, bottoms = [], []
    for matrix in matrices:
        keep = np.ones(len(columns), dtype=np.int64)
        if blank_repeated:
            keep = np.isin(columns, matrix.distinct).astype(np.int64)
        tops.append(matrix.numerator[:, columns] * keep)
        bottoms.append(matrix.denominator[:, columns] * keep)
    numerator, denominator = (np.stack(parts, axis=1).astype(np.float64) for parts in (tops, bottoms))
    rows = denominator.any(axis=(1, 2))
    clusters = np.array(matrices[0].clusters, dtype=str)[rows]
    return Counted(numerator[rows], denominator[rows], clusters, f"n = 0: {EMPTY[matrices[0].metric]}")


type RowStatistic = Callable[[Numbers], Numbers]
"""From phase ratios (B, A, P), the candidate last and NaN where nothing was counted, to values (B, K)."""


@dataclass(frozen=True, eq=False)
class Request:
    """K values asked of what was counted. `row` is linear in the ratios that are defined.

    `additive` says that each value is a mean over questions, in [0, 1] for one arm and [−1, 1] for a difference.
    """

    counted: Counted
    row: RowStatistic
    additive: bool = True

    @property
    def values(self) -> int:
        """K."""
        arms, phases = self.counted.numerator.shape[1:]
        return int(self.row(np.zeros((1, arms, phases))).shape[1])


def estimates(requests: Sequence[Request], rule: UncertaintyRule) -> list[tuple[Estimate, ...]]:
    """Return the estimates of every request, in their order; requests over the same clusters share their draws."""
    groups: dict[tuple[str, bytes], list[int]] = {}
    for place, request in enumerate(requests):
        names = request.counted.clusters
        groups.setdefault((names.dtype.str, names.tobytes()), []).append(place)
    found: dict[int, tuple[Estimate, ...]] = {}
    for places in groups.values():
        together = _estimates([requests[place] for place in places], rule)
        found.update(zip(places, together, strict=True))
    return [found[place] for place in range(len(requests))]


def _estimates(requests: Sequence[Request], rule: UncertaintyRule) -> list[tuple[Estimate, ...]]:
    clusters = requests[0].counted.clusters
    found, codes = np.unique(clusters, return_inverse=True)
    size = len(found)
    made = signature(rule, size, len(clusters))
    if not size:
        return [
            (Estimate(None, None, None, Status.UNDEFINED, one.counted.empty, made),) * one.values for one in requests
        ]
    sums = _Sums(requests, codes, size)
    points = sums.values(np.ones((1, size)), slice(0, sums.count))[0]
    sampled = None
    if size >= max(2, rule.minimum_clusters):
        linear = sums.linear() if rule.method.studentises else None
        sampled = resample(sums.values, size, sums.width, rule, points, linear)
    return [_judge(one, start, points, sums, codes, sampled, rule, made) for one, start in sums.placed]


def _judge(
    request: Request,
    start: int,
    points: Numbers,
    sums: _Sums,
    codes: np.ndarray,
    sampled: Resampled | None,
    rule: UncertaintyRule,
    made: Signature,
) -> tuple[Estimate, ...]:
    per_question = request.row(request.counted.ratios)
    per_cluster = request.row(sums.ratios(request))
    low = -1.0 if request.counted.numerator.shape[1] > 1 or not request.additive else 0.0
    return tuple(
        judged(
            Sample(float(points[start + k]), per_cluster[:, k], per_question[:, k], codes, low, request.additive),
            sampled,
            start + k,
            rule,
            made,
        )
        for k in range(per_question.shape[1])
    )


class _Sums:
    """Cluster sums of several requests side by side, and the values any weights of the clusters give."""

    def __init__(self, requests: Sequence[Request], codes: np.ndarray, size: int) -> None:
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(size))

        def summed(part: Numbers) -> Numbers:
            found: Numbers = np.add.reduceat(part[order], starts, axis=0)
            return found

        self.size = size
        self.parts = [(summed(one.counted.numerator), summed(one.counted.denominator)) for one in requests]
        self.of = {id(one): part for one, part in zip(requests, self.parts, strict=True)}
        self.widths = [one.values for one in requests]
        edges = np.concatenate([[0], np.cumsum(self.widths)]).tolist()
        self.placed = list(zip(requests, edges[:-1], strict=True))
        self.count = edges[-1]
        self.tops = [top.reshape(size, -1) for top, _ in self.parts]
        # Denominators are mostly the clusters' sizes, over and over: each different column is multiplied once.
        self.bottoms, self.which = _distinct_columns([bottom.reshape(size, -1) for _, bottom in self.parts])
        self.width = sum(top.shape[1] for top in self.tops) + self.bottoms.shape[1]

    def ratios(self, request: Request) -> Numbers:
        """Each cluster's own phase ratios (C, A, P)."""
        return ratio(*self.of[id(request)])

    def values(self, weights: Numbers, group: slice) -> Numbers:
        """Return the values of `group` under each row of `weights` (B, C)."""
        wanted = [
            place
            for place, (_, start) in enumerate(self.placed)
            if start < group.stop and start + self.widths[place] > group.start
        ]
        tops = weights @ np.concatenate([self.tops[place] for place in wanted], axis=1)
        bottoms = weights @ self.bottoms
        out, column = [], 0
        for place in wanted:
            request, start = self.placed[place]
            shape = (len(weights), *request.counted.numerator.shape[1:])
            width = self.tops[place].shape[1]
            top = tops[:, column : column + width].reshape(shape)
            found = request.row(ratio(top, bottoms[:, self.which[place]].reshape(shape)))
            out.append(found[:, max(group.start - start, 0) : group.stop - start])
            column += width
        return np.concatenate(out, axis=1)

    def linear(self) -> Linear:
        """Return how each value moves with each cluster's weight."""
        pairs = [self._linear_of(request, *part) for (request, _), part in zip(self.placed, self.parts, strict=True)]
        return Linear(*(np.concatenate(parts, axis=1) for parts in zip(*pairs, strict=True)))

    def _linear_of(self, request: Request, top: Numbers, bottom: Numbers) -> tuple[Numbers, Numbers]:
        totals = bottom.sum(axis=0)
        whole = ratio(top.sum(axis=0), totals)
        pushed = whole.size
        # The row is linear, so pushing one ratio by one gives its coefficient.
        moved = request.row(whole + np.eye(pushed).reshape(pushed, *whole.shape)) - request.row(whole[None])
        coefficients = np.nan_to_num(moved).reshape(*whole.shape, -1)
        scale = np.where(totals > 0, totals, 1.0)
        residuals = np.where(totals > 0, top - np.nan_to_num(whole) * bottom, 0.0) / scale
        influence = np.einsum("cap,apk->ck", residuals, coefficients)
        size = np.abs(coefficients).sum(axis=(0, 1))
        share = np.einsum("cap,apk->ck", bottom / scale, np.abs(coefficients)) / np.where(size > 0, size, 1.0)
        return influence, share


def _distinct_columns(parts: Sequence[Numbers]) -> tuple[Numbers, list[np.ndarray]]:
    """Return the different columns of all parts, and for each part which of them its columns are."""
    seen: dict[bytes, int] = {}
    kept: list[Numbers] = []
    which = []
    for part in parts:
        columns = []
        for column in part.T:
            key = column.tobytes()
            if key not in seen:
                seen[key] = len(kept)
                kept.append(column)
            columns.append(seen[key])
        which.append(np.array(columns, dtype=np.intp))
    return np.stack(kept, axis=1), which


def ratio(numerator: Numbers, denominator: Numbers) -> Numbers:
    """Return numerator ÷ denominator, NaN where nothing is counted."""
    found: Numbers = np.divide(numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator > 0)
    return found


def signature(rule: UncertaintyRule, clusters: int, questions: int) -> Signature:
    """Return the signature of an interval made by `rule`."""
    return Signature(
        f"{rule.method} cluster bootstrap",
        rule.confidence,
        rule.sidedness,
        rule.replicates,
        rule.seed,
        clusters,
        questions,
        rule.comparisons,
    )

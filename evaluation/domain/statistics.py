"""Estimates with honest intervals: one arm, paired differences, every shared phase, each question's own worst.

Differences are candidate − baseline, paired by question, with whole clusters drawn again. The worst-phase *gate* reads
`paired_phases` (an intersection–union test); the worst-phase *figure* is `evaluation.domain.worst_phase`. The `ask_…`
functions only say what is wanted, so that `estimates` can answer many of them from the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.estimation import Counted, Request, counted, estimates, ratio
from evaluation.domain.judged import SPARSE
from evaluation.domain.metrics import EMPTY
from evaluation.domain.phase_matrix import PhaseMatrix
from evaluation.domain.resampling import Estimate, Numbers, UncertaintyRule
from evaluation.domain.worst_phase import arm_worst, paired_worst

__all__ = [
    "SPARSE",
    "PhaseEstimate",
    "arm_mean",
    "arm_phases",
    "arm_worst",
    "ask_arm_mean",
    "ask_arm_phases",
    "ask_paired_mean",
    "ask_paired_phases",
    "ask_question_worst",
    "paired_mean",
    "paired_phases",
    "paired_worst",
    "phase_estimates",
    "question_worst",
]


@dataclass(frozen=True)
class PhaseEstimate:
    """An estimate at one phase; `labels` are all shared labels that fall on it in every arm read."""

    labels: tuple[str, ...]
    estimate: Estimate


def ask_arm_mean(matrix: PhaseMatrix) -> Request:
    """Ask for one arm's phase average."""
    return Request(counted((matrix,), matrix.distinct), mean_of_phases)


def ask_arm_phases(matrix: PhaseMatrix) -> Request:
    """Ask for one arm's value in each distinct phase."""
    return Request(counted((matrix,), matrix.distinct, blank_repeated=False), each_phase)


def ask_paired_mean(baseline: PhaseMatrix, candidate: PhaseMatrix) -> Request:
    """Ask for the difference of phase averages; each arm is averaged over its own distinct phases.

    Raises ValueError when the arms hold different questions, metrics or phase labels.
    """
    check_pair(baseline, candidate)
    return Request(counted((baseline, candidate), range(len(candidate.labels))), mean_of_phases)


def ask_paired_phases(baseline: PhaseMatrix, candidate: PhaseMatrix) -> Request:
    """Ask for the difference at each shared phase; labels on which both arms repeat a pair of cuts are one phase.

    Raises ValueError when the arms hold different questions, metrics or phase labels.
    """
    check_pair(baseline, candidate)
    return Request(
        counted((baseline, candidate), distinct_pairs(baseline, candidate), blank_repeated=False), each_phase
    )


def ask_question_worst(*matrices: PhaseMatrix) -> Request:
    """Ask for the mean of each question's own worst phase, of one arm or as a difference of two (baseline first).

    Harsher than the worst phase of the aggregate, and a plain mean over questions: no minimum of means is estimated, so
    the interval needs no correction. Raises ValueError when the arms hold different questions, metrics or labels.
    """
    if len(matrices) > 1:
        check_pair(*matrices)
    lowest = []
    for matrix in matrices:
        columns = list(matrix.distinct)
        own = ratio(matrix.numerator[:, columns].astype(float), matrix.denominator[:, columns].astype(float))
        lowest.append(np.where(np.isnan(own), np.inf, own).min(axis=1, initial=np.inf))
    worst = np.stack(lowest, axis=1)[:, :, None]
    known = ~np.isinf(worst)
    rows = known.any(axis=(1, 2))
    clusters = np.array(matrices[0].clusters, dtype=str)[rows]
    numerator, denominator = np.where(known, worst, 0.0)[rows], known[rows].astype(float)
    return Request(Counted(numerator, denominator, clusters, f"n = 0: {EMPTY[matrices[0].metric]}"), mean_of_phases)


def arm_mean(matrix: PhaseMatrix, rule: UncertaintyRule) -> Estimate:
    """Return one arm's phase average with its interval."""
    return estimates([ask_arm_mean(matrix)], rule)[0][0]


def arm_phases(matrix: PhaseMatrix, rule: UncertaintyRule) -> tuple[PhaseEstimate, ...]:
    """Return one arm's value in each distinct phase with its interval."""
    return phase_estimates((matrix,), estimates([ask_arm_phases(matrix)], rule)[0])


def paired_mean(baseline: PhaseMatrix, candidate: PhaseMatrix, rule: UncertaintyRule) -> Estimate:
    """Return the difference of phase averages; each arm is averaged over its own distinct phases.

    Raises ValueError when the arms hold different questions, metrics or phase labels.
    """
    return estimates([ask_paired_mean(baseline, candidate)], rule)[0][0]


def paired_phases(baseline: PhaseMatrix, candidate: PhaseMatrix, rule: UncertaintyRule) -> tuple[PhaseEstimate, ...]:
    """Return the difference at each shared phase. All lower bounds above −tolerance is the worst-phase gate.

    As an intersection–union test the conjunction has the error of one bound (Berger 1982): no correction is due, and no
    minimum is estimated.
    """
    return phase_estimates((baseline, candidate), estimates([ask_paired_phases(baseline, candidate)], rule)[0])


def question_worst(matrices: Sequence[PhaseMatrix], rule: UncertaintyRule) -> Estimate:
    """Return the mean of each question's own worst phase, of one arm or as a difference of two (baseline first)."""
    return estimates([ask_question_worst(*matrices)], rule)[0][0]


def phase_estimates(matrices: Sequence[PhaseMatrix], found: Sequence[Estimate]) -> tuple[PhaseEstimate, ...]:
    """Put the labels to what `ask_arm_phases` or `ask_paired_phases` of the same matrices gave."""
    columns = matrices[0].distinct if len(matrices) == 1 else distinct_pairs(*matrices)
    return tuple(map(PhaseEstimate, labels_of(matrices, columns), found))


def mean_of_phases(ratios: Numbers) -> Numbers:
    """Average the defined phases of each arm; the last arm minus the first where there are two."""
    known = ~np.isnan(ratios)
    counts = known.sum(axis=2)
    totals = np.where(known, ratios, 0.0).sum(axis=2)
    means = np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0)
    return last_minus_first(means)[:, None]


def each_phase(ratios: Numbers) -> Numbers:
    """Keep every phase; the last arm minus the first where there are two."""
    return last_minus_first(ratios)


def last_minus_first(values: Numbers) -> Numbers:
    """Return candidate − baseline along the second axis, or the only arm."""
    difference: Numbers = values[:, -1] - values[:, 0] if values.shape[1] > 1 else values[:, 0]
    return difference


def check_pair(baseline: PhaseMatrix, candidate: PhaseMatrix) -> None:
    """Refuse arms that cannot be paired; raises ValueError."""
    if baseline.questions != candidate.questions or baseline.clusters != candidate.clusters:
        raise ValueError("the arms hold different questions; select the same rows of both first")
    if baseline.metric is not candidate.metric:
        raise ValueError(f"the arms hold different metrics: {baseline.metric} and {candidate.metric}")
    if baseline.labels != candidate.labels:
        raise ValueError("the arms hold different phase labels; only shared labels can be compared")


def distinct_pairs(baseline: PhaseMatrix, candidate: PhaseMatrix) -> tuple[int, ...]:
    """Return the first column of each pair of cuts."""
    first: dict[tuple[int, int], int] = {}
    for column, cuts in enumerate(zip(baseline.cuts, candidate.cuts, strict=True)):
        first.setdefault(cuts, column)
    return tuple(first.values())


def labels_of(matrices: Sequence[PhaseMatrix], columns: Sequence[int]) -> list[tuple[str, ...]]:
    """Return, for each column, all labels with the same cuts in every matrix."""

    def cuts(column: int) -> tuple[int, ...]:
        return tuple(matrix.cuts[column] for matrix in matrices)

    labels = matrices[0].labels
    return [tuple(labels[other] for other in range(len(labels)) if cuts(other) == cuts(one)) for one in columns]

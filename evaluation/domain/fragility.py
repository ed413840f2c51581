"""Per-question fragility: how many questions change with the phase, beside what repeats at one phase already show.

Shares are single proportions over questions, so they carry exact Clopper–Pearson bounds; questions of one cluster are
no independent trials, and the bounds count effective clusters (Kish: (Σm)² ÷ Σm²) as trials. That takes all questions
of a cluster for one observation: never too narrow, and wide where clusters are large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.bounds import effective_clusters, proportion_bounds
from evaluation.domain.estimation import signature
from evaluation.domain.outcomes import Status
from evaluation.domain.phase_matrix import PhaseMatrix
from evaluation.domain.resampling import Estimate, UncertaintyRule, six


@dataclass(frozen=True)
class Fragility:
    """Shares of questions by their fate over the distinct phases, each with exact bounds.

    `repeats` is the share of (question, phase) pairs whose outcome differs between repeats at that one phase: what the
    pipeline's own noise shows without moving a cut. UNDEFINED without repeats.
    """

    fragile: Estimate
    always: Estimate
    never: Estimate
    repeats: Estimate


def fragility(matrix: PhaseMatrix, rule: UncertaintyRule) -> Fragility:
    """Return the shares of one arm, among the questions that are counted in every distinct phase.

    A question is fragile when it counts in some phases and not in others; with repeats, when the number of repeats
    that count differs between phases or lies between none and all.
    """
    columns = list(matrix.distinct)
    numerator, denominator = matrix.numerator[:, columns], matrix.denominator[:, columns]
    whole = (denominator > 0).all(axis=1) if columns else np.zeros(len(matrix.questions), dtype=bool)
    always = (numerator == denominator).all(axis=1)
    never = (numerator == 0).all(axis=1)
    fragile, kept, lost = (
        _share(matrix, whole, mask, rule, "counted in every phase") for mask in (~always & ~never, always, never)
    )
    return Fragility(fragile, kept, lost, _repeats(matrix, numerator, denominator, rule))


def _repeats(
    matrix: PhaseMatrix, numerator: NDArray[np.int64], denominator: NDArray[np.int64], rule: UncertaintyRule
) -> Estimate:
    made = replace(signature(rule, 0, 0), method="exact bound", replicates=0)
    repeated = denominator > 1
    if not repeated.any():
        reason = "one run at each phase: nothing was repeated, so the noise of the pipeline is not known"
        return Estimate(None, None, None, Status.UNDEFINED, reason, made)
    flips = repeated & (numerator > 0) & (numerator < denominator)
    rows = repeated.any(axis=1)
    per_question = flips[rows].sum(axis=1) / repeated[rows].sum(axis=1)
    return _bounded(Fraction(int(flips.sum()), int(repeated.sum())), float(per_question.mean()), matrix, rows, rule)


def _share(
    matrix: PhaseMatrix, whole: NDArray[np.bool_], mask: NDArray[np.bool_], rule: UncertaintyRule, noun: str
) -> Estimate:
    made = replace(signature(rule, 0, 0), method="exact bound", replicates=0)
    total = int(whole.sum())
    if not total:
        return Estimate(None, None, None, Status.UNDEFINED, f"n = 0: no question is {noun}", made)
    share = Fraction(int((whole & mask).sum()), total)
    return _bounded(share, float(share), matrix, whole, rule)


def _bounded(
    share: Fraction, mean: float, matrix: PhaseMatrix, rows: NDArray[np.bool_], rule: UncertaintyRule
) -> Estimate:
    """Bound a share by Clopper–Pearson with effective clusters as trials."""
    names = np.array(matrix.clusters, dtype=str)[rows]
    sizes = np.unique(names, return_counts=True)[1]
    trials = effective_clusters(sizes.tolist())
    found = proportion_bounds(min(mean, 1.0) * trials, trials, rule.alpha)
    made = replace(signature(rule, len(sizes), int(rows.sum())), method="Clopper–Pearson bound", replicates=0)
    note = "" if len(sizes) == int(rows.sum()) else f"{trials:.3g} effective clusters are the trials"
    return Estimate(
        six(float(share)), six(found.lower), six(found.upper), Status.VALUE, "", made, exact=True, note=note
    )

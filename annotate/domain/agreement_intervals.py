"""Bootstrap intervals of agreement figures: questions are drawn again with both passes on them, sums are taken anew.

A figure is a function of sums over questions, so a replicate is one product of draw counts and per-question parts. A
replicate in which a figure is undefined is left out and counted; where more than `MOST_UNDEFINED` are, there is no
interval. Percentile intervals (Efron & Tibshirani 1993, ch. 13), two-sided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

SEED = 20261130
REPLICATES = 1000
#: α_U's replicates lay the whole continuum anew each time, so there are fewer of them.
ALPHA_REPLICATES = 400
CONFIDENCE = Fraction(95, 100)
#: Fewer questions than this say nothing about other questions.
FEWEST = 5
MOST_UNDEFINED = 0.05
#: Replicates summed at once; bounds the draw counts to this many rows of one entry per question.
_BATCH = 250

type Floats = npt.NDArray[np.float64]
#: Sums, shape (replicates, parts), to one value per replicate; NaN where the figure is undefined.
type Combine = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Interval:
    """Bounds of a figure, or why there are none. `questions` were drawn, `undefined` replicates left out."""

    low: float | None
    high: float | None
    questions: int
    undefined: int = 0
    note: str = ""


def interval(parts: Sequence[Sequence[float]] | Floats, combine: Combine, *, seed: int = SEED) -> Interval:
    """Return the percentile interval of `combine(Σ parts)` over questions; `parts` has one row per question.

    There is none for fewer than `FEWEST` questions, and none where every replicate gives the same value: that says
    that the questions are alike, not that the figure is certain.
    """
    rows = np.asarray(parts, dtype=np.float64)
    count = rows.shape[0]
    if count < FEWEST:
        return Interval(None, None, count, note=f"{count} questions, fewer than {FEWEST}")
    random = np.random.default_rng(seed)
    values = []
    for begin in range(0, REPLICATES, _BATCH):
        draws = random.multinomial(count, np.full(count, 1 / count), size=min(_BATCH, REPLICATES - begin))
        values.append(combine(draws @ rows))
    return bounds(np.concatenate(values), count)


def bounds(values: Floats, questions: int) -> Interval:
    """Return the interval of replicate values, NaN standing for an undefined one."""
    defined = values[~np.isnan(values)]
    undefined = int(values.size - defined.size)
    if undefined > MOST_UNDEFINED * values.size:
        return Interval(None, None, questions, undefined, f"undefined in {undefined} of {values.size} replicates")
    tail = float(1 - CONFIDENCE) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    if np.ptp(defined) < 1e-12:
        return Interval(None, None, questions, undefined, "every replicate is equal: the questions are alike")
    return Interval(float(low), float(high), questions, undefined)


def ratio(sums: Floats) -> Floats:
    """First part by second; NaN where nothing was counted."""
    return _quotient(sums[:, 0], sums[:, 1], sums[:, 1] > 0)


def kappa_of_table(sums: Floats) -> Floats:
    """Cohen's κ of flattened k × k tables of counts (rows: first annotator); NaN where p_e = 1."""
    size = round(sums.shape[1] ** 0.5)
    table = sums.reshape(-1, size, size)
    n = table.sum(axis=(1, 2))
    observed = np.trace(table, axis1=1, axis2=2) / n
    expected = (table.sum(axis=2) * table.sum(axis=1)).sum(axis=1) / n**2
    return _quotient(observed - expected, 1 - expected, expected < 1 - 1e-12)


def nominal_alpha_of_table(sums: Floats) -> Floats:
    """Krippendorff's nominal α for two annotators of flattened k × k tables; NaN where only one word was used.

    α = 1 − (n − 1)·Σ_{c≠k} o_ck / Σ_{c≠k} n_c·n_k with o the symmetric coincidence table, n = 2 × questions
    (Krippendorff 2011, “Computing Krippendorff's Alpha-Reliability”).
    """
    size = round(sums.shape[1] ** 0.5)
    table = sums.reshape(-1, size, size)
    coincidence = table + table.transpose(0, 2, 1)
    by_word = coincidence.sum(axis=2)
    n = by_word.sum(axis=1)
    differing = n - np.trace(coincidence, axis1=1, axis2=2)
    expected = n**2 - (by_word**2).sum(axis=1)
    return 1 - _quotient((n - 1) * differing, expected, expected > 0)


def _quotient(above: Floats, below: Floats, where: npt.NDArray[np.bool_]) -> Floats:
    """Quotients, NaN where `where` is False."""
    found: Floats = np.divide(above, below, out=np.full(above.size, np.nan), where=where)
    return found

"""Krippendorff's α for unitizing a continuum (α_U), exact in whole numbers.

K. Krippendorff, “Measuring the reliability of qualitative text analysis data”, Quality & Quantity 38 (2004), 787–800.
Each annotator cuts the continuum into units of a category and the gaps between them. With b and l the begin and length
of a section, the squared difference of two sections of different annotators is

- (b₁ − b₂)² + (b₁ + l₁ − b₂ − l₂)² for two units that overlap,
- l² for a unit of length l that lies wholly in the other's gap,
- 0 otherwise.

Observed disagreement: its sum over all ordered pairs, by m(m − 1)L². Expected, by chance:
(2/L) Σ_units [ (N − 1)/3 · (2l³ − 3l² + l) + l² Σ_gaps≥l (gap − l + 1) ] / (mL(mL − 1) − Σ_units l(l − 1)),
with N the number of units and m annotators on a continuum of length L.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Unit = tuple[int, int]


@dataclass(frozen=True)
class Continuum:
    """One category: each annotator's units as (begin, length), disjoint and in order, on `[start, start + length)`."""

    start: int
    length: int
    units: Sequence[Sequence[Unit]]

    def gaps(self, annotator: int) -> list[Unit]:
        """Return the non-empty stretches one annotator left between units, as (begin, length)."""
        found, position = [], self.start
        for begin, length in self.units[annotator]:
            if begin > position:
                found.append((position, begin - position))
            position = begin + length
        if position < self.start + self.length:
            found.append((position, self.start + self.length - position))
        return found


@dataclass(frozen=True)
class QuestionUnits:
    """One question's stretch of a continuum made of many: its length, and per category both annotators' units in it."""

    length: int
    units: Mapping[str, tuple[Sequence[Unit], Sequence[Unit]]]


def alpha_u(categories: Sequence[Continuum]) -> Fraction | None:
    """Return α_U over categories, 1 − ΣD_o / ΣD_e; None where no disagreement can be expected (ΣD_e = 0)."""
    expected = sum((expected_disagreement(category) for category in categories), Fraction(0))
    if not expected:
        return None
    return 1 - sum((observed_disagreement(category) for category in categories), Fraction(0)) / expected


def observed_disagreement(category: Continuum) -> Fraction:
    """Return D_o of one category."""
    m, total = len(category.units), 0
    for i, units in enumerate(category.units):
        for j, others in enumerate(category.units):
            if i != j:
                total += _units_against_units(units, others) + 2 * _units_in_gaps(units, category.gaps(j))
    return Fraction(total, m * (m - 1) * category.length**2)


def expected_disagreement(category: Continuum) -> Fraction:
    """Return D_e of one category."""
    m, length = len(category.units), category.length
    sizes = [size for units in category.units for _, size in units]
    gaps = sorted(size for annotator in range(m) for _, size in category.gaps(annotator))
    # Suffix sums: for a unit of length l, Σ (gap − l + 1) over the gaps that could hold it.
    tail = [0] * (len(gaps) + 1)
    for index in range(len(gaps) - 1, -1, -1):
        tail[index] = tail[index + 1] + gaps[index]
    total = Fraction(0)
    for size in sizes:
        first = bisect_left(gaps, size)
        room = tail[first] - (len(gaps) - first) * (size - 1)
        total += Fraction((len(sizes) - 1) * (2 * size**3 - 3 * size**2 + size), 3) + size**2 * room
    pairs = m * length * (m * length - 1) - sum(size * (size - 1) for size in sizes)
    return total * Fraction(2, length) / pairs if pairs else Fraction(0)


def _units_against_units(units: Sequence[Unit], others: Sequence[Unit]) -> int:
    begins = [begin for begin, _ in others]
    ends = [begin + length for begin, length in others]
    total = 0
    for begin, length in units:
        end = begin + length
        for index in range(bisect_right(ends, begin), bisect_left(begins, end)):
            total += (begin - begins[index]) ** 2 + (end - ends[index]) ** 2
    return total


def _units_in_gaps(units: Sequence[Unit], gaps: Sequence[Unit]) -> int:
    """Return Σ l² of the units that lie wholly in a gap; counted once, for both orders by the caller."""
    begins = [begin for begin, _ in gaps]
    total = 0
    for begin, length in units:
        index = bisect_right(begins, begin) - 1
        if index >= 0 and begin + length <= gaps[index][0] + gaps[index][1]:
            total += length**2
    return total


def alpha_u_replicates(questions: Sequence[QuestionUnits], picks: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return α_U of each row of `picks`, question numbers laid one after the other; NaN where D_e is 0.

    In floating point, for bootstrap replicates. D_o is a sum over questions, for no unit crosses from one into the
    next; D_e needs the whole continuum.
    """
    names = sorted({name for one in questions for name in one.units})
    lengths = np.array([one.length for one in questions], dtype=np.int64)
    observed = {name: np.array([_observed(one, name) for one in questions], dtype=np.float64) for name in names}
    units = {
        (name, side): [
            np.array(one.units.get(name, ((), ()))[side], dtype=np.int64).reshape(-1, 2) for one in questions
        ]
        for name in names
        for side in (0, 1)
    }
    found = np.full(picks.shape[0], np.nan)
    for row, picked in enumerate(picks):
        sizes = lengths[picked]
        offsets = np.cumsum(sizes) - sizes
        total = int(sizes.sum())
        above = below = 0.0
        for name in names:
            sides = []
            for side in (0, 1):
                parts = [units[name, side][q] for q in picked.tolist()]
                placed = np.concatenate(parts)
                placed[:, 0] += np.repeat(offsets, [len(part) for part in parts])
                sides.append(placed)
            above += float(observed[name][picked].sum()) / (2 * total**2)
            below += _expected(sides, total)
        if below > 0:
            found[row] = 1 - above / below
    return found


def _observed(question: QuestionUnits, name: str) -> int:
    """Return 2·L²·D_o of one category on one question's stretch."""
    if name not in question.units:
        return 0
    category = Continuum(0, question.length, question.units[name])
    return int(observed_disagreement(category) * 2 * question.length**2)


def _expected(sides: Sequence[npt.NDArray[np.int64]], length: int) -> float:
    """Return D_e of one category, as `expected_disagreement` does, in floating point."""
    sizes = np.concatenate([side[:, 1] for side in sides]).astype(np.float64)
    if not sizes.size:
        return 0.0
    gaps = np.sort(
        np.concatenate(
            [np.append(side[:, 0], length) - np.concatenate(([0], side[:, 0] + side[:, 1])) for side in sides]
        )
    ).astype(np.float64)
    gaps = gaps[gaps > 0]
    tail = np.append(np.cumsum(gaps[::-1])[::-1], 0.0)
    first = np.searchsorted(gaps, sizes, side="left")
    room = tail[first] - (gaps.size - first) * (sizes - 1)
    chance = (sizes.size - 1) / 3 * (2 * sizes**3 - 3 * sizes**2 + sizes) + sizes**2 * room
    pairs = 2 * length * (2 * length - 1) - float((sizes * (sizes - 1)).sum())
    return float(chance.sum()) * 2 / length / pairs if pairs else 0.0

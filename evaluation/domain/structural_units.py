"""How many different structural units a list of packed units touches: sections, tables, code blocks, symbols.

A section is counted by its own text, up to its first sub-heading, so that a unit deep in a chapter counts one section
and not every heading above it. Of code files the outermost functions and classes count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.frozen import Document
from evaluation.domain.hits import Hits
from evaluation.domain.structure import structure_of
from evaluation.domain.support import Shown
from evaluation.domain.tokens import IntArray


@dataclass(frozen=True)
class StructuralUnits:
    """The structural units of a corpus, one pair of arrays per kind: disjoint intervals of the corpus axis, sorted."""

    base: IntArray
    kinds: tuple[tuple[IntArray, IntArray], ...]

    def touched(self, units: Hits) -> IntArray:
        """Per question, how many different structural units share a byte with any of its units."""
        valid = units.valid
        low, high = units.axis(self.base)
        total = np.zeros(units.count.size, dtype=np.int64)
        for begins, ends in self.kinds:
            # The structural units an interval meets have consecutive numbers, so unions of numbers count them once.
            first = np.searchsorted(ends, low, side="right")
            last = np.searchsorted(begins, high, side="left")
            total += Shown(valid & (last > first), first, last).union_bytes
        return total


def structural_units(documents: Sequence[Document], base: IntArray) -> StructuralUnits:
    """Read the structure of every document (once per content and process) and place it on the axis of `base`."""
    kinds: tuple[list[tuple[int, int]], ...] = ([], [], [], [])
    for document, at in zip(documents, base.tolist(), strict=True):
        found = structure_of(document)
        starts = [section.start for section in found.sections]
        kinds[0].extend((at + start, at + end) for start, end in zip(starts, [*starts[1:], found.size], strict=True))
        kinds[1].extend((at + table.start, at + table.end) for table in found.tables)
        kinds[2].extend((at + block.start, at + block.end) for block in found.code_blocks)
        kinds[3].extend((at + one.start, at + one.end) for one in found.symbols if one.parent < 0)
    columns = [np.array(rows, dtype=np.int64).reshape(-1, 2) for rows in kinds if rows]
    return StructuralUnits(base, tuple((table[:, 0], table[:, 1]) for table in columns))

"""How many units lie before a byte, and at which byte a unit starts: sizes without copying or counting text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from evaluation.domain.tokens import IntArray, TokenizedText, code_point_starts


class Ruler:
    """Unit starts of one source. `marks` has `n` + 1 entries that never decrease; the last is the source's size.

    Units that share a start (tokens of one split code point) cannot be told apart by a byte: a unit counts for the
    interval in which it starts, so that the sizes of intervals that partition a source add up to its `n` units.
    """

    __slots__ = ("marks", "n", "size")

    def __init__(self, marks: IntArray) -> None:
        self.marks = marks
        self.n = int(marks.size) - 1
        self.size = int(marks[-1])

    def at(self, offset: int) -> int:
        """How many units start before byte `offset`; all of them at the source's end."""
        return self.n if offset >= self.size else bisect_left(self.marks, offset, 0, self.n)

    def at_all(self, offsets: IntArray) -> IntArray:
        """`at` of every offset."""
        counted = np.searchsorted(self.marks[: self.n], offsets, side="left").astype(np.int64)
        return np.where(offsets >= self.size, self.n, counted)

    def byte(self, unit: int) -> int:
        """Byte at which unit `unit` starts; the source's size from unit `n` on."""
        return int(self.marks[min(unit, self.n)])

    def bytes_at(self, units: IntArray) -> IntArray:
        """`byte` of every unit."""
        return self.marks[np.minimum(units, self.n)]

    def next_mark(self, offset: int) -> int:
        """The first byte after `offset` at which a unit starts, or the source's size."""
        return int(self.marks[min(bisect_right(self.marks, offset), self.n)])


def token_ruler(tokenized: TokenizedText) -> Ruler:
    """Tokens of the plan's tokenizer."""
    return Ruler(tokenized.starts())


def character_ruler(content: bytes) -> Ruler:
    """Unicode code points."""
    return Ruler(code_point_starts(content))

"""Parts of a source's structure. Byte intervals `[start, end)`; blocks made of lines include their line endings."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluation.domain.tokens import IntArray

type Span = tuple[int, int]

#: A line ends at LF, CR LF or a lone CR (CommonMark, and Python's own source lines).
LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Heading:
    """A heading's lines `[start, end)`, its title as written, and how far it reaches.

    `section_end` is where the next heading of the same or a higher rank starts, `body_end` where the next heading of
    any rank does. `path` holds the titles from the outermost heading to this one; `parent` is an index or −1.
    """

    level: int
    title: str
    start: int
    end: int
    body_end: int
    section_end: int
    path: tuple[str, ...]
    parent: int


@dataclass(frozen=True)
class Section:
    """A heading with everything under it. `body_end` is where its first sub-heading starts; `heading` an index or −1.

    Level 0 is text before the first heading, or a whole source without headings.
    """

    start: int
    end: int
    body_end: int
    level: int
    path: tuple[str, ...]
    heading: int


@dataclass(frozen=True)
class Table:
    """A pipe table: `header` covers the header and delimiter rows, `rows` the others, each with its line ending.

    `columns` are the header cells as written. `cells[0]` are the header's cell intervals, `cells[r + 1]` those of row
    r, without the blanks around them; a row with too few cells is filled with empty intervals at its end, and cells
    beyond the header's are no columns (GitHub Flavored Markdown).
    """

    id: str
    start: int
    end: int
    header: Span
    rows: tuple[Span, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Span, ...], ...]

    @cached_property
    def row_starts(self) -> tuple[int, ...]:
        """Start of every row below the header."""
        return tuple(start for start, _ in self.rows)

    def row_at(self, offset: int) -> int:
        """Row that holds the byte at `offset`, counted from 0; −1 in the header."""
        return bisect_right(self.row_starts, offset) - 1

    def column_at(self, offset: int) -> int:
        """Column whose cell holds the byte at `offset`, or the nearest cell before it; −1 before the first cell."""
        cells = self.cells[self.row_at(offset) + 1]
        return bisect_right([start for start, _ in cells], offset) - 1


@dataclass(frozen=True)
class CodeBlock:
    """A code block with its fences, if any; `language` is the first word of the info string."""

    start: int
    end: int
    language: str
    fenced: bool


@dataclass(frozen=True)
class Symbol:
    """A function or class from its first byte (a decorator's `@`) to its last; `parent` is an index or −1.

    `name` is qualified by the symbols around it: `Outer.method`.
    """

    name: str
    kind: str
    start: int
    end: int
    parent: int


def line_starts(content: bytes) -> IntArray:
    """Byte offset where each line starts, with the size of `content` appended; one vectorised pass.

    Lines end at LF, CR LF or a lone CR; what follows the last line end is a line of its own only if it has bytes.
    """
    raw = np.frombuffer(content, dtype=np.uint8)
    ends = raw == 10
    carriage = np.flatnonzero(raw == 13)
    lone = carriage[(carriage + 1 >= raw.size) | (raw[np.minimum(carriage + 1, raw.size - 1)] != 10)]
    ends[lone] = True
    after = np.flatnonzero(ends).astype(np.int64) + 1
    starts = np.concatenate((np.zeros(1, dtype=np.int64), after))
    return starts if starts[-1] == raw.size and raw.size else np.append(starts, np.int64(raw.size))

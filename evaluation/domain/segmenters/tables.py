"""Table-aware chunks: rows are packed whole, and every chunk of rows knows its table's header.

A Markdown pipe table is a run of its own, up to the text after it; text between tables is another. In a table the units
are rows, the header joined to the first row where the two fit the capacity; in text they are sentences. A core takes
as many whole units as S = C − O tokens hold, at least one; a row or sentence above C is cut at token boundaries, and
counted. Chunks never leave their run.

A chunk whose core starts below its table's header carries the header's interval as `lineage`: a note of what the
columns mean, never evidence, and not counted in its size.

Perturbation, in every run: the first core is packed under p of S tokens, at least one unit, the others under S. p = S
is the ordinary packing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.segmenters.config import shift_words
from evaluation.domain.segmenters.layout import phase_of
from evaluation.domain.segmenters.packing import packed, runs_between
from evaluation.domain.segmenters.ruler import Ruler, token_ruler
from evaluation.domain.segmenters.separators import merged
from evaluation.domain.segmenters.structural import Runs, Structural, blanks_after, is_blank
from evaluation.domain.sentence_boundaries import sentence_boundaries
from evaluation.domain.structure import structure_of
from evaluation.domain.structure_parts import Table
from evaluation.domain.tokens import IntArray, TokenizedText


@dataclass(frozen=True)
class TableAware(Structural):
    """Configuration and segmenter in one. Sizes are in tokens."""

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "tables"

    @property
    def rule(self) -> str:
        """Perturbation rule, for the manifest."""
        return (
            f"in every table and every stretch of text the {shift_words(self.shift_every)} is packed under p tokens "
            "(at least one row or sentence), the others under the stride; p in 1…stride"
        )

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {**super().describe(), "header": "lineage of every chunk of rows, no evidence, not counted"}

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks of one document at `phase`. Raises `PhaseError` outside 1…stride."""
        first = phase_of(self.name, phase, self.stride)
        tokens = token_ruler(tokenized)
        content, tables = document.content, structure_of(document).tables
        reach = [_reach(content, table) for table in tables]
        runs = runs_between(_run_starts(content, tables, reach), len(content))
        inside = [np.array(_row_edges(table, tokens, self.capacity), dtype=np.int64) for table in tables]
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *inside])
        text = _outside(sentence_boundaries(content, self.language), tables, reach)
        bounds = np.array([start for start, _ in runs] + [len(content)], dtype=np.int64)
        edges = merged(rows, text, bounds)
        found = Runs.of(
            [(run, packed(edges, tokens, run, first, self.stride, self.capacity, self.shift_every)) for run in runs]
        )
        large = np.diff(tokens.at_all(edges)) > self.capacity
        row = _table_at(tables, reach, edges[:-1]) >= 0
        remarks = {
            "oversized_rows_split": int(np.count_nonzero(large & row)),
            "oversized_sentences_split": int(np.count_nonzero(large & ~row)),
        }
        return self.laid_out(found, edges, tokens, remarks, _headers(tables, reach, found.cores[:-1]))


def _reach(content: bytes, table: Table) -> int:
    """Where a table's run ends: blanks behind the table stay with it."""
    return blanks_after(content, table.end)


def _run_starts(content: bytes, tables: tuple[Table, ...], reach: list[int]) -> list[int]:
    starts = [0]
    for table, end in zip(tables, reach, strict=True):
        if table.start > starts[-1] and not is_blank(content, starts[-1], table.start):
            starts.append(table.start)
        if end < len(content):
            starts.append(end)
    return starts


def _row_edges(table: Table, tokens: Ruler, capacity: int) -> list[int]:
    starts = [start for start, _ in table.rows]
    if starts:
        end = table.rows[0][1]
        joined = tokens.at(end) - tokens.at(table.start) <= capacity
        return starts[1:] if joined else starts
    return []


def _outside(edges: IntArray, tables: tuple[Table, ...], reach: list[int]) -> IntArray:
    """Sentence boundaries that lie in no table and not on its edges."""
    return edges[_table_at(tables, reach, edges) < 0]


def _table_at(tables: tuple[Table, ...], reach: list[int], offsets: IntArray) -> IntArray:
    """Index of the table whose run holds each offset, −1 in text."""
    starts = np.array([table.start for table in tables], dtype=np.int64)
    ends = np.array([*reach, 0], dtype=np.int64)
    table = np.searchsorted(starts, offsets, side="right").astype(np.int64) - 1
    return np.where((table >= 0) & (offsets < ends[table]), table, -1)


def _headers(tables: tuple[Table, ...], reach: list[int], starts: IntArray) -> IntArray:
    """Per chunk the header interval of the table it starts in, −1 in text and where it holds the header itself."""
    lineage = np.full((starts.size, 2), -1, dtype=np.int64)
    table = _table_at(tables, reach, starts)
    below = np.flatnonzero(table >= 0)
    if below.size:
        headers = np.array([one.header for one in tables], dtype=np.int64)[table[below]]
        later = starts[below] > headers[:, 0]
        lineage[below[later]] = headers[later]
    return lineage

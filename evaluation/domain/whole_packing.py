"""Packing by the rendered text: the slow exact mode, `counting = "whole"`.

Every rendered unit is really tokenised and their sum decides admission; then the whole context is tokenised again in
one piece, and units are taken back from the end while it exceeds the ceiling (a tokenizer may merge across units). So a
context never exceeds its ceiling, whichever way it is counted. A unit whose source tokens alone exceed the room by
more than `SLACK` is refused without rendering it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evaluation.domain.hits import Hits
from evaluation.domain.packed import Packed
from evaluation.domain.pipeline import PreparedCorpus, Unit
from evaluation.domain.plan_words import Overflow
from evaluation.domain.rendering import Rendering
from evaluation.domain.tokens import IntArray

#: Tokens by which a unit encoded alone may come out shorter than its part of the whole source (its two ends are cut).
SLACK = 32

#: Sizes remembered at most; beyond it the memory is cleared, which costs time and changes nothing.
REMEMBERED = 200_000


@dataclass
class WholePacker:
    """Packs units by what their rendered text takes; remembers the sizes of rendered units it has counted."""

    rendering: Rendering[PreparedCorpus]
    _sizes: dict[tuple[int, int, int, int], int] = field(default_factory=dict, repr=False)

    def size(self, unit: Unit, number: int) -> int:
        """Tokens of one rendered unit with its label and separator."""
        key = (number, unit.document, unit.start, unit.end)
        known = self._sizes.get(key)
        if known is None:
            if len(self._sizes) >= REMEMBERED:
                self._sizes.clear()
            text = self.rendering.unit(unit, number)
            known = self._sizes[key] = self.rendering.prepared.tokenizer.count(text)
        return known

    def sizes(self, units: Hits) -> IntArray:
        """Tokens of each question's rendered context, counted in one piece."""
        texts = [self.rendering.context(row)[0] for row in units_of(units)]
        return np.array(self.rendering.prepared.tokenizer.count_many(texts), dtype=np.int64)

    def under_ceiling(self, hits: Hits, ceiling: int) -> Packed:
        """Pack each question's units under `ceiling` tokens, then count what was chosen whole."""
        lists = units_of(hits)
        self._prepare(lists)
        rows = [self._choose(units, ceiling) for units in lists]
        chosen = [[unit for _, unit in row.chosen] for row in rows]
        tokens = self.sizes(hits_of_units(chosen)).tolist()
        taken_back: list[tuple[int, int]] = []
        for q, row in enumerate(rows):
            while tokens[q] > ceiling and row.chosen:
                column, _ = row.chosen.pop()
                taken_back.append((q, column))
                text = self.rendering.context([unit for _, unit in row.chosen])[0]
                tokens[q] = self.rendering.prepared.tokenizer.count(text)
        units = hits_of_units([[unit for _, unit in row.chosen] for row in rows])
        columns = np.full(units.document.shape, -1, dtype=np.int64)
        for q, row in enumerate(rows):
            columns[q, : len(row.chosen)] = [place for place, _ in row.chosen]
        return Packed(
            units,
            columns,
            hits.count,
            np.array([row.ended for row in rows], dtype=np.int64),
            np.array([row.cut for row in rows], dtype=np.bool_),
            np.array(tokens, dtype=np.int64),
            taken_back=tuple(taken_back),
        )

    def _prepare(self, lists: Sequence[Sequence[Unit]]) -> None:
        """Count the first unit of every list in one batch; most packings start with them."""
        wanted = {(1, u.document, u.start, u.end): u for units in lists for u in units[:1]}
        missing = [(key, unit) for key, unit in wanted.items() if key not in self._sizes]
        texts = [self.rendering.unit(unit, 1) for _, unit in missing]
        for (key, _), size in zip(missing, self.rendering.prepared.tokenizer.count_many(texts), strict=True):
            self._sizes[key] = size

    def _choose(self, units: Sequence[Unit], ceiling: int) -> _Chosen:
        """Units admitted under `ceiling` before the recount."""
        row = _Chosen([], len(units), cut=False)
        room = ceiling
        overflow = self.rendering.budget.overflow
        for column, unit in enumerate(units):
            number = len(row.chosen) + 1
            if unit.token_end - unit.token_start <= room + SLACK and self.size(unit, number) <= room:
                room -= self.size(unit, number)
                row.chosen.append((column, unit))
                continue
            if overflow is Overflow.SKIP:
                continue
            row.ended = column
            shorter = self._truncate(unit, number, room) if overflow is Overflow.TRUNCATE else None
            if shorter is not None:
                row.cut = True
                row.chosen.append((column, shorter))
            break
        return row

    def _truncate(self, unit: Unit, number: int, room: int) -> Unit | None:
        """The longest proper prefix of `unit`, in source tokens, that fits `room`; None when no token does."""
        text = self.rendering.prepared.tokenized[unit.document]
        keep = min(unit.token_end - unit.token_start - 1, room)
        while keep > 0:
            token_end = unit.token_start + keep
            end = int(text.starts_at([token_end])[0])
            if end <= unit.start:
                return None
            shorter = replace(unit, end=end, token_end=token_end)
            over = self.size(shorter, number) - room
            if over <= 0:
                return shorter
            keep -= over
        return None


@dataclass
class _Chosen:
    """A question on its way: (column, unit) admitted, the column at which it ended, whether the last was shortened."""

    chosen: list[tuple[int, Unit]]
    ended: int
    cut: bool


def units_of(hits: Hits) -> list[list[Unit]]:
    """Each question's units as values; the lineage is the best hit alone."""
    columns = (hits.document, hits.start, hits.end, hits.token_start, hits.token_end, hits.rank, hits.chunk)
    rows = zip(*(column.tolist() for column in columns), hits.count.tolist(), strict=True)
    return [
        [
            Unit(document, start, end, first, last, rank, (chunk,) if chunk >= 0 else ())
            for document, start, end, first, last, rank, chunk in list(zip(*row, strict=True))[:count]
        ]
        for *row, count in rows
    ]


def hits_of_units(lists: Sequence[Sequence[Unit]]) -> Hits:
    """Lists of units as arrays, at least one column wide."""
    count = np.array([len(units) for units in lists], dtype=np.int64)
    shape = (len(lists), max(1, int(count.max(initial=0))))

    def column(values: Sequence[Sequence[int]], beyond: int = 0) -> IntArray:
        table = np.full(shape, beyond, dtype=np.int64)
        for q, row in enumerate(values):
            table[q, : len(row)] = row
        return table

    return Hits(
        count,
        column([[u.document for u in units] for units in lists], -1),
        column([[u.start for u in units] for units in lists]),
        column([[u.end for u in units] for units in lists]),
        column([[u.token_start for u in units] for units in lists]),
        column([[u.token_end for u in units] for units in lists]),
        column([[u.rank for u in units] for units in lists]),
        column([[u.lineage[0] if u.lineage else -1 for u in units] for units in lists], -1),
    )

"""Packed evidence as values with its rendered context, made when somebody asks: a generator, a page, a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import overload

import numpy as np

from evaluation.domain.hits import Hits
from evaluation.domain.packed import Packed, duplicate_pairs, refusals, source_tokens
from evaluation.domain.packing import Packer
from evaluation.domain.pipeline import PackedEvidence, Unit
from evaluation.domain.tokens import IntArray
from evaluation.domain.whole_packing import units_of


def origins(lists: Sequence[Hits]) -> IntArray:
    """For each entry of the first list, its column in the last, −1 when it got lost; lists in the order they ran."""
    width = lists[0].document.shape
    at = np.broadcast_to(np.arange(width[1], dtype=np.int64), width)
    at = np.where(lists[0].valid, at, -1)
    for before, after in pairwise(lists):
        if after is before or after.into is None:
            continue
        moved = np.take_along_axis(after.into, np.maximum(at, 0), axis=1)
        at = np.where(at >= 0, moved, -1)
    return at


@dataclass(frozen=True, eq=False)
class LazyEvidence(Sequence[PackedEvidence]):
    """The packed evidence of a block in one view. `lists` are the lists of units from the candidates to the one that
    was packed."""

    packer: Packer
    lists: tuple[Hits, ...]
    packed: Packed

    def __len__(self) -> int:
        return int(self.packed.listed.size)

    @overload
    def __getitem__(self, index: int) -> PackedEvidence: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[PackedEvidence]: ...

    def __getitem__(self, index: int | slice) -> PackedEvidence | Sequence[PackedEvidence]:
        return self._made[index]

    @cached_property
    def _made(self) -> tuple[PackedEvidence, ...]:
        packed = self.packed
        total, unique = source_tokens(packed.units, self.packer.token_base)
        pairs, compared = duplicate_pairs(packed.units, Fraction(self.packer.budget.duplicate_threshold))
        taken_back: dict[int, set[int]] = {}
        for q, column in packed.taken_back:
            taken_back.setdefault(q, set()).add(column)
        rank = self.lists[-1].rank
        made: list[PackedEvidence] = []
        for q, units in enumerate(self._units()):
            context, spans = self.packer.rendering.context(units)
            reasons = refusals(
                int(packed.listed[q]),
                set(packed.column[q, : len(units)].tolist()),
                int(packed.ended[q]),
                cut=bool(packed.cut[q]),
                by_count=packed.by_count,
                taken_back=taken_back.get(q, ()),
            )
            made.append(
                PackedEvidence(
                    tuple(units),
                    context,
                    int(packed.tokens[q]),
                    spans,
                    tuple((int(rank[q, column]), reason) for column, reason in reasons.items()),
                    int(unique[q]),
                    int(total[q] - unique[q]),
                    int(pairs[q]),
                    int(compared[q]),
                )
            )
        return tuple(made)

    def _units(self) -> list[list[Unit]]:
        """The packed units with the chunk of every hit that led to each, best rank first."""
        reached = origins(self.lists)
        candidates = self.lists[0]
        found: list[list[Unit]] = []
        for q, units in enumerate(units_of(self.packed.units)):
            row = []
            for place, unit in enumerate(units):
                led = np.flatnonzero(reached[q] == self.packed.column[q, place])
                chunks = candidates.chunk[q, led].tolist()
                row.append(replace(unit, lineage=tuple(chunks)) if chunks else unit)
            found.append(row)
        return found

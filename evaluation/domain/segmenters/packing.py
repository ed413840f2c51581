"""Filling chunks with whole units up to a budget, one run after the other.

A *run* is an interval no chunk crosses (a table, a section that is split). In it the first chunk is filled under the
phase p, the others under the stride S; that is how structural segmenters are shifted. Packings that start apart meet
again at the first boundary they share, often after a few chunks; `every` packs each so-many-th chunk of a run under p
as well, so that a shift reaches the whole of a long run. Two ways to fill:

* `packed`: as many whole units as the budget holds, at least one. A unit above the capacity is cut at token (or code
  point) boundaries where it stands, by the budget, and its last piece is packed with what follows.
* `coarsest`: up to the last boundary of the coarsest level that has one within the budget; below all levels there are
  the token (code point) boundaries.

Both loop over chunks, never over units or characters.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from evaluation.domain.segmenters.ruler import Ruler
from evaluation.domain.tokens import IntArray


def packed(
    edges: IntArray, ruler: Ruler, run: tuple[int, int], first: int, rest: int, capacity: int, every: int = 0
) -> list[int]:
    """Ends of the cores of one run, the run's end last. `edges` are the unit boundaries, the run's own among them."""
    position, end = run
    found: list[int] = []
    while position < end:
        budget = first if _shifted(len(found), every) else rest
        before = ruler.at(position)
        limit = min(ruler.byte(before + budget), end)
        reached = int(edges[bisect_right(edges, limit) - 1])
        if reached <= position:
            reached = int(edges[bisect_right(edges, position)])
            if ruler.at(reached) - before > capacity:
                reached = min(reached, limit if limit > position else ruler.next_mark(position))
        found.append(reached)
        position = reached
    return found


def coarsest(
    levels: Sequence[IntArray], ruler: Ruler, run: tuple[int, int], first: int, rest: int, every: int = 0
) -> list[int]:
    """Ends of the cores of one run, the run's end last; every level is a sorted array of boundaries that holds 0."""
    position, end = run
    found: list[int] = []
    while position < end:
        budget = first if _shifted(len(found), every) else rest
        limit = min(ruler.byte(ruler.at(position) + budget), end)
        if limit < end:
            limit = _coarsest_before(levels, position, limit) or limit
        if limit <= position:
            # One code point whose tokens alone exceed the budget.
            limit = min(ruler.next_mark(position), end)
        found.append(limit)
        position = limit
    return found


def _shifted(core: int, every: int) -> bool:
    """Whether a core, counted from 0 in its run, is filled under the phase."""
    return core % every == 0 if every else core == 0


def _coarsest_before(levels: Sequence[IntArray], position: int, limit: int) -> int:
    for level in levels:
        reached = int(level[bisect_right(level, limit) - 1])
        if reached > position:
            return reached
    return 0


def overlapped(
    cores: IntArray, run_ends: IntArray, edges: IntArray, ruler: Ruler, overlap: int, capacity: int
) -> IntArray:
    """Chunk ends: each core is continued by whole units that fit `overlap`, `capacity` and its run.

    `cores` are core boundaries (one more than cores), `run_ends` the end of each core's run. Where a core ends inside
    a unit (it was cut there), the chunk goes on for `overlap` tokens (or code points), to that unit's end at most.
    """
    starts, ends = cores[:-1], cores[1:]
    if overlap == 0 or ends.size == 0:
        return ends
    room = np.minimum(ruler.at_all(ends) + overlap, ruler.at_all(starts) + capacity)
    limit = np.minimum(ruler.bytes_at(np.maximum(room, ruler.at_all(ends))), run_ends)
    whole = edges[np.maximum(np.searchsorted(edges, limit, side="right") - 1, 0)]
    unit_ends = edges[np.minimum(np.searchsorted(edges, ends, side="left"), edges.size - 1)]
    reached = np.where(unit_ends > ends, np.where(whole > ends, whole, np.minimum(limit, unit_ends)), whole)
    return np.maximum.accumulate(np.maximum(reached, ends))


def oversized(edges: IntArray, ruler: Ruler, capacity: int) -> int:
    """How many of the units between `edges` are larger than the capacity."""
    return int(np.count_nonzero(np.diff(ruler.at_all(edges)) > capacity))


def above_capacity(cores: IntArray, ruler: Ruler, capacity: int) -> int:
    """How many cores are still larger: one code point whose tokens alone exceed the capacity."""
    return int(np.count_nonzero(np.diff(ruler.at_all(cores)) > capacity))


def runs_between(starts: Sequence[int], size: int) -> list[tuple[int, int]]:
    """Runs that start at `starts` (0 first, increasing) and end where the next one starts."""
    return list(pairwise([*starts, size]))

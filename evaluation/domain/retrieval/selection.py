"""From a block of scores to ranked lists: filters first, then the depth, in a total order without a sort of the whole.

A chunk's *key* is score · N + (N − 1 − chunk), N the number of chunks. Keys of one question differ, and a larger key
stands earlier: by score, then by chunk, which is source and then start; the rank of no chunk depends on the other
questions of a block. Keys are made only for chunks that can be among the first `depth`: chunks are dealt into groups
(chunk modulo the number of groups), and as many groups as the list is long have a maximum of at least the `depth`-th
largest maximum, so nothing below that can be in the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from evaluation.domain.hits import BoolArray, Ranked
from evaluation.domain.stage_protocols import Queries, ReaderMask
from evaluation.domain.tokens import IntArray

#: Groups per place of the list; more groups bring the bound nearer to the last score listed.
GROUPS_PER_PLACE = 2

#: Scores held at once, questions times chunks; bounds the memory of a search to a few dense blocks of this size.
BLOCK_ENTRIES = 400_000


def rows_per_block(chunks: int) -> int:
    """How many questions are scored at once over an index of `chunks` chunks; at least one."""
    return max(1, BLOCK_ENTRIES // max(1, chunks))


def select(queries: Queries, depth: int, chunks: int, score: Callable[[slice], IntArray]) -> Ranked:
    """Rank the chunks of an index for a block of questions.

    `score` gives the quantised scores of some of the questions, shape (questions, chunks), in units of 1e-6; only
    chunks above zero are candidates. The lists are min(depth, chunks) wide. Raises `OverflowError` for scores too large
    to be ordered in 64 bits.
    """
    total = len(queries.texts)
    width = min(depth, chunks)
    chunk = np.full((total, width), -1, dtype=np.int64)
    scores = np.zeros((total, width), dtype=np.int64)
    count, candidates, denied, outdated, foreign = (np.zeros(total, dtype=np.int64) for _ in range(5))
    filters = {group: mask for group, mask in enumerate(queries.masks) if not bool(mask.allowed.all())}
    step = rows_per_block(chunks)
    for begin in range(0, total if width else 0, step):
        rows = slice(begin, min(begin + step, total))
        raw = score(rows)
        allowed = raw
        filtered = [g for g in filters if bool(np.any(queries.group[rows] == g))]
        if filtered:
            allowed = raw.copy()
            for group in filtered:
                allowed[np.ix_(queries.group[rows] == group, ~filters[group].allowed)] = 0
        best = _first(allowed, width)
        found = best >= chunks
        candidates[rows] = np.count_nonzero(allowed > 0, axis=1)
        count[rows] = np.count_nonzero(found, axis=1)
        chunk[rows] = np.where(found, chunks - 1 - best % chunks, -1)
        scores[rows] = np.where(found, best // chunks, 0)
        for group in filtered:
            mine = np.flatnonzero(queries.group[rows] == group)
            # Of a full list, what stands before its last entry; of a shorter one, everything that was scored.
            full = count[rows][mine] == depth
            bar = np.where(full, scores[rows][mine, -1], 1)[:, None]
            last = np.where(full, chunk[rows][mine, -1], chunks)[:, None]
            ahead = (raw[mine] > bar) | ((raw[mine] == bar) & (np.arange(chunks) < last))
            kept_out = ahead & ~filters[group].allowed
            for counted, reason in zip((denied, outdated, foreign), _reasons(filters[group]), strict=True):
                counted[begin + mine] = np.count_nonzero(kept_out & reason, axis=1)
    return Ranked(chunk, scores, count, candidates, denied, outdated, foreign, ("",) * total)


def _first(scores: IntArray, width: int) -> IntArray:
    """The `width` largest keys of each row, in falling order; below N where a row has fewer scores above zero."""
    total, chunks = scores.shape
    groups = GROUPS_PER_PLACE * width
    bar = np.ones((total, 1), dtype=np.int64)
    highest = scores.max(initial=0)
    if groups * 2 <= chunks:
        deep = chunks // groups
        maxima = scores[:, : deep * groups].reshape(total, deep, groups).max(axis=1)
        bar = np.maximum(np.partition(maxima, groups - width, axis=1)[:, groups - width, None], 1)
        highest = maxima.max(initial=0)
        highest = max(highest, scores[:, deep * groups :].max(initial=0))
    if int(highest) >= (2**63 - chunks) // chunks:
        raise OverflowError(f"scores up to {highest} over {chunks} chunks do not fit 64 bits; shorten the questions")
    row, column = np.divmod(np.flatnonzero(scores >= bar), chunks)
    sizes = np.bincount(row, minlength=total)
    keys = np.zeros((total, max(width, int(sizes.max(initial=0)))), dtype=np.int64)
    place = np.arange(row.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    keys[row, place] = scores[row, column] * chunks + (chunks - 1 - column)
    keys.sort(axis=1)
    falling: IntArray = keys[:, ::-1][:, :width]
    return falling


def _reasons(mask: ReaderMask) -> Iterable[BoolArray]:
    """Why a chunk is kept out; the first reason counts: labels, then dates, then locale."""
    return ~mask.readable, mask.readable & ~mask.current, mask.readable & mask.current

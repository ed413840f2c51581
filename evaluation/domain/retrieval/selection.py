"""From a block of scores to ranked lists: filters first, then the depth, in a total order without a sort of the whole.

A chunk's *key* is score · N + (N − 1 − chunk), N the number of chunks. Keys of one question differ, and a larger key
stands earlier: by score, then by chunk, which is source and then start. So the first `depth` keys are found by a
partial selection, ties at the edge included, and the rank of no chunk depends on the other questions of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from evaluation.domain.hits import BoolArray, Ranked
from evaluation.domain.stage_protocols import Queries, ReaderMask
from evaluation.domain.tokens import IntArray

#: Scores held at once, questions times chunks; bounds the memory of a search to a few dense blocks of this size.
BLOCK_ENTRIES = 2_000_000


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
        keys = _keys(score(rows), chunks)
        raw = keys
        filtered = [g for g in filters if bool(np.any(queries.group[rows] == g))]
        if filtered:
            raw = keys.copy()
            for group in filtered:
                keys[np.ix_(queries.group[rows] == group, ~filters[group].allowed)] = 0
        candidates[rows] = np.count_nonzero(keys >= chunks, axis=1)
        best = np.sort(np.partition(keys, chunks - width, axis=1)[:, chunks - width :], axis=1)[:, ::-1]
        found = best >= chunks
        count[rows] = np.count_nonzero(found, axis=1)
        chunk[rows] = np.where(found, chunks - 1 - best % chunks, -1)
        scores[rows] = np.where(found, best // chunks, 0)
        for group in filtered:
            mine = np.flatnonzero(queries.group[rows] == group)
            # Of a full list, what stands before its last entry; of a shorter one, everything that was scored.
            bar = np.where(count[rows][mine] == depth, best[mine, -1], chunks)
            kept_out = (raw[mine] >= bar[:, None]) & ~filters[group].allowed
            for counted, reason in zip((denied, outdated, foreign), _reasons(filters[group]), strict=True):
                counted[begin + mine] = np.count_nonzero(kept_out & reason, axis=1)
    return Ranked(chunk, scores, count, candidates, denied, outdated, foreign, ("",) * total)


def _keys(scores: IntArray, chunks: int) -> IntArray:
    if scores.size and int(scores.max()) >= (2**63 - chunks) // chunks:
        raise OverflowError(
            f"scores up to {int(scores.max())} over {chunks} chunks do not fit 64 bits; shorten questions"
        )
    keys: IntArray = scores * chunks
    keys += np.arange(chunks - 1, -1, -1, dtype=np.int64)
    return keys


def _reasons(mask: ReaderMask) -> Iterable[BoolArray]:
    """Why a chunk is kept out; the first reason counts: labels, then dates, then locale."""
    return ~mask.readable, mask.readable & ~mask.current, mask.readable & mask.current

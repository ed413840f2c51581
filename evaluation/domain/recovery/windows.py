"""Larger windows whose edges are cuts of the build: runs of chunks of one document, at most `capacity` tokens long.

A window takes chunks from where the one before ended, in source order, as long as the tokens from the first chunk's
first to the last chunk's last stay within the capacity; a chunk longer than that is a window of its own. So windows
move with the phase exactly as the cuts do, and every chunk lies whole in one of them. Tokens are counted here as the
segmenter counts them, where a token on a cut belongs to one side: four chunks of 128 fit 512 wherever the cuts fall.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.recovery.widened import Widened
from evaluation.domain.tokens import IntArray


@dataclass(frozen=True)
class Windows:
    """Windows of a build. `of` names each chunk's window; `size` (chunks) and `interval` have one entry per window."""

    of: IntArray
    size: IntArray
    interval: Widened

    def of_each_chunk(self) -> Widened:
        """Return each chunk widened to its window."""
        found = self.interval
        return Widened(found.start[self.of], found.end[self.of], found.token_start[self.of], found.token_end[self.of])


def windows(chunks: CorpusChunks, capacity: int) -> Windows:
    """Return the windows of at most `capacity` tokens of every document."""
    first: list[int] = []
    for document in range(len(chunks.first) - 1):
        at, stop = int(chunks.first[document]), int(chunks.first[document + 1])
        # Reached so far, so that a nested chunk never lets a later, longer one in before its turn.
        table = chunks.tables[document]
        reached = np.maximum.accumulate(table.token_end).tolist()
        begins = table.token_start.tolist()
        position, count = 0, stop - at
        while position < count:
            first.append(at + position)
            position = max(position + 1, bisect_right(reached, begins[position] + capacity, lo=position))
    edges = np.array(first, dtype=np.int64)
    size = np.diff(np.append(edges, len(chunks)))
    interval = Widened(
        np.minimum.reduceat(chunks.start, edges),
        np.maximum.reduceat(chunks.end, edges),
        np.minimum.reduceat(chunks.token_start, edges),
        np.maximum.reduceat(chunks.token_end, edges),
    )
    return Windows(np.repeat(np.arange(edges.size, dtype=np.int64), size), size, interval)

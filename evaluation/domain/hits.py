"""A block of questions on its way through the pipeline: ranked units as padded arrays, never a row per hit.

Shape (questions, depth): entry (q, r) counts when r < count[q]. Beyond, `document` and `chunk` are −1 and everything
else 0. Every stage turns one such list into the next; `into` says where each entry of the list before went, so that
the lineage of any unit can be read back to the hits of retrieval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.tokens import IntArray

type BoolArray = npt.NDArray[np.bool_]

#: Columns of a list of units, with what stands beyond its end.
_PADDING = {"document": -1, "start": 0, "end": 0, "token_start": 0, "token_end": 0, "rank": 0, "chunk": -1}


class StageError(ValueError):
    """A stage handed on something that cannot be a list of units; the message names the stage."""


@dataclass(frozen=True)
class Ranked:
    """What a retriever found for a block, best first; `score` in units of 1e-6, quantised *before* ranking.

    `candidates` counts scored chunks that passed the filters, before the depth cut. `denied`, `outdated`, `foreign`
    count chunks that labels, dates and locale kept out although they would have stood within the depth. `failed` has
    one text per question: "" or why retrieval failed for it, which makes a labelled failure, never an empty list.
    """

    chunk: IntArray
    score: IntArray
    count: IntArray
    candidates: IntArray
    denied: IntArray
    outdated: IntArray
    foreign: IntArray
    failed: tuple[str, ...]


@dataclass(frozen=True)
class Hits:
    """Units of a block after one stage. Offsets are bytes, `token_*` source-token indices, `rank` 1-based.

    `rank` is the rank in the retriever's list of the best hit that led to a unit and `chunk` that hit's chunk. `into`
    has the shape of the list before: the column here that holds its bytes, −1 when it was dropped; None where nothing
    moved.
    """

    count: IntArray
    document: IntArray
    start: IntArray
    end: IntArray
    token_start: IntArray
    token_end: IntArray
    rank: IntArray
    chunk: IntArray
    into: IntArray | None = None

    @property
    def valid(self) -> BoolArray:
        """Which entries count; shape (questions, depth)."""
        depth = np.arange(self.document.shape[1], dtype=np.int64)
        mask: BoolArray = depth[None, :] < self.count[:, None]
        return mask

    def axis(self, base: IntArray) -> tuple[IntArray, IntArray]:
        """First and last byte of each unit on the corpus-wide axis; both 0 beyond the end.

        `base` says where each document begins on it. Units of two documents never share a point there.
        """
        at = base[np.maximum(self.document, 0)]
        valid = self.valid
        return np.where(valid, self.start + at, 0), np.where(valid, self.end + at, 0)


def candidates_of(ranked: Ranked, chunks: CorpusChunks) -> Hits:
    """The retriever's lists as units of the index; at least one column wide."""
    chunk = ranked.chunk
    if chunk.shape[1] == 0:
        chunk = np.full((chunk.shape[0], 1), -1, dtype=np.int64)
    valid = np.arange(chunk.shape[1])[None, :] < ranked.count[:, None]
    chunk = np.where(valid, chunk, -1)
    if bool(np.any(chunk[valid] < 0)) or bool(np.any(chunk >= len(chunks))):
        raise StageError("the retriever returned a chunk that is not in the index it was given")
    rank = np.where(valid, np.arange(1, chunk.shape[1] + 1, dtype=np.int64)[None, :], 0)
    return _of_chunks(chunk, rank, ranked.count, chunks)


def hits_again(chunk: IntArray, rank: IntArray, chunks: CorpusChunks) -> Hits:
    """Hits of retrieval by chunk and rank, −1 beyond the end: what units were before they were widened."""
    return _of_chunks(chunk, rank, np.count_nonzero(chunk >= 0, axis=1).astype(np.int64), chunks)


def _of_chunks(chunk: IntArray, rank: IntArray, count: IntArray, chunks: CorpusChunks) -> Hits:
    valid = chunk >= 0
    at = np.where(valid, chunk, 0)

    def column(values: IntArray, beyond: int = 0) -> IntArray:
        return np.where(valid, values[at], beyond) if len(chunks) else np.full(chunk.shape, beyond, dtype=np.int64)

    return Hits(
        count,
        column(chunks.document, -1),
        column(chunks.start),
        column(chunks.end),
        column(chunks.token_start),
        column(chunks.token_end),
        rank,
        chunk,
    )


def arranged(hits: Hits, columns: IntArray, stage: str) -> Hits:
    """Units of `hits` at `columns` (−1 beyond the end of a row), in that order, each at most once.

    Raises `StageError`, naming `stage`, for a column that does not exist, is past the end, or comes twice, and for a
    gap in a row.
    """
    kept = columns >= 0
    count = np.count_nonzero(kept, axis=1).astype(np.int64)
    if bool(np.any(kept[:, 1:] & ~kept[:, :-1])):
        raise StageError(f"{stage}: a list has a gap; −1 may only stand beyond its end")
    rows, places = np.nonzero(kept)
    chosen = columns[rows, places]
    if chosen.size and bool(np.any(chosen >= hits.count[rows])):
        raise StageError(f"{stage}: it names a unit that was not handed to it")
    into = np.full(hits.document.shape, -1, dtype=np.int64)
    into[rows, chosen] = places
    if int(np.count_nonzero(into >= 0)) != chosen.size:
        raise StageError(f"{stage}: it names a unit twice")
    at = np.where(kept, columns, 0)
    moved = {
        name: np.where(kept, np.take_along_axis(getattr(hits, name), at, axis=1), beyond)
        for name, beyond in _PADDING.items()
    }
    return Hits(count=count, into=into, **moved)


def kept_only(hits: Hits, keep: BoolArray, stage: str) -> Hits:
    """The units where `keep` holds, in their order; `hits` itself when that is all of them."""
    keep = keep & hits.valid
    if bool(np.array_equal(keep, hits.valid)):
        return hits
    return arranged(hits, left_packed(keep), stage)


def left_packed(keep: BoolArray) -> IntArray:
    """Columns where `keep` holds, row by row from the left, −1 beyond; at least one column wide."""
    order = np.argsort(~keep, axis=1, kind="stable").astype(np.int64)
    count = np.count_nonzero(keep, axis=1)
    width = max(1, int(count.max(initial=0)))
    columns: IntArray = np.where(np.arange(order.shape[1])[None, :] < count[:, None], order, -1)[:, :width]
    return columns


def first(hits: Hits, k: int) -> Hits:
    """The first `k` units of each question."""
    return kept_only(
        hits, np.broadcast_to(np.arange(hits.document.shape[1])[None, :] < k, hits.document.shape), "top k"
    )


def without_history(hits: Hits) -> Hits:
    """The same units as if they had been there from the start."""
    return hits if hits.into is None else replace(hits, into=None)


def rows_of(values: IntArray, count: IntArray) -> list[list[int]]:
    """A padded array as one list per question, cut at its count."""
    return [row[:size] for row, size in zip(values.tolist(), count.tolist(), strict=True)]

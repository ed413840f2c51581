"""What happens to lists of units between expansion and packing: the second check, merging, the limit by parents.

Every treatment takes a list and gives the next one, with `into`; one that changes nothing returns the list it was
given, so that what was measured on it needs no second measuring.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.asking import Block
from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.hits import BoolArray, Hits, StageError, arranged, hits_again, kept_only, left_packed
from evaluation.domain.tokens import IntArray

#: Room for a chunk's number beside its rank in one integer.
_CHUNK_BITS = 40


def readable_units(block: Block, hits: Hits) -> BoolArray:
    """Which units their question's reader may read whole; True beyond the end of a row."""
    free = np.ones(hits.document.shape, dtype=np.bool_)
    low, high = hits.axis(block.base)
    for number, rights in enumerate(block.rights):
        if rights.denied:
            rows = np.flatnonzero(block.group == number)
            free[rows] = rights.readable_on_axis(low[rows], high[rows], block.base)
    return free


def current_units(block: Block, hits: Hits) -> BoolArray:
    """Which units are of a version that counts on the question's date; True beyond the end of a row."""
    if bool(block.current.all()):
        return np.ones(hits.document.shape, dtype=np.bool_)
    counts: BoolArray = block.current[block.group[:, None], np.maximum(hits.document, 0)] | (hits.document < 0)
    return counts


def checked_expansion(before: Hits, widened: Hits, sizes: IntArray) -> Hits:
    """`widened` if it can be a list of units made from `before`; `sizes` are the documents' bytes.

    Raises `StageError` for units outside their document, empty ones, and an `into` that does not belong to `before`.
    """
    valid = widened.valid
    documents = widened.document[valid]
    if documents.size and not 0 <= int(documents.min()) <= int(documents.max()) < sizes.size:
        raise StageError("expansion: a unit of a document that is not in the corpus")
    start, end = widened.start[valid], widened.end[valid]
    if bool(np.any((start < 0) | (start >= end) | (end > sizes[documents]))):
        raise StageError("expansion: a unit that is empty or reaches beyond its document")
    if widened.into is not None:
        beyond = widened.into >= widened.count[:, None]
        if widened.into.shape != before.document.shape or bool(np.any(beyond & before.valid)):
            raise StageError("expansion: `into` does not say where the units of the list before went")
    return widened


@dataclass(frozen=True)
class Authorised:
    """The list after the second check. `refused` counts units that were denied per question, `fallbacks` those of them
    that were replaced by readable hits they came from."""

    hits: Hits
    refused: IntArray
    fallbacks: IntArray


def authorise(block: Block, chunks: CorpusChunks, before: Hits, widened: Hits) -> Authorised:
    """Check every unit for its reader's labels (ranges too), its hit's version and the question's date.

    A unit its reader may not see whole is denied. Where an expansion made it, the hits it came from take its place, as
    far as they pass the same check; else it is dropped.
    """
    allowed = readable_units(block, widened) & current_units(block, widened)
    hit = np.maximum(widened.chunk, 0)
    if len(chunks):
        # An expansion may widen a hit within its version, never lead to another one.
        allowed &= (widened.document < 0) | (chunks.document[hit] == widened.document)
    denied = widened.valid & ~allowed
    refused = np.count_nonzero(denied, axis=1).astype(np.int64)
    fallbacks = np.zeros_like(refused)
    if not bool(refused.any()):
        return Authorised(widened, refused, fallbacks)
    if widened is before:
        return Authorised(kept_only(widened, allowed, "authorisation"), refused, fallbacks)
    return _fall_back(block, chunks, before, widened, denied, refused)


def _fall_back(
    block: Block, chunks: CorpusChunks, before: Hits, widened: Hits, denied: BoolArray, refused: IntArray
) -> Authorised:
    """Put the hits of denied units in their place. Rows without a denial keep their columns."""
    rows, columns = np.nonzero(denied)
    wide_chunk: list[int] = []
    wide_rank: list[int] = []
    places: list[tuple[int, int, int]] = []
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        if widened.into is None:
            sources = [column]
        else:
            sources = np.flatnonzero((widened.into[row] == column) & before.valid[row]).tolist()
        found = [(int(before.rank[row, i]), int(before.chunk[row, i])) for i in sources]
        for rank, chunk in sorted(found or [(int(widened.rank[row, column]), int(widened.chunk[row, column]))]):
            places.append((row, column, len(wide_chunk)))
            wide_chunk.append(chunk)
            wide_rank.append(rank)
    owner = np.array([row for row, _, _ in places], dtype=np.int64)
    single = hits_again(
        np.array(wide_chunk, dtype=np.int64).reshape(-1, 1), np.array(wide_rank, dtype=np.int64).reshape(-1, 1), chunks
    )
    low, high = single.axis(block.base)
    passes = np.zeros(owner.size, dtype=np.bool_)
    for number, rights in enumerate(block.rights):
        mine = np.flatnonzero(block.group[owner] == number)
        free = rights.readable_on_axis(low[mine, 0], high[mine, 0], block.base)
        passes[mine] = free & block.current[number][single.document[mine, 0]]
    substitutes: dict[tuple[int, int], list[int]] = {}
    for (row, column, number), good in zip(places, passes.tolist(), strict=True):
        if good:
            substitutes.setdefault((row, column), []).append(number)
    fallbacks = np.zeros_like(refused)
    made: list[list[tuple[int, int]]] = []  # per question: (1, column of widened) or (0, number of a substitute)
    for row, size in enumerate(widened.count.tolist()):
        line: list[tuple[int, int]] = []
        for column in range(size):
            if not denied[row, column]:
                line.append((1, column))
            elif (row, column) in substitutes:
                fallbacks[row] += 1
                line += [(0, number) for number in substitutes[row, column]]
        made.append(line)
    return Authorised(_assembled(widened, single, made), refused, fallbacks)


def _assembled(widened: Hits, single: Hits, made: list[list[tuple[int, int]]]) -> Hits:
    count = np.array([len(line) for line in made], dtype=np.int64)
    shape = (len(made), max(1, int(count.max(initial=0))))
    columns = {
        name: np.full(shape, -1 if name in {"document", "chunk"} else 0, dtype=np.int64)
        for name in ("document", "start", "end", "token_start", "token_end", "rank", "chunk")
    }
    into = np.full(widened.document.shape, -1, dtype=np.int64)
    for row, line in enumerate(made):
        for place, (kept, number) in enumerate(line):
            if kept:
                into[row, number] = place
            for name, values in columns.items():
                given = getattr(widened, name)[row, number] if kept else getattr(single, name)[number, 0]
                values[row, place] = given
    return Hits(count=count, into=into, **columns)


def deduplicated(hits: Hits, base: IntArray) -> Hits:
    """Units with identical intervals of one version become one, at the place and rank of the first.

    Equal text in another version or place is another interval and is never merged.
    """
    rows, columns, low, high = _flat(hits, base)
    order = np.lexsort((columns, high, low, rows))
    rows, columns, low, high = rows[order], columns[order], low[order], high[order]
    fresh = np.ones(rows.size, dtype=np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]) | (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return _joined(hits, rows, columns, fresh)


def overlaps_merged(hits: Hits, base: IntArray) -> Hits:
    """Units of one version that share bytes become one, over all of them, at the place and rank of the first.

    Units that only touch stay two. The union of readable units is readable, so no check has to be repeated.
    """
    rows, columns, low, high = _flat(hits, base)
    order = np.lexsort((columns, low, rows))
    rows, columns, low, high = rows[order], columns[order], low[order], high[order]
    if not rows.size:
        return hits
    # One axis for all questions, so that a single running maximum serves every row.
    step = int(high.max()) + 1
    reach = np.maximum.accumulate(rows * step + high)
    fresh = np.ones(rows.size, dtype=np.bool_)
    fresh[1:] = rows[1:] * step + low[1:] >= reach[:-1]
    return _joined(hits, rows, columns, fresh)


def first_different(hits: Hits, k: int, base: IntArray) -> Hits:
    """The longest list of first units that holds at most `k` different intervals."""
    rows, columns, low, high = _flat(hits, base)
    order = np.lexsort((columns, high, low, rows))
    new = np.ones(rows.size, dtype=np.int64)
    r, lo, hi = rows[order], low[order], high[order]
    new[1:] = (r[1:] != r[:-1]) | (lo[1:] != lo[:-1]) | (hi[1:] != hi[:-1])
    seen = np.zeros(hits.document.shape, dtype=np.int64)
    seen[r, columns[order]] = new
    return kept_only(hits, np.cumsum(seen, axis=1) <= k, "top k")


def _flat(hits: Hits, base: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Row, column, begin and end on the axis of every unit."""
    rows, columns = np.nonzero(hits.valid)
    low, high = hits.axis(base)
    return rows.astype(np.int64), columns.astype(np.int64), low[rows, columns], high[rows, columns]


def _joined(hits: Hits, rows: IntArray, columns: IntArray, fresh: BoolArray) -> Hits:
    """One unit per group of consecutive entries; `fresh` marks where groups begin."""
    if bool(fresh.all()):
        return hits
    begins = np.flatnonzero(fresh)
    group = np.cumsum(fresh) - 1
    lead = np.minimum.reduceat(columns, begins)  # the first unit of each group in rank order
    row = rows[begins]
    keep = np.zeros(hits.document.shape, dtype=np.bool_)
    keep[row, lead] = True
    kept = arranged(hits, left_packed(keep), "merging")
    # Rank order is kept, so a group's place is how many leads stand at or before its own.
    place = np.cumsum(keep, axis=1)[row, lead] - 1
    into = np.full(hits.document.shape, -1, dtype=np.int64)
    into[rows, columns] = place[group]
    start, end, token_start, token_end = (
        column.copy() for column in (kept.start, kept.end, kept.token_start, kept.token_end)
    )
    start[row, place] = np.minimum.reduceat(hits.start[rows, columns], begins)
    end[row, place] = np.maximum.reduceat(hits.end[rows, columns], begins)
    token_start[row, place] = np.minimum.reduceat(hits.token_start[rows, columns], begins)
    token_end[row, place] = np.maximum.reduceat(hits.token_end[rows, columns], begins)
    # After a reranking the first unit of a group need not be the one with the retriever's best rank.
    best = np.minimum.reduceat((hits.rank[rows, columns] << _CHUNK_BITS) + hits.chunk[rows, columns] + 1, begins)
    rank, chunk = kept.rank.copy(), kept.chunk.copy()
    rank[row, place] = best >> _CHUNK_BITS
    chunk[row, place] = (best & ((1 << _CHUNK_BITS) - 1)) - 1
    return Hits(kept.count, kept.document, start, end, token_start, token_end, rank, chunk, into)

"""Reads one question back out of a block's records: ranked hits, packed units and what was refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from evaluation.domain.boundary import recorded_chunks
from evaluation.domain.packed import BEYOND_K, refusals


@dataclass(frozen=True)
class RecordedHit:
    """A ranked chunk: `document` is an index into the boundary record, `score` in units of 1e-6."""

    rank: int
    document: int
    start: int
    end: int
    score: int


@dataclass(frozen=True)
class RecordedUnit:
    """A unit in the prompt, numbered from 1 in prompt order; `rank` is that of the best hit it came from."""

    number: int
    document: int
    start: int
    end: int
    rank: int


class RecordedChunks:
    """The chunks of a boundary record by their number through all documents."""

    def __init__(self, boundary: Mapping[str, Any]) -> None:
        tables = [recorded_chunks(entry) for entry in boundary["documents"]]
        self._first = np.array([0, *accumulate(starts.size for starts, _ in tables)], dtype=np.int64)
        self._tables = tables

    def place(self, chunk: int) -> tuple[int, int, int]:
        """Document, first and last byte of a chunk."""
        document = int(np.searchsorted(self._first, chunk, side="right")) - 1
        starts, ends = self._tables[document]
        at = chunk - int(self._first[document])
        return document, int(starts[at]), int(ends[at])


def recorded_hits(chunks: RecordedChunks, retrieval: Mapping[str, Any], index: int) -> tuple[RecordedHit, ...]:
    """The first hits of the block's question `index`, as many as the record keeps."""
    begin, end = _slice([min(n, retrieval["recorded"]) for n in retrieval["count"]], index)
    falls = retrieval["scores"][begin:end]
    scores = accumulate(falls, lambda score, fall: score - fall)
    return tuple(
        RecordedHit(rank, *chunks.place(chunk), score)
        for rank, (chunk, score) in enumerate(zip(retrieval["hits"][begin:end], scores, strict=True), 1)
    )


def budget_view(budget: Mapping[str, Any], view: str) -> Mapping[str, Any]:
    """The part of a budget record that is about one view, shared columns filled in. Raises KeyError without it."""
    for row in budget["views"]:
        if row["view"] == view:
            shared = {
                name: budget["views"][row[name]][name] for name in ("listed", "ended") if isinstance(row[name], int)
            }
            return {**row, **shared}
    raise KeyError(view)


def recorded_units(
    chunks: RecordedChunks, retrieval: Mapping[str, Any], view: Mapping[str, Any], index: int
) -> tuple[RecordedUnit, ...]:
    """The packed units of the block's question `index` in one view."""
    begin, end = _slice(view["units"], index)
    ranks = view["ranks"][begin:end]
    if view["plain"]:
        kept, _ = _slice([min(n, retrieval["recorded"]) for n in retrieval["count"]], index)
        deeper = sum(rank > retrieval["recorded"] for rank in view["ranks"][:begin])
        places = []
        for rank in ranks:
            if rank <= retrieval["recorded"]:
                places.append(chunks.place(retrieval["hits"][kept + rank - 1]))
            else:
                places.append(chunks.place(view["deeper"][deeper]))
                deeper += 1
    else:
        flat = view["intervals"][3 * begin : 3 * end]
        places = [(flat[i], flat[i + 1], flat[i + 2]) for i in range(0, len(flat), 3)]
    shortened = {question: cut_end for question, cut_end, _ in view["cut"]}
    if index in shortened and places:
        document, start, _ = places[-1]
        places[-1] = (document, start, shortened[index])
    return tuple(
        RecordedUnit(number, *place, rank) for number, (place, rank) in enumerate(zip(places, ranks, strict=True), 1)
    )


def recorded_refusals(retrieval: Mapping[str, Any], view: Mapping[str, Any], index: int) -> dict[int, str]:
    """Rank → reason of what did not get into the prompt of the block's question `index`, in one view."""
    begin, end = _slice(view["units"], index)
    listed = view["listed"][index]
    if view["plain"]:
        listing = range(1, listed + 1)
        columns = [rank - 1 for rank in view["ranks"][begin:end]]
    else:
        first, last = _slice(view["listed"], index)
        listing = view["listing"][first:last]
        columns = view["columns"][begin:end]
    reasons = refusals(
        listed,
        set(columns),
        view["ended"][index],
        cut=any(question == index for question, _, _ in view["cut"]),
        by_count=not view["ceiling"],
        taken_back={column for question, column in view["taken_back"] if question == index},
    )
    found = {listing[column]: reason for column, reason in reasons.items()}
    if view["plain"] and not view["ceiling"]:
        # The list was cut at k before it reached the packer.
        found |= dict.fromkeys(range(listed + 1, retrieval["count"][index] + 1), BEYOND_K)
    return found


def _slice(counts: list[int], index: int) -> tuple[int, int]:
    begin = sum(counts[:index])
    return begin, begin + counts[index]

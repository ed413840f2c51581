"""Hits of a build as the engine hands them to recovery, and back as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evaluation.domain.hits import Hits
from evaluation.domain.pipeline import IndexBuild


class Row(NamedTuple):
    """One entry of a list of hits."""

    document: int
    start: int
    end: int
    token_start: int
    token_end: int
    rank: int
    chunk: int


def hits_of(build: IndexBuild, lists: Sequence[Sequence[int]], ranks: Sequence[Sequence[int]] | None = None) -> Hits:
    """Padded hits of each question's chunks, best first; `ranks` (default 1, 2, …) as after a reranking."""
    depth = max((len(one) for one in lists), default=0)
    chunk = np.full((len(lists), depth), -1, dtype=np.int64)
    rank = np.zeros_like(chunk)
    for i, one in enumerate(lists):
        chunk[i, : len(one)] = one
        rank[i, : len(one)] = ranks[i] if ranks is not None else range(1, len(one) + 1)
    chunks = build.chunks
    valid = chunk >= 0

    def column(name: str, empty: int) -> np.ndarray:
        return np.where(valid, getattr(chunks, name)[chunk], empty)

    return Hits(
        count=valid.sum(axis=1),
        document=column("document", -1),
        start=column("start", 0),
        end=column("end", 0),
        token_start=column("token_start", 0),
        token_end=column("token_end", 0),
        rank=rank,
        chunk=chunk,
    )


def as_rows(hits: Hits) -> list[list[Row]]:
    """The entries that count, question by question; what lies beyond must be empty."""
    found = []
    names = Row._fields
    for i, count in enumerate(hits.count.tolist()):
        found.append([Row(*(int(getattr(hits, name)[i, r]) for name in names)) for r in range(count)])
        for name in names:
            beyond = getattr(hits, name)[i, count:]
            assert (beyond == (-1 if name in {"document", "chunk"} else 0)).all(), (name, beyond)
    return found

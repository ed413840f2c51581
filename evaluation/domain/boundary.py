"""Cuts and chunks of an index build as a record keeps them: differences instead of offsets, and how to read them back.

Neighbouring offsets differ by nearly the same amount, so their differences take a third of the room once deflated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.domain.chunks import ChunkTable, CorpusChunks
from evaluation.domain.pipeline import Payload, PreparedCorpus
from evaluation.domain.tokens import IntArray


def boundary_documents(prepared: PreparedCorpus, chunks: CorpusChunks) -> list[Payload]:
    """One entry per document, in corpus order.

    `cut_tokens`, `cuts` (bytes, as realised) and `starts` (chunks) hold the first value and then the steps to the next;
    `lengths` are the chunks' bytes; `lineage` has (chunk, start, end) of the text a chunk inherits, such as its table's
    header rows.
    """
    return [
        {
            "document": doc.document_id,
            "version": doc.digest,
            "bytes": len(doc.content),
            "tokens": text.n,
            "cut_tokens": _steps(table.cut_tokens),
            "cuts": _steps(table.cut_bytes),
            "empty_cores": table.empty_cores.tolist(),
            "dropped_tails": table.dropped_tails,
            "remarks": {name: int(count) for name, count in sorted(table.remarks.items())},
            "lineage": _lineage(table),
            "uncovered": [] if table.uncovered is None else table.uncovered.tolist(),
            "starts": _steps(table.starts),
            "lengths": (table.end - table.starts).tolist(),
        }
        for doc, text, table in zip(prepared.documents, prepared.tokenized, chunks.tables, strict=True)
    ]


def recorded_cuts(entry: Mapping[str, Any]) -> IntArray:
    """Interior cuts of a document in bytes."""
    return _offsets(entry["cuts"])


def recorded_chunks(entry: Mapping[str, Any]) -> tuple[IntArray, IntArray]:
    """First and last byte of every chunk of a document."""
    starts = _offsets(entry["starts"])
    return starts, starts + np.array(entry["lengths"], dtype=np.int64)


def _lineage(table: ChunkTable) -> list[list[int]]:
    if table.lineage is None:
        return []
    heirs = np.flatnonzero(table.lineage[:, 0] >= 0)
    rows: list[list[int]] = np.column_stack((heirs, table.lineage[heirs])).tolist()
    return rows


def _steps(offsets: IntArray) -> list[int]:
    steps: list[int] = np.diff(offsets, prepend=0).tolist()
    return steps


def _offsets(steps: npt.ArrayLike) -> IntArray:
    offsets: IntArray = np.cumsum(np.asarray(steps, dtype=np.int64))
    return offsets

"""A block of questions on its way through the pipeline: ranked units as padded arrays, never a row per hit.

Shape (questions, depth): entry (q, r) counts when r < count[q]. Beyond, `document` and `chunk` are −1 and everything
else 0. Every stage turns one such list into the next; `into` says where each entry of the list before went, so that
the lineage of any unit can be read back to the hits of retrieval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.domain.tokens import IntArray

type BoolArray = npt.NDArray[np.bool_]


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

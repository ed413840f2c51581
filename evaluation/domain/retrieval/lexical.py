"""BM25 as a retriever for whole blocks of questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evaluation.domain.bm25 import Bm25, query_terms, score
from evaluation.domain.hits import Ranked
from evaluation.domain.retrieval.selection import select
from evaluation.domain.stage_protocols import Queries
from evaluation.domain.tokens import IntArray

if TYPE_CHECKING:
    from evaluation.domain.pipeline import IndexBuild, PreparedCorpus


@dataclass(frozen=True)
class Bm25Retriever:
    """Exact BM25 of `evaluation.domain.bm25`; chunks with a score above zero are candidates."""

    model: Bm25

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "bm25"

    @property
    def version(self) -> str:
        """Changes whenever equal input would give another list."""
        return "1"

    @property
    def deterministic(self) -> bool:
        """Equal input always gives equal ranks."""
        return True

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values, score precision included."""
        return {
            "retriever": self.name,
            "version": self.version,
            "k1": repr(self.model.k1),
            "b": repr(self.model.b),
            "score": "units of 1e-6, quantised before ranking",
        }

    def index(self, prepared: PreparedCorpus, build: IndexBuild) -> Bm25Index:
        """Index the chunks of `build`."""
        return Bm25Index(self.model, prepared, build)


@dataclass(frozen=True)
class Bm25Index:
    """One build under one model."""

    model: Bm25
    prepared: PreparedCorpus
    build: IndexBuild

    def search(self, queries: Queries, depth: int) -> Ranked:
        """The first `depth` chunks of each question under its mask; ties by source, then start."""
        table = self.prepared.words
        chunks = len(self.build.chunks)
        found = score(self.model, table, self.build.words, query_terms(queries.texts, self.prepared.analyser, table))

        def dense(rows: slice) -> IntArray:
            block = np.zeros((rows.stop - rows.start, chunks), dtype=np.int64)
            for row, (where, scores) in enumerate(found[rows]):
                block[row, where] = scores
            return block

        return select(queries, depth, chunks, dense)

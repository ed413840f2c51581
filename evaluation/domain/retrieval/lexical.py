"""BM25 as a retriever for whole blocks of questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evaluation.domain.bm25 import BlockScores, Bm25, QueryTerms, query_terms
from evaluation.domain.hits import Ranked
from evaluation.domain.retrieval.selection import select
from evaluation.domain.stage_protocols import Queries

if TYPE_CHECKING:
    from evaluation.domain.pipeline import IndexBuild, PreparedCorpus


#: Blocks of questions whose terms and places are remembered per corpus, the oldest forgotten first.
REMEMBERED_BLOCKS = 8


def block_terms(prepared: PreparedCorpus, texts: tuple[str, ...]) -> QueryTerms:
    """Terms of a block of questions and where they stand; gathered once per corpus, not once per build."""
    remembered = prepared.words.query_blocks
    found = remembered.pop(texts, None) or query_terms(texts, prepared.analyser, prepared.words)
    remembered[texts] = found
    while len(remembered) > REMEMBERED_BLOCKS:
        remembered.pop(next(iter(remembered)), None)
    return found


@dataclass(frozen=True)
class Bm25Retriever:
    """Exact BM25 of `evaluation.domain.bm25`; chunks with a score above zero are candidates."""

    name: ClassVar[str] = "bm25"
    """Name in the registry."""
    version: ClassVar[str] = "1"
    """Changes whenever equal input would give another list."""
    deterministic: ClassVar[bool] = True
    """Equal input always gives equal ranks."""

    model: Bm25

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
        terms = block_terms(self.prepared, queries.texts)
        scores = BlockScores(self.model, table, self.build.words, terms)
        return select(queries, depth, len(self.build.chunks), scores)

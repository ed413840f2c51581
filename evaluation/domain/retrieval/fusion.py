"""Hybrid retrieval: reciprocal rank fusion of named retrievers (Cormack, Clarke and Büttcher, SIGIR 2009).

A chunk's fused score is Σ 1 / (k + rank) over the lists that hold it. Each input gives a list as deep as the fused one
is asked for. Fused scores are compared as integers over one common denominator, so two chunks tie exactly when their
sums are equal fractions, whatever the order of the inputs; ties break by source, then start. The score recorded is the
sum in units of 1e-12, rounded down.

`denied`, `outdated` and `foreign` are the largest counts among the inputs: a chunk kept out of several lists is one
chunk, and which ones they are the lists do not say. If one input fails for a question, the question fails, named by
that input: a list fused from what is left would be another retriever's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import lcm
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evaluation.domain.hits import Ranked
from evaluation.domain.stage_protocols import MayBreak, Queries, RetrievalIndex, Retriever

if TYPE_CHECKING:
    from evaluation.domain.pipeline import IndexBuild, PreparedCorpus

#: Fused scores are recorded in units of 1e-12: those of long lists differ by less than 1e-6.
UNIT = 10**12

#: Largest constant, as the plan has it: beyond it rank 1 and rank 2 differ by less than 0.1 %.
LARGEST_RRF_K = 1_000


class FusionConfigError(ValueError):
    """Inputs or a constant that give no fusion."""


@dataclass(frozen=True)
class HybridRetriever:
    """Fuses the lists of `inputs`, at least two, with the constant `rrf_k`, 1 to `LARGEST_RRF_K`."""

    name: ClassVar[str] = "hybrid"
    """Name in the registry."""
    version: ClassVar[str] = "1"
    """Changes whenever equal input would give another list."""

    inputs: tuple[Retriever, ...]
    rrf_k: int = 60

    def __post_init__(self) -> None:
        if isinstance(self.rrf_k, bool) or not isinstance(self.rrf_k, int) or not 1 <= self.rrf_k <= LARGEST_RRF_K:
            raise FusionConfigError(
                f"hybrid: rrf_k must be a whole number from 1 to {LARGEST_RRF_K}, got {self.rrf_k!r}; above that a "
                "rank moves a score by less than a thousandth, and the fusion counts lists instead of reading ranks"
            )
        names = [one.name for one in self.inputs]
        if len(names) < 2 or len(set(names)) < len(names):
            raise FusionConfigError(f"hybrid: fuse at least two different retrievers, got {names}")

    @property
    def deterministic(self) -> bool:
        """Whether all inputs are."""
        return all(one.deterministic for one in self.inputs)

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values; each input's own under its name."""
        described: dict[str, str | int] = {
            "retriever": self.name,
            "version": self.version,
            "fusion": "reciprocal rank",
            "rrf_k": self.rrf_k,
            "fuse": " ".join(one.name for one in self.inputs),
            "score": "sum of 1 / (rrf_k + rank), compared exactly, recorded in units of 1e-12",
        }
        for one in self.inputs:
            described |= {f"{one.name}.{key}": value for key, value in one.describe().items()}
        return described

    def index(self, prepared: PreparedCorpus, build: IndexBuild) -> HybridIndex:
        """Index the chunks of `build` with every input."""
        indexes = tuple(one.index(prepared, build) for one in self.inputs)
        return HybridIndex(tuple(one.name for one in self.inputs), indexes, self.rrf_k, len(build.chunks))


@dataclass(frozen=True)
class HybridIndex:
    """The inputs' indexes of one build."""

    names: tuple[str, ...]
    indexes: tuple[RetrievalIndex, ...]
    rrf_k: int
    chunks: int

    @property
    def broken(self) -> str:
        """Why an input has no index, with its name; "" where all have one."""
        indexes = zip(self.names, self.indexes, strict=True)
        return next((f"{name}: {one.broken}" for name, one in indexes if isinstance(one, MayBreak) and one.broken), "")

    def search(self, queries: Queries, depth: int) -> Ranked:
        """The first `depth` chunks of each question under its mask; ties by source, then start."""
        lists = [index.search(queries, depth) for index in self.indexes]
        width = min(depth, self.chunks)
        parts, whole = _reciprocals(self.rrf_k, width)
        total = len(queries.texts)
        chunk = np.full((total, width), -1, dtype=np.int64)
        score = np.zeros((total, width), dtype=np.int64)
        count, candidates = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
        failed = self._failures(lists, total)
        for q in range(total):
            if failed[q]:
                continue
            fused: dict[int, int] = {}
            for one in lists:
                for place, found in enumerate(one.chunk[q, : one.count[q]].tolist()):
                    fused[found] = fused.get(found, 0) + parts[place]
            best = sorted(fused.items(), key=lambda item: (-item[1], item[0]))[:width]
            count[q], candidates[q] = len(best), len(fused)
            chunk[q, : len(best)] = [found for found, _ in best]
            score[q, : len(best)] = [sum_ * UNIT // whole for _, sum_ in best]
        denied, outdated, foreign = (
            np.max([getattr(one, name) for one in lists], axis=0) for name in ("denied", "outdated", "foreign")
        )
        return Ranked(chunk, score, count, candidates, denied, outdated, foreign, failed)

    def _failures(self, lists: Sequence[Ranked], total: int) -> tuple[str, ...]:
        """The first input's failure of each question, with its name."""
        return tuple(
            next((f"{name}: {one.failed[q]}" for name, one in zip(self.names, lists, strict=True) if one.failed[q]), "")
            for q in range(total)
        )


@cache
def _reciprocals(rrf_k: int, width: int) -> tuple[tuple[int, ...], int]:
    """Numerators of 1 / (rrf_k + rank), rank 1…width, over their common denominator, and that denominator."""
    whole = lcm(*range(rrf_k + 1, rrf_k + width + 1))
    return tuple(whole // (rrf_k + rank) for rank in range(1, width + 1)), whole

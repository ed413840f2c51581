"""The stages a plan can exchange, as the engine calls them: retriever, reranker, expansion. All work on whole blocks.

None of them decides who may read what. Masks come from the engine, and whatever an expansion returns is checked again
for the reader's labels, the version and the date before anyone sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from evaluation.domain.hits import BoolArray, Hits, Ranked
from evaluation.domain.registered import Registered
from evaluation.domain.tokens import IntArray

if TYPE_CHECKING:
    from evaluation.domain.pipeline import IndexBuild, PreparedCorpus


@dataclass(frozen=True)
class ReaderMask:
    """What one kind of reader may use of an index, per chunk; `allowed` is what the plan's filters let through.

    A filter the plan switched off leaves its mask computed (denials are counted) and out of `allowed`.
    """

    readable: BoolArray
    current: BoolArray
    local: BoolArray
    allowed: BoolArray


@dataclass(frozen=True)
class Queries:
    """A block of questions as a retriever sees it. `masks[group[q]]` belongs to question q.

    `labels` and `as_of` (ISO date) and `locale` are there for systems that filter for themselves.
    """

    texts: tuple[str, ...]
    group: IntArray
    masks: tuple[ReaderMask, ...]
    labels: tuple[tuple[str, ...], ...]
    as_of: tuple[str, ...]
    locale: tuple[str, ...]
    question_ids: tuple[str, ...]


class RetrievalIndex(Protocol):
    """One retriever's index of one build; kept with the build and asked by every block."""

    def search(self, queries: Queries, depth: int) -> Ranked:
        """The first `depth` chunks of each question under its mask; ties by source, then start."""


@runtime_checkable
class MayBreak(Protocol):
    """An index made elsewhere, which may not have come about: every question asked of it fails with the reason."""

    @property
    def broken(self) -> str:
        """Why there is no index, "" where there is one."""


class Retriever(Registered, Protocol):
    """Indexes a build. `top_k_unit` says what its k counts."""

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values, score precision included."""

    def index(self, prepared: PreparedCorpus, build: IndexBuild) -> RetrievalIndex:
        """Index the chunks of `build`."""


class Reranker(Protocol):
    """Orders the hits of each question anew."""

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""

    def rerank(
        self, texts: Sequence[str], hits: Hits, scores: IntArray, prepared: PreparedCorpus, build: IndexBuild
    ) -> IntArray:
        """Columns of `hits` in their new order, shape (questions, depth), each at most once, −1 beyond the end.

        `scores` are the retriever's, by rank: `scores[q, r − 1]` belongs to the hit of rank r.
        """


class Expansion(Protocol):
    """Replaces hits by wider units of the same version."""

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""

    def expand(self, hits: Hits, prepared: PreparedCorpus, build: IndexBuild) -> Hits:
        """Units in rank order with `into` filled; several hits may go into one unit (auto-merging)."""

"""Chunks as arithmetic on token offsets, held as arrays; no chunk text is ever copied or searched for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from evaluation.domain.frozen import Document
from evaluation.domain.tokens import IntArray, TokenizedText

#: What a segmenter without phases says of itself: one observation however often it is shown.
UNSHIFTED_CONTROL = "unshifted control"


@dataclass(frozen=True)
class ChunkTable:
    """Chunks of one document in source order; every array has one entry per chunk unless said otherwise.

    `core_start`, `core_end`, `end` are byte offsets (a chunk is `[start, end)`, where `start` is `core_start` unless a
    segmenter overlaps backwards, and never decreases); `token_start`, `token_core_end`, `token_end` the token indices
    they came from. `cut_tokens` and `cut_bytes` list every interior cut as realised (after moving back to a code
    point); `empty_cores` the cores, by index, that snapped to nothing and yielded no chunk; `dropped_tails` how many
    contained tails a declared rule removed. `remarks` counts what a segmenter has to say, such as oversized sentences
    it split; `lineage` gives, per chunk, the byte interval whose text the chunk inherits (a table's header rows), −1
    where none: shape (chunks, 2). `uncovered` are the bytes in no chunk that the segmenter declares and a preflight
    therefore accepts (white space between foreign chunks, other text where the plan only reports it): shape (gaps, 2).
    """

    core_start: IntArray
    core_end: IntArray
    end: IntArray
    token_start: IntArray
    token_core_end: IntArray
    token_end: IntArray
    cut_tokens: IntArray
    cut_bytes: IntArray
    empty_cores: IntArray
    dropped_tails: int = 0
    start: IntArray | None = None
    remarks: Mapping[str, int] = field(default_factory=dict)
    lineage: IntArray | None = None
    uncovered: IntArray | None = None

    @property
    def starts(self) -> IntArray:
        """First byte of each chunk."""
        return self.core_start if self.start is None else self.start

    def __len__(self) -> int:
        return int(self.core_start.size)

    @property
    def tokens(self) -> IntArray:
        """Number of tokens in each chunk."""
        return self.token_end - self.token_start


@dataclass(frozen=True)
class CorpusChunks:
    """The chunks of a whole corpus, document after document in corpus order; `document` is each chunk's document index.

    `start`, `end`, `core_end` are byte offsets in the document; `base` (one per document) places documents one after
    the other so that `start + base[document]` increases strictly over the corpus. `token_start`, `token_end` are the
    tokens with a byte in the chunk (`TokenizedText.spanning`): equal intervals count alike, whichever segmenter, dump
    or expansion they come from. In a table's own token indices, its segmenter's arithmetic, a token on a boundary
    belongs to one side.
    """

    document: IntArray
    start: IntArray
    core_end: IntArray
    end: IntArray
    token_start: IntArray
    token_end: IntArray
    first: IntArray
    base: IntArray
    tables: tuple[ChunkTable, ...]

    def __len__(self) -> int:
        return int(self.start.size)

    @property
    def global_start(self) -> IntArray:
        """Start of each chunk on the corpus-wide byte axis; strictly increasing."""
        return self.start + self.base[self.document]

    @property
    def global_end(self) -> IntArray:
        """End of each chunk on the corpus-wide byte axis; never decreasing."""
        return self.end + self.base[self.document]


class ChunkingRefused(ValueError):
    """Chunks that cannot stand for their source; no retry mends it. The message says which, where and why."""


class Segmenter(Protocol):
    """Makes chunks. A segmenter without a meaningful shift declares `rule == UNSHIFTED_CONTROL` and a stride of 0."""

    @property
    def name(self) -> str:
        """Name in the registry."""

    @property
    def version(self) -> str:
        """Changes whenever the same configuration would give other chunks."""

    @property
    def stride(self) -> int:
        """Number of phases it has; 0 for an unshifted control."""

    @property
    def rule(self) -> str:
        """Its perturbation rule in words, for the manifest."""

    def describe(self) -> dict[str, str | int]:
        """Its configuration in canonical values, edge and tail policy included."""

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks of one document at `phase` (None only for an unshifted control)."""


@runtime_checkable
class ChecksCorpus(Protocol):
    """A segmenter whose chunks were made elsewhere, from documents that may not be those of the corpus."""

    def check(self, documents: Sequence[Document]) -> None:
        """Compare its documents with the corpus. Raises `ChunkingRefused` naming those missing, unknown or doubled."""


def join(tables: Sequence[ChunkTable], texts: Sequence[TokenizedText]) -> CorpusChunks:
    """Put the chunk tables of all documents on one axis, in the order given; `texts` are the documents' tokens."""
    counts = np.array([len(table) for table in tables], dtype=np.int64)
    sizes = [text.size for text in texts]
    spans = [text.spanning(table.starts, table.end) for table, text in zip(tables, texts, strict=True)]
    base = np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.int64))))[:-1] if sizes else np.zeros(0)

    def joined(columns: Sequence[IntArray]) -> IntArray:
        return np.concatenate(columns or [np.zeros(0, dtype=np.int64)])

    def column(name: str) -> IntArray:
        return joined([getattr(table, name) for table in tables])

    return CorpusChunks(
        document=np.repeat(np.arange(len(tables), dtype=np.int64), counts),
        start=column("starts"),
        core_end=column("core_end"),
        end=column("end"),
        token_start=joined([first for first, _ in spans]),
        token_end=joined([last for _, last in spans]),
        first=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        base=base.astype(np.int64),
        tables=tuple(tables),
    )

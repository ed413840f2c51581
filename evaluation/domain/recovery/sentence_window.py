"""Sentence window: a hit, its sentences made whole, and `reach` sentences more on each side.

Sentences are those of `annotate.domain.sentences`, the one rule of the tool. A hit that touches none (blanks between
two sentences) is widened from where it stands, by `reach` sentences on each side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotate.domain.sentences import sentences
from evaluation.domain.document_cache import DocumentCache
from evaluation.domain.hits import Hits
from evaluation.domain.pipeline import IndexBuild, PreparedCorpus
from evaluation.domain.recovery.configuration import whole_number
from evaluation.domain.recovery.widened import KEPT_BUILDS, Kept, Widened, widen
from evaluation.domain.tokens import IntArray, code_point_starts

_tables: Kept[Widened] = Kept(KEPT_BUILDS)
_bounds: DocumentCache[tuple[IntArray, IntArray]] = DocumentCache()


@dataclass(frozen=True)
class SentenceWindow:
    """Widens by sentences. Raises RecoveryConfigError for a reach below 1."""

    reach: int = 1

    def __post_init__(self) -> None:
        whole_number("sentence-window", "reach", self.reach, "sentences")

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            "expansion": "sentence-window",
            "version": "1",
            "reach": self.reach,
            "rule": "the sentences a hit touches, whole, and reach sentences more on each side, in its version",
        }

    def expand(self, hits: Hits, prepared: PreparedCorpus, build: IndexBuild) -> Hits:
        """Return each hit with its sentences and those around it."""
        return widen(hits, _tables.get((self, build.digest), lambda: self._table(prepared, build)))

    def _table(self, prepared: PreparedCorpus, build: IndexBuild) -> Widened:
        chunks = build.chunks
        start, end = chunks.start.copy(), chunks.end.copy()
        token_start, token_end = chunks.token_start.copy(), chunks.token_end.copy()
        for document, source in enumerate(prepared.documents):
            begins, ends = sentence_bounds(source.content)
            span = slice(int(chunks.first[document]), int(chunks.first[document + 1]))
            if begins.size == 0 or span.start == span.stop:
                continue
            # Half-open on both sides: a sentence that ends where the hit starts is not touched.
            first = np.searchsorted(ends, chunks.start[span], side="right") - self.reach
            last = np.searchsorted(begins, chunks.end[span], side="left") - 1 + self.reach
            start[span] = np.minimum(start[span], begins[np.clip(first, 0, begins.size - 1)])
            end[span] = np.maximum(end[span], ends[np.clip(last, 0, begins.size - 1)])
            before, after = prepared.tokenized[document].spanning(start[span], end[span])
            token_start[span] = np.minimum(token_start[span], before)
            token_end[span] = np.maximum(token_end[span], after)
        return Widened(start, end, token_start, token_end)


def sentence_bounds(content: bytes) -> tuple[IntArray, IntArray]:
    """Return where the sentences of UTF-8 `content` start and end, in bytes; both increase. Found once per source."""

    def make() -> tuple[IntArray, IntArray]:
        pairs = np.array(sentences(content.decode("utf-8")), dtype=np.int64).reshape(-1, 2)
        offsets = code_point_starts(content)
        return offsets[pairs[:, 0]], offsets[pairs[:, 1]]

    return _bounds.get(content, "", make)

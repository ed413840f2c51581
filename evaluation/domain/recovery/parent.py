"""Parent: a hit replaced by what it is part of: its section, a larger window, or its whole document.

Section: from the nearest heading (of whatever level) at or before the hit's first byte to the next one at or after its
last; a document without headings is one section (`domain.structure` reads them). Larger chunk: the window of at most
`parent_capacity` tokens whose edges are cuts of the build (see `windows`). Hits with one parent stay separate units
with equal intervals; merging them is deduplication, which is a stage of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.hits import Hits
from evaluation.domain.pipeline import IndexBuild, PreparedCorpus
from evaluation.domain.plan_words import ParentKind
from evaluation.domain.recovery.configuration import RecoveryConfigError, whole_number
from evaluation.domain.recovery.widened import KEPT_BUILDS, Kept, Widened, widen
from evaluation.domain.recovery.windows import windows
from evaluation.domain.structure import structure_of

_tables: Kept[Widened] = Kept(KEPT_BUILDS)

_RULES = {
    ParentKind.SECTION: "from the nearest heading at or before a hit to the next one at or after it, of whatever level",
    ParentKind.LARGER_CHUNK: "the run of chunks within parent_capacity tokens, cut where the build is cut",
    ParentKind.DOCUMENT: "the whole version",
}


@dataclass(frozen=True)
class Parent:
    """Widens to a parent of `kind`. `parent_capacity` (tokens) belongs to larger chunks alone, else it is 0.

    Raises RecoveryConfigError for a larger chunk without a capacity, and for a capacity nothing reads.
    """

    kind: ParentKind
    parent_capacity: int = 0

    def __post_init__(self) -> None:
        if self.kind is ParentKind.LARGER_CHUNK:
            whole_number("parent", "parent_capacity", self.parent_capacity, "tokens")
        elif self.parent_capacity:
            raise RecoveryConfigError(
                f'parent: recovery.parent_capacity is {self.parent_capacity}, but a parent "{self.kind}" has no '
                f'capacity; drop it, or use parent = "{ParentKind.LARGER_CHUNK}"'
            )

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            "expansion": "parent",
            "version": "1",
            "parent": str(self.kind),
            "parent_capacity": self.parent_capacity,
            "rule": f"{_RULES[self.kind]}, in its version",
        }

    def expand(self, hits: Hits, prepared: PreparedCorpus, build: IndexBuild) -> Hits:
        """Return each hit as its parent."""
        return widen(hits, _tables.get((self, build.digest), lambda: self._table(prepared, build)))

    def _table(self, prepared: PreparedCorpus, build: IndexBuild) -> Widened:
        if self.kind is ParentKind.LARGER_CHUNK:
            return windows(build.chunks, self.parent_capacity).of_each_chunk()
        return _documents(prepared, build) if self.kind is ParentKind.DOCUMENT else _sections(prepared, build)


def _documents(prepared: PreparedCorpus, build: IndexBuild) -> Widened:
    of = build.chunks.document
    sizes = np.array([len(document.content) for document in prepared.documents], dtype=np.int64)
    tokens = np.array([text.n for text in prepared.tokenized], dtype=np.int64)
    nothing = np.zeros(of.size, dtype=np.int64)
    return Widened(nothing, sizes[of], nothing, tokens[of])


def _sections(prepared: PreparedCorpus, build: IndexBuild) -> Widened:
    chunks = build.chunks
    start, end = chunks.start.copy(), chunks.end.copy()
    token_start, token_end = chunks.token_start.copy(), chunks.token_end.copy()
    for document, source in enumerate(prepared.documents):
        begins = structure_of(source).section_starts
        span = slice(int(chunks.first[document]), int(chunks.first[document + 1]))
        text = prepared.tokenized[document]
        edges = np.append(begins, text.size)
        start[span] = begins[np.searchsorted(begins, chunks.start[span], side="right") - 1]
        end[span] = edges[np.searchsorted(edges, chunks.end[span], side="left")]
        before, after = text.spanning(start[span], end[span])
        token_start[span] = np.minimum(token_start[span], before)
        token_end[span] = np.maximum(token_end[span], after)
    return Widened(start, end, token_start, token_end)

"""Neighbours: a hit with the `reach` chunks before and after it in its document, as one contiguous interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.hits import Hits
from evaluation.domain.pipeline import IndexBuild, PreparedCorpus
from evaluation.domain.recovery.configuration import whole_number
from evaluation.domain.recovery.widened import KEPT_BUILDS, Kept, Widened, widen

_tables: Kept[Widened] = Kept(KEPT_BUILDS)


@dataclass(frozen=True)
class Neighbours:
    """Widens by chunks of the same build. Raises RecoveryConfigError for a reach below 1."""

    reach: int = 1

    def __post_init__(self) -> None:
        whole_number("neighbours", "reach", self.reach, "chunks")

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            "expansion": "neighbours",
            "version": "1",
            "reach": self.reach,
            "rule": "from the first byte of the chunk reach before to the last byte of the chunk reach after, "
            "in its version",
        }

    def expand(self, hits: Hits, prepared: PreparedCorpus, build: IndexBuild) -> Hits:
        """Return each hit with the chunks around it."""
        return widen(hits, _tables.get((self, build.digest), lambda: around(build.chunks, self.reach)))


def around(chunks: CorpusChunks, reach: int) -> Widened:
    """Return each chunk widened by up to `reach` chunks on each side, never beyond its document.

    Every chunk on the way counts, not the outermost two alone: where a foreign splitter nests chunks, the interval
    still holds them all.
    """
    start, end = chunks.start.copy(), chunks.end.copy()
    token_start, token_end = chunks.token_start.copy(), chunks.token_end.copy()
    longest = int(np.max(np.diff(chunks.first), initial=1)) - 1
    for step in range(1, min(reach, longest) + 1):
        together = chunks.document[step:] == chunks.document[:-step]
        left, right = np.flatnonzero(together), np.flatnonzero(together) + step
        for lower, values in ((start, chunks.start), (token_start, chunks.token_start)):
            lower[right] = np.minimum(lower[right], values[left])
            lower[left] = np.minimum(lower[left], values[right])
        for upper, values in ((end, chunks.end), (token_end, chunks.token_end)):
            upper[right] = np.maximum(upper[right], values[left])
            upper[left] = np.maximum(upper[left], values[right])
    return Widened(start, end, token_start, token_end)

"""Word windows: token windows with words in the place of tokens.

A word is what `separators.word_starts` says: a maximal run of letters, digits, underscores, combining marks and
joiners; in scripts written without blanks each letter with its marks. A *unit* is a word with everything between it
and the next one (blanks, punctuation); what comes before the first word belongs to the first core. A source without
words is one chunk.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.segmenters.layout import phase_of, windows
from evaluation.domain.segmenters.ruler import token_ruler
from evaluation.domain.segmenters.separators import word_starts
from evaluation.domain.segmenters.sized import Sized
from evaluation.domain.tokens import TokenizedText


@dataclass(frozen=True)
class WordWindow(Sized):
    """Configuration and segmenter in one. Sizes are in words."""

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "words"

    @property
    def counted_in(self) -> str:
        """What the sizes count, in the plural."""
        return "words"

    @property
    def rule(self) -> str:
        """Perturbation rule, for the manifest."""
        return "first interior cut at word p, further cuts every stride; p in 1…stride"

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values; the Unicode version decides what a letter is."""
        return {
            **super().describe(),
            "word": "runs of letters, digits, underscores, marks and joiners; unspaced scripts by letter",
            "unicode": unicodedata.unidata_version,
        }

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks with the first interior cut at word `phase`. Raises `PhaseError` outside 1…stride."""
        start = phase_of(self.name, phase, self.stride)
        units = word_starts(document.content)
        return windows(units, token_ruler(tokenized), start, self.capacity, self.overlap, self.tails)

"""Character windows: token windows with code points in the place of tokens.

Cuts fall at code points p, p + S, p + 2S, … inside the source; a chunk runs from its core's first byte to the code
point `overlap` after its core, or to the end of the source. A code point is never split, so no cut has to move; a
combining mark or a joined emoji can be parted from what it joins, as any splitter that counts characters does.
"""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.segmenters.layout import phase_of, windows
from evaluation.domain.segmenters.ruler import token_ruler
from evaluation.domain.segmenters.sized import Sized
from evaluation.domain.tokens import TokenizedText, code_point_starts


@dataclass(frozen=True)
class CharacterWindow(Sized):
    """Configuration and segmenter in one. Sizes are in Unicode code points."""

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "characters"

    @property
    def counted_in(self) -> str:
        """What the sizes count, in the plural."""
        return "characters"

    @property
    def rule(self) -> str:
        """Perturbation rule, for the manifest."""
        return "first interior cut at code point p, further cuts every stride; p in 1…stride"

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks with the first interior cut at code point `phase`. Raises `PhaseError` outside 1…stride."""
        start = phase_of(self.name, phase, self.stride)
        units = code_point_starts(document.content)
        return windows(units, token_ruler(tokenized), start, self.capacity, self.overlap, self.tails)

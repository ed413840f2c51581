"""Character windows: token windows with code points in the place of tokens.

Cuts fall at code points p, p + S, p + 2S, … inside the source; a chunk runs from its core's first byte to the code
point `overlap` after its core, or to the end of the source. A code point is never split, so no cut has to move; a
combining mark or a joined emoji can be parted from what it joins, as any splitter that counts characters does.
"""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.segmenters.config import check_window
from evaluation.domain.segmenters.layout import EDGES, phase_of, windows
from evaluation.domain.segmenters.ruler import token_ruler
from evaluation.domain.tokens import TokenizedText, code_point_starts


@dataclass(frozen=True)
class CharacterWindow:
    """Configuration and segmenter in one. Sizes are in Unicode code points."""

    capacity: int
    overlap: int = 0
    tails: str = "keep"

    def __post_init__(self) -> None:
        check_window(self.name, self.capacity, self.overlap, self.tails, "characters")

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "characters"

    @property
    def version(self) -> str:
        """Changes whenever the same configuration would give other chunks."""
        return "1"

    @property
    def stride(self) -> int:
        """S = C − O."""
        return self.capacity - self.overlap

    @property
    def rule(self) -> str:
        """Perturbation rule, for the manifest."""
        return "first interior cut at code point p, further cuts every stride; p in 1…stride"

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            "segmenter": self.name,
            "version": self.version,
            "unit": "character",
            "capacity": self.capacity,
            "overlap": self.overlap,
            "stride": self.stride,
            "tails": self.tails,
            "edges": EDGES,
            "rule": self.rule,
        }

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks with the first interior cut at code point `phase`. Raises `PhaseError` outside 1…stride."""
        start = phase_of(self.name, phase, self.stride)
        units = code_point_starts(document.content)
        return windows(units, token_ruler(tokenized), start, self.capacity, self.overlap, self.tails)

"""Heading-aware chunks: sections stay whole where they fit, and what is cut keeps its heading.

A *piece* is a heading with the text up to the next heading of any rank; text before the first heading is one too. A
heading without text of its own belongs to the piece after it, so that no chunk ends with it.

* Pieces of at most S = C − O tokens are never cut. Neighbours with the same parent heading are packed into one core
  while they fit; the chunk continues only with text of the same run of neighbours.
* A larger piece is a run of its own and is cut by `secondary`: "recursive" (paragraphs, lines, sentences, words) or
  "tokens" (a token window).
* A chunk that starts below its heading inherits it: `lineage` is the interval of the innermost heading. The whole
  path stands in the document's structure.

Perturbation, in every run: the first core holds p of S tokens — whole pieces, at least one, where pieces are packed;
p tokens below the heading where a piece is cut. p = S is the ordinary splitting. A source in which all pieces fit
and none share a parent has the same chunks at every p. A source without headings is cut by `secondary` throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.segmenters.config import SegmenterConfigError, shift_words
from evaluation.domain.segmenters.layout import phase_of
from evaluation.domain.segmenters.packing import coarsest, packed
from evaluation.domain.segmenters.recursive import levels_of
from evaluation.domain.segmenters.ruler import Ruler, token_ruler
from evaluation.domain.segmenters.separators import NAMED, merged
from evaluation.domain.segmenters.structural import Runs, Structural, blanks_after, is_blank
from evaluation.domain.structure import Structure, structure_of
from evaluation.domain.tokens import IntArray, TokenizedText

SECONDARY = ("recursive", "tokens")


@dataclass(frozen=True)
class Piece:
    """Bytes of one piece, where its text starts below the last of its headings, and the parent it is packed under."""

    start: int
    end: int
    body: int
    parent: int


@dataclass(frozen=True)
class HeadingAware(Structural):
    """Configuration and segmenter in one. Sizes are in tokens."""

    secondary: str = "recursive"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.secondary not in SECONDARY:
            raise SegmenterConfigError(
                f"{self.name}: secondary must be 'recursive' or 'tokens', got {self.secondary!r}; "
                "it cuts the sections above the capacity"
            )

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "headings"

    @property
    def rule(self) -> str:
        """Perturbation rule, for the manifest."""
        return (
            f"in every run of packed or cut sections the {shift_words(self.shift_every)} holds p tokens "
            "(whole sections, at least one; or p tokens below the heading), the others a stride; p in 1…stride"
        )

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {**super().describe(), "secondary": self.secondary, "packing": "neighbours with the same parent heading"}

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks of one document at `phase`. Raises `PhaseError` outside 1…stride."""
        first = phase_of(self.name, phase, self.stride)
        tokens = token_ruler(tokenized)
        structure = structure_of(document)
        found = pieces(structure, document.content)
        levels = self._levels(document.content, found)
        filled: list[tuple[tuple[int, int], list[int]]] = []
        for group in _groups(found, tokens, self.stride):
            run = (group[0].start, group[-1].end)
            if len(group) > 1 or self._fits(group[0], tokens):
                edges = np.array([group[0].start, *(piece.end for piece in group)], dtype=np.int64)
                filled.append((run, packed(edges, tokens, run, first, self.stride, self.capacity, self.shift_every)))
            else:
                heading = tokens.at(group[0].body) - tokens.at(run[0])
                budget = min(heading + first, self.stride)
                filled.append((run, coarsest(levels, tokens, run, budget, self.stride, self.shift_every)))
        runs = Runs.of(filled)
        edges = merged(runs.cores, *(levels or [tokens.marks]))
        lineage = _inherited(structure, runs.cores[:-1])
        split = sum(not self._fits(piece, tokens) for piece in found)
        return self.laid_out(runs, edges, tokens, {"oversized_sections_split": split}, lineage)

    def _fits(self, piece: Piece, tokens: Ruler) -> bool:
        return tokens.at(piece.end) - tokens.at(piece.start) <= self.stride

    def _levels(self, content: bytes, found: list[Piece]) -> list[IntArray]:
        """Boundaries for cutting large pieces; none inside a heading or between it and the text below."""
        if self.secondary == "tokens":
            return []
        levels = levels_of(content, NAMED, self.language)
        starts = np.array([piece.start for piece in found], dtype=np.int64)
        bodies = np.array([piece.body for piece in found], dtype=np.int64)
        kept: list[IntArray] = []
        for level in levels:
            piece = np.maximum(np.searchsorted(starts, level, side="right") - 1, 0)
            kept.append(level[(level <= starts[piece]) | (level > bodies[piece])])
        return kept


def pieces(structure: Structure, content: bytes) -> list[Piece]:
    """The pieces of a source in order; they partition its bytes. Blank text before the first heading joins it."""
    found: list[Piece] = []
    start, headings = 0, structure.headings
    if not headings or not is_blank(content, 0, headings[0].start):
        start = headings[0].start if headings else len(content)
        found.append(Piece(0, start, 0, -1))
    for index, heading in enumerate(headings):
        last = index + 1 == len(headings)
        if is_blank(content, heading.end, heading.body_end) and not last:
            continue
        body = min(blanks_after(content, heading.end), heading.body_end)
        found.append(Piece(start, heading.body_end, body, heading.parent))
        start = heading.body_end
    return found


def _groups(found: list[Piece], tokens: Ruler, budget: int) -> list[list[Piece]]:
    """Neighbours that may be packed together; a piece above the budget stands alone."""
    groups: list[list[Piece]] = []
    open_ = False
    for piece in found:
        fits = tokens.at(piece.end) - tokens.at(piece.start) <= budget
        if open_ and fits and groups[-1][-1].parent == piece.parent:
            groups[-1].append(piece)
        else:
            groups.append([piece])
        open_ = fits
    return groups


def _inherited(structure: Structure, starts: IntArray) -> IntArray:
    """Per chunk the interval of the heading above its first byte, −1 where it starts with one or stands under none."""
    lineage = np.full((starts.size, 2), -1, dtype=np.int64)
    if not structure.headings:
        return lineage
    spans = np.array([(h.start, h.end) for h in structure.headings], dtype=np.int64)
    above = np.searchsorted(spans[:, 0], starts, side="right") - 1
    under = (above >= 0) & (starts > spans[np.maximum(above, 0), 0])
    lineage[under] = spans[above[under]]
    return lineage

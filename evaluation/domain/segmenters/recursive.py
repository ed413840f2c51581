"""Recursive separators: each chunk ends at the coarsest separator it can reach.

The levels run from coarse to fine (default: paragraphs, lines, sentences, words), below them token or code point
boundaries. A core starts where the one before ended and may hold S = C − O units; it ends at the last boundary of the
coarsest level that has one within that budget. So paragraphs are gathered while they fit, a paragraph that does not
fit is cut at lines, a line at sentences, and so on. Separators stay with the text before them and nothing is dropped.
The chunk goes on to the last boundary of any level within O units.

Perturbation: the first core may hold p of S units, all others S; p = S is the ordinary splitting. With `shift_every` n,
every n-th core after the first may hold p too.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunk_id import digest_of
from evaluation.domain.chunks import ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.segmenters.config import (
    SegmenterConfigError,
    check_language,
    check_shift,
    check_unit,
    shift_words,
)
from evaluation.domain.segmenters.layout import lay_out, phase_of
from evaluation.domain.segmenters.packing import above_capacity, coarsest, overlapped
from evaluation.domain.segmenters.ruler import character_ruler, token_ruler
from evaluation.domain.segmenters.separators import NAMED, boundaries, merged
from evaluation.domain.segmenters.sized import Sized
from evaluation.domain.tokens import IntArray, TokenizedText


@dataclass(frozen=True)
class Recursive(Sized):
    """Configuration and segmenter in one. Sizes are in `unit`s.

    `separators` are names of `separators.NAMED` or literal texts, coarse to fine.
    """

    unit: str = "tokens"
    separators: tuple[str, ...] = NAMED
    language: str = ""
    shift_every: int = 0

    def __post_init__(self) -> None:
        check_unit(self.name, self.unit, ("tokens", "characters"))
        super().__post_init__()
        check_language(self.name, self.language)
        check_shift(self.name, self.shift_every)
        given: object = self.separators
        if not isinstance(given, tuple | list) or not given or not all(isinstance(one, str) and one for one in given):
            raise SegmenterConfigError(
                f"{self.name}: separators must be a list of texts, none of them empty, got {self.separators!r}; "
                "code points need no separator, they are always the last resort"
            )
        if len(set(self.separators)) < len(self.separators):
            raise SegmenterConfigError(f"{self.name}: separators repeat one, got {self.separators!r}; name each once")

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "recursive"

    @property
    def counted_in(self) -> str:
        """What the sizes count, in the plural."""
        return self.unit

    @property
    def rule(self) -> str:
        """Perturbation rule, for the manifest."""
        cores = shift_words(self.shift_every)
        return f"{cores} may hold p units, the others a stride; each ends at its coarsest separator; p in 1…stride"

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            **super().describe(),
            "separators": " ".join(map(repr, self.separators)),
            "separators_digest": digest_of("separators", self.separators),
            "language": self.language,
            "shift_every": self.shift_every,
            "unicode": unicodedata.unidata_version,
        }

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks of one document at `phase`. Raises `PhaseError` outside 1…stride."""
        first = phase_of(self.name, phase, self.stride)
        tokens = token_ruler(tokenized)
        ruler = tokens if self.unit == "tokens" else character_ruler(document.content)
        levels = levels_of(document.content, self.separators, self.language)
        run = (0, tokens.size)
        filled = coarsest(levels, ruler, run, first, self.stride, self.shift_every)
        cores = np.array([0, *filled], dtype=np.int64)
        ends = overlapped(
            cores,
            np.full(cores.size - 1, tokens.size, dtype=np.int64),
            merged(*levels) if self.overlap else cores,
            ruler,
            self.overlap,
            self.capacity,
        )
        remarks = {"code_points_above_capacity": above_capacity(cores, ruler, self.capacity)}
        return lay_out(cores, ends, tokens, self.tails, remarks)


def levels_of(content: bytes, separators: tuple[str, ...], language: str) -> list[IntArray]:
    """Boundaries per separator, coarse to fine."""
    return [boundaries(content, separator, language) for separator in separators]

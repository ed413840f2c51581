"""Sentence packing: whole sentences up to a capacity in tokens, or windows that count sentences.

Unit "tokens": a core takes as many whole sentences as S = C − O tokens hold, at least one; the chunk goes on for the
whole sentences that fit O tokens, within C in all. A sentence above C is cut at token boundaries, by S, and counted in
`remarks["oversized_sentences_split"]`; its last piece is packed with what follows, and pieces overlap by O tokens.
Perturbation: the first core is packed under p of S tokens (at least one sentence), all others under S; p = S is the
ordinary packing. With `shift_every` n, every n-th core after the first is packed under p too.

Unit "sentences": token windows with sentences in the place of tokens; no limit in tokens.

What a sentence is, `annotate.domain.sentences` says; blanks after a sentence stay with it.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.segmenters.config import (
    SegmenterConfigError,
    check_language,
    check_shift,
    check_unit,
    shift_words,
)
from evaluation.domain.segmenters.layout import lay_out, phase_of, windows
from evaluation.domain.segmenters.packing import above_capacity, overlapped, oversized, packed
from evaluation.domain.segmenters.ruler import token_ruler
from evaluation.domain.segmenters.sized import Sized
from evaluation.domain.sentence_boundaries import sentence_boundaries
from evaluation.domain.tokens import TokenizedText


@dataclass(frozen=True)
class SentencePacking(Sized):
    """Configuration and segmenter in one. Sizes are in `unit`s; `language` "" takes every language's abbreviations."""

    unit: str = "tokens"
    language: str = ""
    shift_every: int = 0

    def __post_init__(self) -> None:
        check_unit(self.name, self.unit, ("tokens", "sentences"))
        super().__post_init__()
        check_language(self.name, self.language)
        check_shift(self.name, self.shift_every)
        if self.unit == "sentences" and self.shift_every:
            raise SegmenterConfigError(
                f"{self.name}: shift_every belongs to unit 'tokens', since windows of sentences shift as a whole; use 0"
            )

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "sentences"

    @property
    def counted_in(self) -> str:
        """What the sizes count, in the plural."""
        return self.unit

    @property
    def rule(self) -> str:
        """Perturbation rule, for the manifest."""
        if self.unit == "sentences":
            return "first interior cut at sentence p, further cuts every stride; p in 1…stride"
        cores = shift_words(self.shift_every)
        return f"{cores} packed under p tokens, at least one sentence, the others under the stride; p in 1…stride"

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            **super().describe(),
            "language": self.language,
            "shift_every": self.shift_every,
            "unicode": unicodedata.unidata_version,
            "oversized": "a sentence above the capacity is cut at tokens by the stride",
        }

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks of one document at `phase`. Raises `PhaseError` outside 1…stride."""
        first = phase_of(self.name, phase, self.stride)
        tokens = token_ruler(tokenized)
        edges = sentence_boundaries(document.content, self.language)
        if self.unit == "sentences":
            return windows(edges, tokens, first, self.capacity, self.overlap, self.tails)
        run = (0, tokens.size)
        filled = packed(edges, tokens, run, first, self.stride, self.capacity, self.shift_every)
        cores = np.array([0, *filled], dtype=np.int64)
        size = np.full(cores.size - 1, tokens.size, dtype=np.int64)
        return lay_out(
            cores,
            overlapped(cores, size, edges, tokens, self.overlap, self.capacity),
            tokens,
            self.tails,
            {
                "oversized_sentences_split": oversized(edges, tokens, self.capacity),
                "code_points_above_capacity": above_capacity(cores, tokens, self.capacity),
            },
        )

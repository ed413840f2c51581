"""Code-aware chunks: cuts at functions and classes, then at blank lines, then at lines, then at tokens.

In a code file (by its media type, its name's ending, or `language`) the levels are: symbols that stand in no other,
then every symbol, then blocks between blank lines, then lines. Comment lines right above a symbol belong to it, blank
lines behind it too. In Markdown, code blocks are the coarsest level; around them paragraphs, sentences and words are
the levels, inside them blank lines and lines. Plain text has the levels of `Recursive`.

A core may hold S = C − O tokens and ends at the last boundary of the coarsest level that has one within them, so that
symbols are gathered while they fit and only one that does not fit is cut. Perturbation: the first core may hold p of S
tokens, the others S; p = S is the ordinary splitting.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.code_structure import LANGUAGES
from evaluation.domain.document_cache import DocumentCache
from evaluation.domain.frozen import Document
from evaluation.domain.segmenters.config import SegmenterConfigError, shift_words
from evaluation.domain.segmenters.layout import phase_of
from evaluation.domain.segmenters.packing import coarsest
from evaluation.domain.segmenters.recursive import levels_of
from evaluation.domain.segmenters.ruler import token_ruler
from evaluation.domain.segmenters.separators import NAMED, boundaries, merged
from evaluation.domain.segmenters.structural import Runs, Structural, blanks_after
from evaluation.domain.structure import CODE, MARKDOWN, Structure, structure_of
from evaluation.domain.structure_parts import CodeBlock, Symbol, line_starts
from evaluation.domain.tokens import IntArray, TokenizedText

_COMMENT = re.compile(rb"[ \t]*(?:#|//|/\*|\*|--|;)")
_LEVELS: DocumentCache[list[IntArray]] = DocumentCache()


@dataclass(frozen=True)
class CodeAware(Structural):
    """Configuration and segmenter in one. Sizes are in tokens; `language` "" asks the media type and the name."""

    def check_language(self) -> None:
        """Refuse a programming language without symbol rules. Raises `SegmenterConfigError`."""
        if self.language and self.language not in LANGUAGES:
            raise SegmenterConfigError(
                f"{self.name}: language {self.language!r} has no symbol rules; use one of "
                f"{', '.join(sorted(LANGUAGES))}, or leave it out to go by the media type"
            )

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "code"

    @property
    def rule(self) -> str:
        """Perturbation rule, for the manifest."""
        cores = shift_words(self.shift_every)
        return f"{cores} may hold p tokens, the others a stride; each ends at its coarsest boundary; p in 1…stride"

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values; the interpreter's grammar decides what Python's symbols are."""
        return {**super().describe(), "python": ".".join(map(str, sys.version_info[:2]))}

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks of one document at `phase`. Raises `PhaseError` outside 1…stride."""
        first = phase_of(self.name, phase, self.stride)
        tokens = token_ruler(tokenized)
        structure = structure_of(document, self.language)
        levels = _LEVELS.get(
            document.content, (structure.kind, structure.language), lambda: _levels(structure, document.content)
        )
        run = (0, tokens.size)
        runs = Runs.of([(run, coarsest(levels, tokens, run, first, self.stride, self.shift_every))])
        sizes = [tokens.at(s.end) - tokens.at(s.start) for s in structure.symbols if s.parent < 0]
        split = sum(size > self.capacity for size in sizes)
        return self.laid_out(runs, merged(*levels), tokens, {"oversized_symbols_split": split})


def _levels(structure: Structure, content: bytes) -> list[IntArray]:
    if structure.kind == CODE:
        outer = tuple(symbol for symbol in structure.symbols if symbol.parent < 0)
        lines = line_starts(content)
        return [
            _symbol_edges(outer, content, lines),
            _symbol_edges(structure.symbols, content, lines),
            boundaries(content, "paragraphs"),
            lines,
        ]
    if structure.kind == MARKDOWN and structure.code_blocks:
        blocks = structure.code_blocks
        spans = np.array([(block.start, block.end) for block in blocks], dtype=np.int64)
        paragraphs, sentences = boundaries(content, "paragraphs"), boundaries(content, "sentences")
        return [
            _whole([edge for block in blocks for edge in _block_edges(block, content)], len(content)),
            paragraphs[~_within(spans, paragraphs)],
            merged(sentences[~_within(spans, sentences)], paragraphs),
            line_starts(content),
            boundaries(content, "words")[~_within(spans, boundaries(content, "words"))],
        ]
    return levels_of(content, NAMED, "")


def _symbol_edges(symbols: tuple[Symbol, ...], content: bytes, lines: IntArray) -> IntArray:
    """Start of each symbol's first line, comments above included, and of the first line with text behind it."""
    edges: list[int] = []
    for symbol in symbols:
        line = int(np.searchsorted(lines, symbol.start, side="right")) - 1
        while line > 0 and _COMMENT.match(content, int(lines[line - 1]), int(lines[line])):
            line -= 1
        after = int(lines[min(int(np.searchsorted(lines, symbol.end, side="left")), lines.size - 1)])
        edges += [int(lines[line]), blanks_after(content, after)]
    return _whole(edges, len(content))


def _block_edges(block: CodeBlock, content: bytes) -> tuple[int, int]:
    return block.start, blanks_after(content, block.end)


def _within(spans: IntArray, offsets: IntArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which offsets lie inside one of the spans, its start excluded."""
    span = np.searchsorted(spans[:, 0], offsets, side="right") - 1
    at = np.maximum(span, 0)
    inside: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (
        (span >= 0) & (offsets > spans[at, 0]) & (offsets < spans[at, 1])
    )
    return inside


def _whole(edges: list[int], size: int) -> IntArray:
    return np.unique(np.array([0, *edges, size], dtype=np.int64))

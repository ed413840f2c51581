"""Token windows: capacity C, overlap O, stride S = C − O, at every phase.

Cuts fall at tokens p, p + S, p + 2S, … inside the source. *Cores* are the intervals between the source's edges and
the cuts; they partition its bytes. A chunk runs from its core's first byte to the byte where token O after its core
starts, or to the end of the source. A chunk whose core is a full stride and whose extension meets no edge has exactly
C tokens; chunks at an edge may be shorter. With overlap, the chunk before may already have reached the end of the
source: the chunks after it are *contained tails*, kept by default and dropped by declaration. p = S with tails
dropped is the usual unshifted splitter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.phases import PhaseError, check_phase
from evaluation.domain.segmenters.config import SegmenterConfigError
from evaluation.domain.segmenters.sized import Sized
from evaluation.domain.tokens import TokenizedText

__all__ = ["SegmenterConfigError", "TokenWindow"]


@dataclass(frozen=True)
class TokenWindow(Sized):
    """Configuration and segmenter in one. Sizes are in tokens of the plan's tokenizer."""

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "token-window"

    @property
    def rule(self) -> str:
        """Perturbation rule, for the manifest."""
        return "first interior cut at token p, further cuts every stride; p in 1…stride"

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            **super().describe(),
            "edges": "shorter edge chunks kept; first core starts and last core ends at the source's edge",
            "snapping": "a cut moves back to the start of its code point; a core that snaps to nothing yields no chunk",
        }

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks of one document with the first interior cut at token `phase`. Raises `PhaseError` outside 1…stride."""
        if phase is None:
            raise PhaseError("token-window has phases: name one of 1…stride; only unshifted controls run without")
        check_phase(phase, self.stride)
        n, size = tokenized.n, tokenized.size
        cut_tokens = np.arange(phase, n, self.stride, dtype=np.int64)
        edges = np.concatenate(([0], cut_tokens, [n])).astype(np.int64)
        token_start, token_core_end = edges[:-1], edges[1:]
        token_end = np.minimum(token_core_end + self.overlap, n)
        # One resolution for cuts and extension ends together: the tokenizer is asked once per index, at cuts only.
        wanted, where = np.unique(np.concatenate((cut_tokens, token_end)), return_inverse=True)
        resolved = tokenized.starts_at(wanted)[where]
        cut_bytes = resolved[: cut_tokens.size]
        core_start = np.concatenate(([0], cut_bytes)).astype(np.int64)
        core_end = np.concatenate((cut_bytes, [size])).astype(np.int64)
        end = resolved[cut_tokens.size :].copy()
        # The last chunk takes what follows the last token too (text a normaliser dropped), as does every chunk that
        # reached the last token: index n resolves to the size of the source.
        empty = core_end <= core_start
        keep = np.flatnonzero(~empty)
        dropped = 0
        if self.tails == "drop" and keep.size:
            # Judged among chunks that exist: a core that snapped to nothing has no chunk that could contain the next.
            contained = np.concatenate(([False], token_end[keep][:-1] >= n))
            dropped = int(np.count_nonzero(contained))
            keep = keep[~contained]
        return ChunkTable(
            core_start=core_start[keep],
            core_end=core_end[keep],
            end=end[keep],
            token_start=token_start[keep],
            token_core_end=token_core_end[keep],
            token_end=token_end[keep],
            cut_tokens=cut_tokens,
            cut_bytes=cut_bytes,
            empty_cores=np.flatnonzero(empty).astype(np.int64),
            dropped_tails=dropped,
        )

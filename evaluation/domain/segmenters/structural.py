"""What the structure-aware segmenters share: settings, describing them, and laying out cores that stand in runs."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.markdown_structure import PARSER
from evaluation.domain.segmenters.config import check_language, check_shift
from evaluation.domain.segmenters.layout import lay_out
from evaluation.domain.segmenters.packing import above_capacity, overlapped
from evaluation.domain.segmenters.ruler import Ruler
from evaluation.domain.segmenters.sized import Sized
from evaluation.domain.tokens import IntArray

#: Bytes that give a chunk nothing to say: blanks, line ends, a byte order mark.
_EMPTY_LINES = re.compile(rb"(?:[ \t]*(?:\r\n|\r|\n|\Z))*")
_BLANK = b" \t\r\n\x0b\x0c\xef\xbb\xbf"


def is_blank(content: bytes, start: int, end: int) -> bool:
    """Whether `[start, end)` holds nothing but blanks."""
    return not content[start:end].strip(_BLANK)


def blanks_after(content: bytes, offset: int) -> int:
    """Start of the first line with text from `offset` on, which starts a line; the size of `content` without one."""
    match = _EMPTY_LINES.match(content, offset)
    return match.end() if match else offset


@dataclass(frozen=True)
class Runs:
    """Cores in source order and, for each, the end of the run no chunk of it leaves.

    `cores` are boundaries in bytes (one more than cores).
    """

    cores: IntArray
    ends: IntArray

    @classmethod
    def of(cls, filled: list[tuple[tuple[int, int], list[int]]]) -> Runs:
        """From (run, core ends in it) in source order."""
        cores = np.array([0, *(end for _, found in filled for end in found)], dtype=np.int64)
        ends = np.array([run[1] for run, found in filled for _ in found], dtype=np.int64)
        return cls(cores, ends)


@dataclass(frozen=True)
class Structural(Sized):
    """Settings every structure-aware segmenter has. Sizes are in tokens of the plan's tokenizer.

    `language` chooses sentence rules ("" for all of them) and, for code, the programming language. With `shift_every`
    n, every n-th core of a run after its first is filled under the phase as well; 0 leaves it at the first.
    """

    language: str = ""
    shift_every: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shift(self.name, self.shift_every)
        self.check_language()

    def check_language(self) -> None:
        """Refuse a language this segmenter has no rules for. Raises `SegmenterConfigError`."""
        check_language(self.name, self.language)

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            **super().describe(),
            "language": self.language,
            "shift_every": self.shift_every,
            "markdown": PARSER,
            "unicode": unicodedata.unidata_version,
        }

    def laid_out(
        self,
        runs: Runs,
        edges: IntArray,
        tokens: Ruler,
        remarks: dict[str, int],
        lineage: IntArray | None = None,
    ) -> ChunkTable:
        """The table of cores that stand in runs; `edges` are the units an overlap is made of."""
        ends = overlapped(runs.cores, runs.ends, edges, tokens, self.overlap, self.capacity)
        remarks = {**remarks, "code_points_above_capacity": above_capacity(runs.cores, tokens, self.capacity)}
        return lay_out(runs.cores, ends, tokens, self.tails, remarks, lineage)

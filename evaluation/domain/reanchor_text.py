"""The two sides of re-anchoring: a source as it is searched in, and a foreign chunk as what is searched for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from evaluation.domain.tokens import IntArray, code_point_starts

REPLACEMENT = "\ufffd"
_NEWLINE = re.compile(rb"\r\n?")


class OffsetUnit(StrEnum):
    """What a claimed offset counts. Always declared: the same number means three places in one text."""

    BYTES = "bytes"
    CODE_POINTS = "code-points"
    UTF16 = "utf-16"


@dataclass(frozen=True)
class Needle:
    """What is searched for: `raw` is the chunk's bytes (without replacement characters at edges that cut a character).

    `before`: the first character is only in part in the chunk, the interval starts at that character's start; `after`:
    the last one is, the interval ends where it starts.
    """

    text: str
    raw: bytes
    before: bool = False
    after: bool = False

    @property
    def snaps(self) -> bool:
        """Whether an edge was moved back to the start of a character."""
        return self.before or self.after

    def length(self, view: SourceView, start: int) -> int:
        """Bytes of the interval that starts at `start`."""
        return len(self.raw) + (view.character_at(start) if self.before else 0)


class SourceView:
    """A source as the text that chunks are searched in: its bytes, or its bytes with every newline as LF.

    `text` is the very object given when nothing was normalised.
    """

    def __init__(self, content: bytes, *, normalise: bool = False) -> None:
        """Raises `UnicodeDecodeError` for content that is not UTF-8."""
        content.decode("utf-8")
        self.content = content
        self._map: IntArray | None = None
        self.text = content
        if normalise and b"\r" in content:
            self.text = _NEWLINE.sub(b"\n", content)
            raw = np.frombuffer(content, dtype=np.uint8)
            # An LF after a CR is the byte that falls away; every other byte keeps its place in the order.
            gone = np.zeros(raw.size, dtype=bool)
            gone[1:] = (raw[1:] == 10) & (raw[:-1] == 13)
            self._map = np.append(np.flatnonzero(~gone), raw.size).astype(np.int64)
        self.longest_character = 0 if content.isascii() else 4
        self.has_replacement = REPLACEMENT.encode() in content

    def to_source(self, offset: int) -> int:
        """Byte of the source for a byte of `text`."""
        return offset if self._map is None else int(self._map[offset])

    def character_at(self, start: int) -> int:
        """Bytes of the character that starts at `start`; 0 at the end of the text."""
        if start >= len(self.text):
            return 0
        lead = self.text[start]
        return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4

    def holds(self, needle: Needle, start: int) -> bool:
        """Whether the chunk can lie at `start`."""
        if start < 0 or start > len(self.text):
            return False
        at = start
        if needle.before:
            at += self.character_at(start)
            if at - start < 2:
                return False
        if not self.text.startswith(needle.raw, at):
            return False
        return not needle.after or self.character_at(at + len(needle.raw)) >= 2

    def occurrences(self, needle: Needle, first: int, last: int, most: int) -> list[int]:
        """Starts in `[first, last]` at which the chunk can lie, increasing, at most `most`."""
        found: list[int] = []
        limit = last + len(needle.raw) + (self.longest_character if needle.before else 0)
        at = self.text.find(needle.raw, first, limit)
        while at >= 0 and len(found) < most:
            start = self._start_of(needle, at)
            if first <= start <= last and self.holds(needle, start):
                found.append(start)
            at = self.text.find(needle.raw, at + 1, limit)
        return found

    def last_occurrence(self, needle: Needle, first: int, last: int) -> list[int]:
        """The last start in `[first, last]` at which the chunk can lie, if any."""
        limit = last + len(needle.raw) + (self.longest_character if needle.before else 0)
        at = self.text.rfind(needle.raw, first, limit)
        start = self._start_of(needle, at)
        return [start] if at >= 0 and first <= start <= last and self.holds(needle, start) else []

    def _start_of(self, needle: Needle, at: int) -> int:
        """Start of the interval whose searched bytes lie at `at`."""
        if not needle.before or at <= 0:
            return at
        start = at - 1
        while start > 0 and self.text[start] & 0xC0 == 0x80:
            start -= 1
        return start

    def claimed(self, offsets: Sequence[int | None], unit: OffsetUnit) -> IntArray:
        """Claimed offsets as bytes of `text`; −1 for none, for one outside the text or inside a character."""
        out = np.full(len(offsets), -1, dtype=np.int64)
        if any(one is not None for one in offsets):
            table = _offset_table(self.text, unit)
            for index, one in enumerate(offsets):
                if one is not None and 0 <= one < table.size:
                    out[index] = table[one]
        return out


def needle_of(text: str, view: SourceView) -> Needle:
    """What to search for a chunk's text in `view`."""
    raw = text.encode("utf-8", "surrogatepass")
    if REPLACEMENT in text and not (view.has_replacement and raw in view.text):
        core = text.strip(REPLACEMENT)
        if REPLACEMENT not in core:
            return Needle(
                text, core.encode("utf-8", "surrogatepass"), text[:1] == REPLACEMENT, text[-1:] == REPLACEMENT
            )
    return Needle(text, raw)


def _offset_table(content: bytes, unit: OffsetUnit) -> IntArray:
    """Byte of each offset of `content` in `unit`, the end included; −1 inside a character or a surrogate pair."""
    points = code_point_starts(content)
    if unit is OffsetUnit.CODE_POINTS:
        return points
    if unit is OffsetUnit.BYTES:
        table = np.full(len(content) + 1, -1, dtype=np.int64)
        table[points] = points
        return table
    wide = np.frombuffer(content, dtype=np.uint8)[points[:-1]] >= 0xF0
    units = np.concatenate(([0], np.cumsum(1 + wide.astype(np.int64))))
    table = np.full(int(units[-1]) + 1, -1, dtype=np.int64)
    table[units] = points
    return table

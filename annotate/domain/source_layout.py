"""How a source is laid out for reading: blocks that load one by one, and sentences with numbers to mark them by.

Blocks partition the bytes; a block ends behind a line end where one is near, else behind a blank, else between two
characters that belong to no common cluster. Numbers count the sentences of `annotate.domain.sentences`, save that the
number of a clause and its first sentence are one (nobody marks “4.1.” alone) and a heading's line is one of its own.
Hidden ranges are never looked into, so neither a block's edge nor a number tells anything about them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from annotate.domain.sentences import LANGUAGES, sentences
from annotate.domain.spans import ByteSpan, between

BLOCK_BYTES = 8_192

_LINE_END = re.compile(r"\r\n|\r|\n")
_HEADING = re.compile(r"#{1,6}[ \t]")
_CLAUSE_NUMBER = re.compile(r"(?:[-*+•#>]+\s+)?\d{1,3}(?:\.\d{1,3})*\.")
#: Longer than any clause number: a sentence of more characters is not looked at.
_SHORT = 24
#: A block is cut at most this far before its full size, to end with a line or a word.
_NEAR = BLOCK_BYTES // 2
#: What clings to the character before it without being a combining mark: joiners, and skin tones of emoji.
_JOINERS = frozenset(["\u200d", "\ufe0e", "\ufe0f", *map(chr, range(0x1F3FB, 0x1F400))])
_REGIONAL = frozenset(map(chr, range(0x1F1E6, 0x1F200)))


@dataclass(frozen=True)
class Block:
    """Bytes `[start, end)` that are drawn and loaded together. `broken` says that its last line goes on in the next."""

    start: int
    end: int
    broken: bool


@dataclass(frozen=True)
class SourceLayout:
    """Blocks and sentences of one version for one reader; positions in bytes, sentences numbered from 1."""

    blocks: tuple[Block, ...]
    sentence_starts: tuple[int, ...]
    sentence_ends: tuple[int, ...]

    def block_at(self, position: int) -> int:
        """Return the index of the block that holds byte `position`; the last one for the end of the text."""
        return max(0, bisect_right(self.blocks, position, key=lambda block: block.start) - 1)

    def numbers_in(self, start: int, end: int) -> dict[int, int]:
        """Return sentence start → number for the sentences that begin in `[start, end)`."""
        first, last = bisect_left(self.sentence_starts, start), bisect_left(self.sentence_starts, end)
        return {self.sentence_starts[index]: index + 1 for index in range(first, last)}


def lay_out(content: bytes, hidden: Sequence[ByteSpan] = (), locale: str = "") -> SourceLayout:
    """Return the layout of a UTF-8 text for a reader from whom the merged, ordered ranges `hidden` are kept.

    `locale` (`de-CH`) chooses the rules of sentences; where its language has none, those of every language hold.
    """
    language = re.split("[-_]", locale, maxsplit=1)[0].lower()
    language = language if language in LANGUAGES else ""
    starts: list[int] = []
    ends: list[int] = []
    for left, right in between(len(content), hidden):
        raw = content[left:right]
        text = raw.decode()
        places = np.flatnonzero((np.frombuffer(raw, dtype=np.uint8) & 0xC0) != 0x80) + left
        edges = np.append(places, right)
        for first, last in _numbered(text, language):
            starts.append(int(edges[first]))
            ends.append(int(edges[last]))
    return SourceLayout(tuple(_blocks(content, hidden)), tuple(starts), tuple(ends))


def _numbered(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Yield `[start, end)` in code points of what one number marks: sentences, clause by clause, heading by heading."""
    number: tuple[int, int] | None = None
    for start, end in _lines_of_headings(text, language):
        if number is not None and _LINE_END.search(text, number[1], start):
            # A number alone on its line.
            yield number
            number = None
        if number is None and end - start < _SHORT and _CLAUSE_NUMBER.fullmatch(text, start, end):
            number = start, end
        else:
            yield (start if number is None else number[0]), end
            number = None
    if number is not None:
        yield number


def _lines_of_headings(text: str, language: str) -> Iterator[tuple[int, int]]:
    for start, end in sentences(text, language):
        line = _LINE_END.search(text, start, end) if _HEADING.match(text, start) else None
        if line is None:
            yield start, end
        else:
            yield start, start + len(text[start : line.start()].rstrip())
            yield end - len(text[line.end() : end].lstrip()), end


def _blocks(content: bytes, hidden: Sequence[ByteSpan]) -> Iterator[Block]:
    at, length = 0, len(content)
    while at < length:
        end = _cut(content, at, hidden)
        yield Block(at, end, end < length and content[end - 1 : end] not in (b"\n", b"\r"))
        at = end


def _cut(content: bytes, at: int, hidden: Sequence[ByteSpan]) -> int:
    limit = at + BLOCK_BYTES
    if limit >= len(content):
        return len(content)
    inside = next((span for span in hidden if span.start < limit < span.end), None)
    if inside is not None:
        return inside.start if inside.start > at else inside.end
    # Never look into a hidden range for a place to cut.
    floor = max([at + 1, limit - _NEAR, *(span.end + 1 for span in hidden if span.end <= limit)])
    for mark in (b"\n", b"\r", b" "):
        found = content.rfind(mark, floor, limit)
        if found != -1 and not (mark == b"\r" and content[found + 1 : found + 2] == b"\n"):
            return found + 1
    return _between_clusters(content, at, limit, floor)


def _between_clusters(content: bytes, at: int, limit: int, floor: int) -> int:
    end = limit
    while end > floor:
        while content[end] & 0xC0 == 0x80:
            end -= 1
        window = content[end : end + 4].decode("utf-8", "ignore")
        if not _joined(content, at, end, window[0]):
            return end
        end -= 1
    while content[limit] & 0xC0 == 0x80:
        limit -= 1
    return limit


def _joined(content: bytes, at: int, end: int, follows: str) -> bool:
    """Return whether the character `follows`, which begins at byte `end`, belongs to the one before it."""
    if unicodedata.combining(follows) or follows in _JOINERS:
        return True
    precedes = content[max(0, end - 4) : end].decode("utf-8", "ignore")[-1:]
    if follows in _REGIONAL and precedes in _REGIONAL:
        # Two make a flag, counted from where the row of them begins.
        first = end
        while first - 4 >= at and content[first - 4 : first].decode("utf-8", "ignore") in _REGIONAL:
            first -= 4
        return (end - first) // 4 % 2 == 1
    return precedes == "\u200d" or (precedes, follows) == ("\r", "\n")

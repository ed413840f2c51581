"""Why a foreign chunk is not where it should be, said so that its maker can mend it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum

from evaluation.domain.reanchor_text import REPLACEMENT, Needle, SourceView

#: Bytes of the source behind the matching beginning in which the rest of a chunk is looked for.
REACH = 65_536
#: A beginning shorter than this is found anywhere and says nothing.
TELLING = 8
_EXCERPT = 60
_BLANKS = re.compile(r"\s+")


class Fault(StrEnum):
    """What probably happened to a chunk that could not be placed."""

    EMPTY = "empty"
    DUPLICATED = "duplicated"
    NESTED = "nested"
    OUT_OF_ORDER = "out-of-order"
    REPLACEMENT = "replacement-characters"
    NEWLINES = "newlines-rewritten"
    WHITE_SPACE = "white-space-changed"
    CASE = "case-changed"
    NORMALISED = "unicode-normalised"
    DROPPED = "text-dropped"
    REWRITTEN = "text-rewritten"
    UNEXAMINED = "not-examined"


@dataclass(frozen=True)
class Problem:
    """A chunk that was not placed. `chunk_offset`: its first byte that differs; `source_offset`: the byte of the source
    it was compared with there, −1 where no place is near enough to compare. `excerpt` is the chunk's text from there.
    """

    index: int
    fault: Fault
    chunk_offset: int
    source_offset: int
    excerpt: str
    message: str

    def __str__(self) -> str:
        where = f"source byte {self.source_offset}" if self.source_offset >= 0 else "no place in the source"
        shown = f"chunk {self.index} ({self.excerpt!r}): {self.fault}, {self.message}"
        return f"{shown} (its byte {self.chunk_offset}, {where})"


class Diagnosis:
    """Examines chunks against one source; rewritten forms of the source are made once, when first needed."""

    def __init__(self, view: SourceView) -> None:
        self._view = view
        self._forms: dict[Fault, str] = {}

    def empty(self, index: int, needle: Needle) -> Problem:
        """A chunk without a whole character."""
        what = "it holds no whole character" if needle.text else "it has no text"
        return Problem(index, Fault.EMPTY, 0, -1, "", what)

    def unexamined(self, index: int, needle: Needle) -> Problem:
        """One of very many."""
        return Problem(index, Fault.UNEXAMINED, 0, -1, _excerpt(needle.raw), "too many others were examined before it")

    def examine(self, index: int, needle: Needle, start: int, end: int, given: Collection[tuple[int, int]]) -> Problem:
        """The likeliest fault. `start`, `end`: the interval placed last before it; `given`: all that were placed."""
        places = self._view.occurrences(needle, 0, len(self._view.text), 64)
        if places:
            first = places[0]
            length = needle.length(self._view, first)
            if any((place, place + length) in given for place in places):
                fault, what = Fault.DUPLICATED, "its only place was given to another chunk already"
            elif any(start <= place and place + length <= end for place in places):
                fault, what = Fault.NESTED, "it lies wholly inside the chunk before it and ends earlier"
            else:
                fault, what = Fault.OUT_OF_ORDER, "it stands elsewhere in the source than its turn"
            return self._problem(index, needle, fault, what, 0, first)
        if REPLACEMENT in needle.text:
            at = len(needle.text[: needle.text.index(REPLACEMENT)].encode("utf-8", "surrogatepass"))
            what = "characters were cut and written as U+FFFD; split at characters"
            return self._problem(index, needle, Fault.REPLACEMENT, what, at, -1)
        for fault, rewrite, what in _REWRITES:
            if fault not in self._forms:
                self._forms[fault] = rewrite(self._view.text.decode("utf-8"))
            wanted = rewrite(needle.text)
            if wanted and wanted in self._forms[fault]:
                return self._differing(index, needle, start, fault, what)
        return self._differing(index, needle, start, Fault.REWRITTEN, "its text is not the source's")

    def _differing(self, index: int, needle: Needle, start: int, fault: Fault, what: str) -> Problem:
        """A problem located at the first byte that differs from the best place at or after `start`."""
        text, raw = self._view.text, needle.raw
        at, length = self._longest_beginning(raw, max(start, 0))
        if length < TELLING and start > 0:
            at, length = self._longest_beginning(raw, 0)
        if length < min(TELLING, len(raw)):
            return self._problem(index, needle, fault, what, 0, -1)
        if fault is Fault.REWRITTEN:
            rest = raw[length:]
            again = text.find(rest, at + length, at + length + REACH) if len(rest) >= TELLING else -1
            if again > at + length:
                fault, what = Fault.DROPPED, f"{again - at - length} bytes of the source are missing inside it"
        return self._problem(index, needle, fault, what, length, at + length)

    def _longest_beginning(self, raw: bytes, start: int) -> tuple[int, int]:
        """(place, bytes) of the longest beginning of `raw` found at or after `start`: a binary search, since every
        beginning of a found one is found."""
        low, high, place = 0, len(raw), start
        while low < high:
            middle = (low + high + 1) // 2
            found = self._view.text.find(raw[:middle], start)
            if found >= 0:
                low, place = middle, found
            else:
                high = middle - 1
        return place, low

    def _problem(self, index: int, needle: Needle, fault: Fault, what: str, offset: int, place: int) -> Problem:
        source = self._view.to_source(place) if 0 <= place <= len(self._view.text) else -1
        return Problem(index, fault, offset, source, _excerpt(needle.raw[offset:] or needle.raw), what)


def _excerpt(raw: bytes) -> str:
    """The first characters of `raw`, which may begin inside one."""
    text = raw[: 4 * _EXCERPT].decode("utf-8", "replace")
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _without_blanks(text: str) -> str:
    return _BLANKS.sub("", text)


def _composed(text: str) -> str:
    return _without_blanks(unicodedata.normalize("NFKC", text))


def _folded(text: str) -> str:
    return _without_blanks(text.casefold())


_REWRITES: tuple[tuple[Fault, Callable[[str], str], str], ...] = (
    (Fault.NEWLINES, _newlines, 'newlines were rewritten; declare newlines = "normalised" if that is meant'),
    (Fault.WHITE_SPACE, _without_blanks, "white space was collapsed, added or removed inside it"),
    (Fault.NORMALISED, _composed, "characters were normalised to another Unicode form"),
    (Fault.CASE, _folded, "upper and lower case were changed"),
)

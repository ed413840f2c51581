"""A source cut into flat runs for a page, so that what a browser selects can be turned back into exact bytes.

HTML parsing would turn CR and CRLF into LF, drop NUL and map C1 controls. So every run of a page is either a text run
that holds none of those, or an *atom*: one element that stands for such a character and carries its byte range. Runs
never nest; they are cut at every edge of every mark and of every hidden range.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

#: Characters HTML would not give back: CR, NUL, the other C0 controls but tab and LF, DEL and the C1 controls.
_ATOM = re.compile(b"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
_NAMES = {0x0D: "CR", 0x00: "NUL", 0x7F: "DEL"}


class RunKind(StrEnum):
    """What a run is drawn as."""

    TEXT = "text"
    ATOM = "atom"
    HIDDEN = "hidden"


@dataclass(frozen=True)
class Highlight:
    """Bytes `[start, end)` to be drawn; `key` is whatever the page needs to know about them."""

    start: int
    end: int
    key: str


@dataclass(frozen=True)
class Run:
    """Bytes `[start, end)` drawn as one element. `keys` are the highlights that cover it; a hidden run has no text."""

    start: int
    end: int
    kind: RunKind
    text: str
    keys: tuple[str, ...] = ()


def runs(
    content: bytes,
    highlights: Sequence[Highlight] = (),
    hidden: Iterable[tuple[int, int]] = (),
    *,
    start: int = 0,
    end: int | None = None,
    cuts: Iterable[int] = (),
    base: int = 0,
) -> list[Run]:
    """Return the runs of `content[start:end]`, in order, gapless; `cuts` are further places where a run ends.

    `base` is the byte of the source that `content` begins at, where it is a part; every position counts from the
    source's first byte. `hidden` byte ranges are the reader's: their runs carry offsets and no text. All edges must
    lie on code points (they do for stored marks and ranges); a run cut inside a character raises UnicodeDecodeError.
    """
    stop = base + len(content) if end is None else end
    start = max(start, base)
    hidden_ranges = sorted((max(a, start), min(b, stop)) for a, b in hidden if a < stop and b > start)
    edges = {start, stop, *(cut for cut in cuts if start < cut < stop)}
    for a, b in hidden_ranges:
        edges.update((a, b))
    for mark in highlights:
        if mark.start < stop and mark.end > start:
            edges.update((max(mark.start, start), min(mark.end, stop)))
    ordered = sorted(edges)
    made: list[Run] = []
    open_marks: list[Highlight] = []
    waiting = sorted((m for m in highlights if m.end > start and m.start < stop), key=lambda m: (m.start, m.end, m.key))
    taken = 0
    for left, right in pairwise(ordered):
        while taken < len(waiting) and waiting[taken].start <= left:
            open_marks.append(waiting[taken])
            taken += 1
        open_marks = [mark for mark in open_marks if mark.end > left]
        keys = tuple(mark.key for mark in open_marks)
        if any(a <= left and right <= b for a, b in hidden_ranges):
            made.append(Run(left, right, RunKind.HIDDEN, "", keys))
        else:
            made.extend(_visible(content, left, right, keys, base))
    return made


def _visible(content: bytes, start: int, end: int, keys: tuple[str, ...], base: int) -> Iterable[Run]:
    at = start
    for match in _ATOM.finditer(content, start - base, end - base):
        first, last = match.start() + base, match.end() + base
        if first > at:
            yield Run(at, first, RunKind.TEXT, content[at - base : match.start()].decode(), keys)
        code = ord(match.group().decode())
        yield Run(first, last, RunKind.ATOM, _NAMES.get(code, f"U+{code:04X}"), keys)
        at = last
    if at < end:
        yield Run(at, end, RunKind.TEXT, content[at - base : end - base].decode(), keys)

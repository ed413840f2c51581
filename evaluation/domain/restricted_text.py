"""Finding restricted bytes in anything a sweep wrote: the text one reader may not see, as windows that nothing readable
has.

A window is `WINDOW` consecutive bytes of a restricted stretch. Windows that also stand in text the reader may read, or
that say next to nothing (fewer than `FEWEST` different bytes, such as a ruler), are left out, so that whatever is
found came from restricted text. Any copy of at least `WINDOW` such bytes in a row is found, wherever it starts. A
stretch shorter than a window is looked for whole. What no window of can be told from readable text is listed as
indistinct: a search that is silent about it has said nothing.

Text is looked at as it is and with its escapes read (JSON, Python's repr, HTML), since logs and records escape.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.domain.authorise import denied_ranges
from evaluation.domain.frozen import Document, Interval
from evaluation.domain.tokens import IntArray

WINDOW = 16
FEWEST = 5
#: A restricted stretch below this many bytes says too little to be recognised anywhere.
SHORTEST = 6

#: Bytes looked at in one pass; bounds the memory of a search whatever the size of a text.
_BLOCK = 1 << 20

type _Words = npt.NDArray[np.uint64]

_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_UNICODE = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+")
_SIMPLE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


@dataclass(frozen=True, eq=False)
class RestrictedText:
    """What one reader may not read, ready to be looked for. Build it with `restricted_text`.

    `hashes` (sorted) belong to the windows at `places` = (document, byte offset); `short` are stretches looked for
    whole. `indistinct` are the stretches that cannot be told from readable text.
    """

    documents: tuple[Document, ...]
    hashes: _Words
    places: IntArray
    short: tuple[Interval, ...]
    indistinct: tuple[Interval, ...]

    def found_in(self, text: bytes) -> tuple[Interval, ...]:
        """Return the restricted intervals of which `text` holds bytes, joined where they touch, in corpus order."""
        found: set[tuple[int, int, int]] = set()
        if not self.hashes.size and not self.short:
            return ()
        for form in readings(text):
            found |= set(self._windows_in(form))
            found |= {self._placed(one) for one in self.short if self._bytes(one) in form}
        return tuple(self._joined(sorted(found)))

    def _windows_in(self, text: bytes) -> Iterator[tuple[int, int, int]]:
        for at in range(0, max(len(text) - WINDOW + 1, 0), _BLOCK):
            block = text[at : at + _BLOCK + WINDOW - 1]
            hashed = _hashes(block)
            low = np.searchsorted(self.hashes, hashed, side="left")
            high = np.searchsorted(self.hashes, hashed, side="right")
            for place in np.flatnonzero(high > low).tolist():
                window = block[place : place + WINDOW]
                for document, start in self.places[low[place] : high[place]].tolist():
                    if self.documents[document].content[start : start + WINDOW] == window:
                        yield document, start, start + WINDOW

    def _bytes(self, one: Interval) -> bytes:
        document, start, end = self._placed(one)
        return self.documents[document].content[start:end]

    def _placed(self, one: Interval) -> tuple[int, int, int]:
        document = next(i for i, doc in enumerate(self.documents) if doc.digest == one.version)
        return document, one.start, one.end

    def _joined(self, places: Sequence[tuple[int, int, int]]) -> Iterator[Interval]:
        current: tuple[int, int, int] | None = None
        for document, start, end in places:
            if current is not None and current[0] == document and start <= current[2]:
                current = (document, current[1], max(end, current[2]))
                continue
            if current is not None:
                yield Interval(self.documents[current[0]].digest, current[1], current[2])
            current = (document, start, end)
        if current is not None:
            yield Interval(self.documents[current[0]].digest, current[1], current[2])


def restricted_text(
    documents: Sequence[Document], labels: frozenset[str], public: Iterable[str | bytes] = ()
) -> RestrictedText:
    """Return what a reader holding `labels` may not read of `documents`.

    `public` is other text that anybody may read and that stands beside evidence: questions, instructions, names.
    """
    stretches = [(i, a, b) for i, doc in enumerate(documents) for a, b in denied_ranges(doc, labels)]
    readable = [*_readable(documents, stretches), *(_raw(one) for one in public)]
    long = [one for one in stretches if one[2] - one[1] >= WINDOW]
    hashes, places = _windows(documents, long)
    keep = np.ones(hashes.size, dtype=np.bool_)
    for text in readable:
        for at in range(0, max(len(text) - WINDOW + 1, 0), _BLOCK):
            keep &= ~np.isin(hashes, _hashes(text[at : at + _BLOCK + WINDOW - 1]))
    hashes, places = hashes[keep], places[keep]
    order = np.argsort(hashes, kind="stable")
    short, indistinct = [], []
    for document, start, end in stretches:
        content = documents[document].content[start:end]
        one = Interval(documents[document].digest, start, end)
        if len(content) >= WINDOW:
            inside = (places[:, 0] == document) & (places[:, 1] >= start) & (places[:, 1] < end)
            if not inside.any():
                indistinct.append(one)
        elif len(content) < SHORTEST or any(content in text for text in readable):
            indistinct.append(one)
        else:
            short.append(one)
    return RestrictedText(tuple(documents), hashes[order], places[order], tuple(short), tuple(indistinct))


def readings(text: bytes) -> Iterator[bytes]:
    """Yield `text` and, where it has escapes, `text` with them read: those of JSON and repr, those of HTML."""
    yield text
    if b"\\" in text:
        yield _SIMPLE.sub(_simple, _UNICODE.sub(_unicode, text))
    if b"&" in text:
        yield html.unescape(text.decode("utf-8", "replace")).encode("utf-8", "replace")


def _unicode(match: re.Match[bytes]) -> bytes:
    """Code points of a run of JSON escapes; a pair of surrogates is one."""
    units = bytes.fromhex(match[0].replace(b"\\u", b"").decode("ascii"))
    return units.decode("utf-16-be", "replace").encode("utf-8")


def _simple(match: re.Match[bytes]) -> bytes:
    if match[1] is not None:
        return bytes.fromhex(match[1].decode("ascii"))
    sign: bytes = match[2]
    return _ESCAPED.get(sign, sign)


def _raw(text: str | bytes) -> bytes:
    return text.encode("utf-8") if isinstance(text, str) else text


def _readable(documents: Sequence[Document], stretches: Sequence[tuple[int, int, int]]) -> Iterator[bytes]:
    """Maximal stretches of the documents that are not restricted."""
    for index, document in enumerate(documents):
        at = 0
        for start, end in [(a, b) for i, a, b in stretches if i == index]:
            yield document.content[at:start]
            at = end
        yield document.content[at:]


def _windows(documents: Sequence[Document], stretches: Sequence[tuple[int, int, int]]) -> tuple[_Words, IntArray]:
    """Hash and place of every telling window of the stretches."""
    hashes: list[_Words] = [np.zeros(0, dtype=np.uint64)]
    places: list[IntArray] = [np.zeros((0, 2), dtype=np.int64)]
    for document, start, end in stretches:
        for at in range(start, end - WINDOW + 1, _BLOCK):
            block = documents[document].content[at : min(at + _BLOCK + WINDOW - 1, end)]
            telling = np.flatnonzero(_different(block) >= FEWEST)
            hashes.append(_hashes(block)[telling])
            places.append(np.stack((np.full(telling.size, document), at + telling), axis=1).astype(np.int64))
    return np.concatenate(hashes), np.concatenate(places)


def _different(block: bytes) -> IntArray:
    """Number of different bytes in each window of a block."""
    view = np.sort(np.lib.stride_tricks.sliding_window_view(np.frombuffer(block, dtype=np.uint8), WINDOW), axis=1)
    found: IntArray = 1 + np.count_nonzero(view[:, 1:] != view[:, :-1], axis=1)
    return found


def _hashes(block: bytes) -> _Words:
    """A 64-bit hash of each window of a block; equality is always checked on the bytes afterwards."""
    if len(block) < WINDOW:
        return np.zeros(0, dtype=np.uint64)
    words = np.frombuffer(block, dtype=np.uint8).astype(np.uint64)
    for width in (1, 2, 4):
        words = words[:-width] | (words[width:] << np.uint64(8 * width))
    first, second = words[: words.size - 8] * _MIX[0], words[8:] * _MIX[1]
    mixed: _Words = first ^ ((second << np.uint64(31)) | (second >> np.uint64(33)))
    return mixed

"""Derived versions: a text made from other bytes, with the recipe and a map of every interval back to its parent.

The one transformation here is transcoding to UTF-8. Its map is exact per character: runs of
`(child start, parent start, characters, child bytes per character, parent bytes per character)`.
"""

from __future__ import annotations

import codecs
import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from annotate.domain.errors import BadInput, EncodingRefused
from annotate.domain.spans import ByteSpan

TOOL = "cutline.transcode"
TOOL_VERSION = "1"
_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
    "utf-8-sig": ((codecs.BOM_UTF8, "utf-8"),),
}


class Run(NamedTuple):
    """`characters` in a row that all take `child_step` bytes in the child and `parent_step` in the parent."""

    child: int
    parent: int
    characters: int
    child_step: int
    parent_step: int


@dataclass(frozen=True)
class Transcoded:
    """UTF-8 bytes made from `parent` (SHA-256 of the original bytes), and the map back."""

    content: bytes
    parent: str
    encoding: str
    runs: tuple[Run, ...]


def transcode(data: bytes, encoding: str, where: str = "text") -> Transcoded:
    """Return `data` as UTF-8 with its interval map; nothing but the encoding changes, line ends included.

    A byte order mark that tells the byte order of UTF-16 or UTF-32 stays in the parent. Raises EncodingRefused for an
    unknown encoding, bytes that are not in it, or an encoding with shift states, which has no map per character.
    """
    codec, offset = _codec(data, encoding, where)
    try:
        text = data[offset:].decode(codec)
    except UnicodeDecodeError as error:
        at = offset + error.start
        raise EncodingRefused(
            where,
            f"not {encoding}: byte 0x{data[at]:02x} at offset {at} begins no valid character",
            "Name the encoding the file was really written in.",
            offset=at,
            byte=data[at],
        ) from error
    content = text.encode("utf-8")
    alone = {letter: _one(letter, codec) for letter in set(text)}
    if b"".join(alone[letter] for letter in text) != data[offset:]:
        raise EncodingRefused(
            where,
            f"{encoding} does not write these bytes back character by character (shift states or double spellings)",
            "Convert the file to UTF-8 with a tool of your choice and import that as the original.",
        )
    return Transcoded(content, hashlib.sha256(data).hexdigest(), encoding, _runs(text, alone, offset))


def to_parent(runs: Sequence[Sequence[int]], span: ByteSpan) -> ByteSpan:
    """Return the parent's bytes that a span of the child was made from; `runs` as stored.

    Raises BadInput for a bound that is no character boundary of the child or lies beyond it.
    """
    return ByteSpan(_parent_of(runs, span.start), _parent_of(runs, span.end))


def _parent_of(runs: Sequence[Sequence[int]], position: int) -> int:
    index = max(bisect_right([run[0] for run in runs], position) - 1, 0)
    child, parent, characters, child_step, parent_step = runs[index]
    steps, rest = divmod(position - child, child_step)
    if rest or not 0 <= steps <= characters:
        raise BadInput(f"byte {position}", "it is no boundary of the derived text", "Use a character boundary of it.")
    return parent + steps * parent_step


def lineage_row(made: Transcoded, parent_bytes: str) -> dict[str, Any]:
    """Return what a derived version stores; `parent_bytes` are the original bytes in base64, to make it again from."""
    return {
        "parent": made.parent,
        "parent_bytes": parent_bytes,
        "tool": TOOL,
        "tool_version": TOOL_VERSION,
        "settings": {"encoding": made.encoding},
        "map": [list(run) for run in made.runs],
    }


def _codec(data: bytes, encoding: str, where: str) -> tuple[str, int]:
    try:
        info = codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, ValueError) as error:
        raise EncodingRefused(
            where, f"“{encoding}” is no known text encoding", "Name one such as cp1252 or utf-16."
        ) from error
    marks = _MARKS.get(info.name, ())
    for mark, codec in marks:
        if data.startswith(mark):
            return codec, len(mark)
    if marks:
        raise EncodingRefused(
            where,
            f"{encoding} needs a byte order mark at the start and there is none",
            f"Name the byte order: {' or '.join(codec for _, codec in marks)}.",
        )
    return info.name, 0


def _one(letter: str, codec: str) -> bytes:
    try:
        return letter.encode(codec)
    except UnicodeEncodeError:
        return b""


def _runs(text: str, alone: dict[str, bytes], offset: int) -> tuple[Run, ...]:
    runs: list[Run] = []
    widths = {letter: (len(letter.encode()), len(data)) for letter, data in alone.items()}
    child, parent = 0, offset
    for steps, letters in groupby(text, key=widths.__getitem__):
        count = sum(1 for _ in letters)
        runs.append(Run(child, parent, count, *steps))
        child += steps[0] * count
        parent += steps[1] * count
    return tuple(runs)

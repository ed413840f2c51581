"""Half-open byte spans `[start, end)` of a UTF-8 text, and the checks every write goes through.

A span lies on code-point boundaries, is not empty and ends within the text; `end == len(content)` is legal. Quotes are
compared byte for byte and never normalised, so a match found in valid UTF-8 always lies on code-point boundaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from annotate.domain.errors import EncodingRefused, SpanError, shown

_SHOWN_BYTES = 120
_SHOWN_PLACES = 5
_BYTE_ORDER_MARKS = {b"\xff\xfe\x00\x00": "utf-32", b"\x00\x00\xfe\xff": "utf-32"} | {
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


class ByteSpan(NamedTuple):
    """Bytes `[start, end)`, already checked against a text."""

    start: int
    end: int


class QuoteMismatch(SpanError):
    """The text at a span is not the quote that was sent; `found` and `sent` are both texts in full."""

    def __init__(self, where: str, what: str, mend: str, *, found: str = "", sent: str = "") -> None:
        self.found = found
        self.sent = sent
        super().__init__(where, what, mend)

    def inside(self, place: str) -> QuoteMismatch:
        """Return the same mismatch with `place` put before where it stands."""
        where = f"{place}, {self.where}" if self.where else place
        return QuoteMismatch(where, self.what, self.mend, found=self.found, sent=self.sent)


def is_boundary(content: bytes, position: int) -> bool:
    """Whether byte `position` (0 ≤ position ≤ len) is no continuation byte of a UTF-8 character."""
    return position == len(content) or content[position] & 0xC0 != 0x80


def character_around(content: bytes, position: int) -> ByteSpan:
    """Return the bytes of the character that `position` lies in or starts."""
    start = position
    while start > 0 and not is_boundary(content, start):
        start -= 1
    end = position + 1
    while not is_boundary(content, end):
        end += 1
    return ByteSpan(start, end)


def check_span(content: bytes, start: object, end: object) -> ByteSpan:
    """Return `[start, end)` as a span of `content` (UTF-8 bytes).

    Raises SpanError for a bound that is no whole number (a boolean is none), is negative, beyond the text or inside a
    character, and for a reversed or empty span.
    """
    first, last = _whole(start, "start"), _whole(end, "end")
    where = f"span [{first}, {last})"
    length = len(content)
    for name, value in (("start", first), ("end", last)):
        if value < 0:
            raise SpanError(where, f"its {name} is negative", f"Offsets run from 0 to {length}.")
        if value > length:
            raise SpanError(
                where, f"its {name} lies beyond the text, which has {length} bytes", f"Use at most {length}."
            )
    if first > last:
        raise SpanError(where, "it is reversed", "Give the smaller offset first.")
    if first == last:
        raise SpanError(where, "it is empty", "Mark at least one character.")
    for name, value in (("start", first), ("end", last)):
        if not is_boundary(content, value):
            around = character_around(content, value)
            shown = content[around.start : around.end].decode("utf-8", "replace")
            raise SpanError(
                where,
                f"its {name} lies inside the character “{shown}” (bytes {around.start} to {around.end})",
                f"Use {around.start} or {around.end}.",
            )
    return ByteSpan(first, last)


def between(length: int, hidden: Sequence[ByteSpan]) -> Iterator[tuple[int, int]]:
    """Yield the byte intervals of a content of `length` bytes that lie outside the sorted spans `hidden`."""
    at = 0
    for span in hidden:
        if span.start > at:
            yield at, span.start
        at = max(at, span.end)
    if at < length:
        yield at, length


def occurrences(content: bytes, quote: bytes) -> list[int]:
    """Return the byte start of every place `quote` stands at, overlapping ones included, in order."""
    places = []
    position = content.find(quote)
    while position != -1:
        places.append(position)
        position = content.find(quote, position + 1)
    return places


def locate_quote(
    content: bytes, quote: bytes | str, occurrence: int | None = None, hidden: Sequence[ByteSpan] = ()
) -> ByteSpan:
    """Return where `quote` stands in `content`; `occurrence` counts from 1 and may be left out for a unique quote.

    For a reader from whom `hidden` bytes are kept, no place that touches them counts: what is said of a quote that
    stands only there is what is said of one that stands nowhere, or a guess could be confirmed.

    Raises SpanError, which names how often the quote occurs, when it is empty, absent, not unique or too few.
    """
    wanted = as_quote(quote)
    where = f"quote “{_shown(wanted)}”"
    if not wanted:
        raise SpanError("quote", "it is empty", "Copy at least one character of the source.")
    if occurrence is not None and (isinstance(occurrence, bool) or not isinstance(occurrence, int) or occurrence < 1):
        raise SpanError(where, f"{occurrence!r} is no occurrence", "Occurrences are whole numbers counted from 1.")
    places = [
        place
        for place in occurrences(content, wanted)
        if not any(place < span.end and span.start < place + len(wanted) for span in hidden)
    ]
    if not places:
        raise SpanError(
            where, "it does not occur in the text", "Copy it exactly, with its blanks, line ends and accents."
        )
    if occurrence is None and len(places) > 1:
        listed = ", ".join(str(place) for place in places[:_SHOWN_PLACES])
        more = ", …" if len(places) > _SHOWN_PLACES else ""
        raise SpanError(
            where,
            f"it occurs {len(places)} times (at bytes {listed}{more})",
            f"Say which occurrence, 1 to {len(places)}, or quote more of the text around it.",
        )
    if occurrence is not None and occurrence > len(places):
        times = "once" if len(places) == 1 else f"{len(places)} times"
        raise SpanError(where, f"it occurs {times}, not {occurrence} times", f"Use an occurrence up to {len(places)}.")
    start = places[(occurrence or 1) - 1]
    return ByteSpan(start, start + len(wanted))


def check_quote(content: bytes, start: object, end: object, quote: bytes | str) -> ByteSpan:
    """Return the span when `content[start:end]` is exactly `quote`; raises QuoteMismatch with both texts otherwise."""
    span = check_span(content, start, end)
    sent, found = as_quote(quote), content[span.start : span.end]
    if sent != found:
        raise QuoteMismatch(
            f"span [{span.start}, {span.end})",
            f"the text there is “{_shown(found)}”, the quote sent is “{_shown(sent)}”",
            "Reload the source and mark it again; its bytes are compared exactly.",
            found=found.decode(),
            sent=sent.decode(),
        )
    return span


def as_quote(quote: bytes | str) -> bytes:
    """Return a quote as UTF-8 bytes; raises SpanError for a lone surrogate or bytes that are not UTF-8."""
    try:
        if isinstance(quote, str):
            return quote.encode()
        quote.decode()
    except UnicodeError as error:
        raise SpanError(
            "quote",
            "it holds half a character (a lone surrogate or a cut UTF-8 sequence)",
            "Select whole characters.",
        ) from error
    return quote


def decode_utf8_or_refuse(data: bytes, where: str = "text") -> str:
    """Return `data` decoded; raises EncodingRefused with the first bad byte's offset, value and line (from 1)."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start
    before = data[:offset]
    line = 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
    mend = "Save it as UTF-8, or import it with an explicit transcoding that names its encoding."
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            mend = f"It begins like {encoding.upper()}: import it with an explicit transcoding from {encoding}."
            break
    raise EncodingRefused(
        where,
        f"not UTF-8: byte 0x{data[offset]:02x} at offset {offset} (line {line}) begins no valid character",
        mend,
        offset=offset,
        byte=data[offset],
    )


def accept_text(data: bytes, where: str, max_bytes: int) -> str:
    """Return the text of a source; raises EncodingRefused when it is empty, longer than `max_bytes` or not UTF-8."""
    if not data:
        raise EncodingRefused(where, "the file is empty", "Import a file with text, or leave it out.")
    check_size(len(data), where, max_bytes)
    return decode_utf8_or_refuse(data, where)


def check_size(length: int, where: str, max_bytes: int) -> None:
    """Raise EncodingRefused when `length` bytes are more than `max_bytes`; usable before a file is read."""
    if length > max_bytes:
        raise EncodingRefused(
            where,
            f"it has {length} bytes, more than the limit of {max_bytes}",
            "Split the document, or raise CUTLINE_MAX_SOURCE_BYTES.",
        )


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpanError(
            f"span {name}", f"{shown(value)} is a {type(value).__name__}, not an offset", "Offsets are whole bytes."
        )
    return value


def _shown(quote: bytes) -> str:
    if len(quote) <= _SHOWN_BYTES:
        return quote.decode("utf-8", "replace")
    return quote[:_SHOWN_BYTES].decode("utf-8", "ignore") + "…"

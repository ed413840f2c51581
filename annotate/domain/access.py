"""Who may read which bytes: labels on a whole version and on ranges of it, against the labels a reader holds.

A reader sees a version only with every one of its labels, and a range only with every one of the range's as well. What
is hidden is said as byte ranges, so that a page or an export can leave the bytes out and still show that, and how much,
was left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotate.domain.errors import BadInput, shown
from annotate.domain.spans import ByteSpan, check_span

#: A label is one word, so that a list of labels reads unambiguously in a form, a TOML file and a ledger record.
LABEL = re.compile(r"[^\W_][\w.:/+-]{0,59}")


@dataclass(frozen=True, order=True)
class LabelledRange:
    """Bytes `[start, end)` that need every one of `labels`, in addition to the version's own."""

    start: int
    end: int
    labels: frozenset[str]

    def as_row(self) -> list[object]:
        """Return `[start, end, [labels]]`, labels sorted, as a version stores it."""
        return [self.start, self.end, sorted(self.labels)]


@dataclass(frozen=True)
class TextPart:
    """A run of a text as one reader sees it; `content` is None where these bytes are hidden from them."""

    start: int
    end: int
    content: bytes | None


def check_labels(values: object, where: str = "labels") -> frozenset[str]:
    """Return access labels as a set; raises BadInput for anything but a list of single words."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise BadInput(where, f"{shown(values)} is no list of labels", 'Write a list, for example ["hr", "finance"].')
    labels = list(values)
    for label in labels:
        if not isinstance(label, str) or not LABEL.fullmatch(label):
            raise BadInput(
                where, f"{shown(label)} is no label", "Use one word of up to 60 letters, digits and . : / + - signs."
            )
    return frozenset(labels)


def check_ranges(rows: Sequence[Sequence[object]], content: bytes, where: str = "access_ranges") -> list[LabelledRange]:
    """Return `[start, end, labels]` rows as sorted ranges of `content`.

    Raises BadInput for a row of another shape, a span that is none (`check_span`) and a range without labels.
    """
    ranges = []
    for number, row in enumerate(rows, 1):
        place = f"{where}, range {number}"
        if isinstance(row, str) or len(row) != 3:
            raise BadInput(place, f"{row!r} is no range", "Write [start, end, [labels]] with offsets in bytes.")
        start, end, labels = row
        try:
            span = check_span(content, start, end)
        except BadInput as problem:
            raise problem.inside(place) from problem
        held = check_labels(labels, place)
        if not held:
            raise BadInput(place, "it names no label, so it would restrict nothing", "Name at least one label.")
        ranges.append(LabelledRange(span.start, span.end, held))
    return sorted(ranges, key=lambda item: (item.start, item.end, sorted(item.labels)))


def may_read(labels: Collection[str], clearance: Collection[str]) -> bool:
    """Whether a reader who holds `clearance` holds every one of `labels`."""
    return set(labels) <= set(clearance)


def hidden_ranges(
    labels: Collection[str], ranges: Iterable[LabelledRange], clearance: Collection[str], length: int
) -> tuple[ByteSpan, ...]:
    """Return the bytes hidden from a reader, merged and in order; all of `[0, length)` without the version's labels."""
    if not may_read(labels, clearance):
        return (ByteSpan(0, length),)
    merged: list[ByteSpan] = []
    for item in sorted((r.start, r.end) for r in ranges if not may_read(r.labels, clearance)):
        if merged and item[0] <= merged[-1].end:
            merged[-1] = ByteSpan(merged[-1].start, max(merged[-1].end, item[1]))
        else:
            merged.append(ByteSpan(*item))
    return tuple(merged)


def touches_hidden(span: ByteSpan, hidden: Iterable[ByteSpan]) -> bool:
    """Whether a span shares at least one byte with a hidden range; spans that only touch share none."""
    return any(span.start < item.end and item.start < span.end for item in hidden)


def readable_parts(content: bytes, hidden: Sequence[ByteSpan]) -> tuple[TextPart, ...]:
    """Cut a text into readable and hidden parts that together cover it; `hidden` is merged and in order."""
    parts = []
    position = 0
    for item in hidden:
        if item.start > position:
            parts.append(TextPart(position, item.start, content[position : item.start]))
        parts.append(TextPart(item.start, item.end, None))
        position = item.end
    if position < len(content):
        parts.append(TextPart(position, len(content), content[position:]))
    return tuple(parts)

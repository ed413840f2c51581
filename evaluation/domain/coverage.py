"""Interval arithmetic of support: unions, complete and single-unit support, severed spans.

Intervals are half-open: `[0, 10)` and `[10, 20)` touch and do not overlap, yet their union covers `[0, 20)`.
Overlapping units never count twice. A *target* is one sufficient set as (document index, start, end) triples of its
necessary spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.frozen import FrozenQuestion, SupportSpan
from evaluation.domain.tokens import IntArray

type Span = tuple[int, int, int]
type Target = tuple[Span, ...]


class SupportError(ValueError):
    """A support set that cannot be measured."""


def union(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Disjoint, sorted intervals covering the same points; touching ones are joined, empty ones dropped."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(pair for pair in pairs if pair[0] < pair[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def length(pairs: Iterable[tuple[int, int]]) -> int:
    """Size of the union."""
    return sum(end - start for start, end in union(pairs))


def covered(pairs: Iterable[tuple[int, int]], start: int, end: int) -> int:
    """How many points of `[start, end)` lie in the union of `pairs`; 0 when they only touch."""
    return length((max(a, start), min(b, end)) for a, b in pairs)


def overlaps(pairs: Iterable[tuple[int, int]], start: int, end: int) -> bool:
    """Whether any interval shares a point with `[start, end)`."""
    return any(a < end and start < b for a, b in pairs)


def necessary(support: Sequence[SupportSpan]) -> tuple[SupportSpan, ...]:
    """The spans a set needs. Raises `SupportError` for a set in which every span is merely topical."""
    spans = tuple(span for span in support if span.necessary)
    if not spans:
        names = ", ".join(span.name for span in support) or "no span at all"
        raise SupportError(
            f"support set ({names}) has no necessary span, so nothing could fail it; adjudicate it again"
        )
    return spans


def targets(question: FrozenQuestion, by_version: Mapping[str, int]) -> tuple[Target, ...]:
    """The question's sufficient sets as spans of documents of the corpus.

    Raises `SupportError` when a span names a version that is not in the corpus.
    """
    found: list[Target] = []
    for support in question.support_sets:
        spans: list[Span] = []
        for span in necessary(support):
            document = by_version.get(span.interval.version)
            if document is None:
                raise SupportError(
                    f"question {question.question_id}: span {span.name!r} is in version {span.interval.version}, "
                    "which is not in the corpus; add that version or adjudicate the question on the new one"
                )
            spans.append((document, span.interval.start, span.interval.end))
        found.append(tuple(spans))
    return tuple(found)


@dataclass(frozen=True)
class Visible:
    """Units in rank order as arrays: document index, start, end."""

    document: IntArray
    start: IntArray
    end: IntArray


def completion_rank(units: Visible, sets: Sequence[Target]) -> int:
    """Smallest number of first units whose union holds every span of one set; 0 when all of them do not."""
    best = 0
    for target in sets:
        worst = 0
        for span in target:
            reached = _span_rank(units, span)
            if reached == 0:
                worst = 0
                break
            worst = max(worst, reached)
        if worst and (best == 0 or worst < best):
            best = worst
    return best


def _span_rank(units: Visible, span: Span) -> int:
    document, start, end = span
    pieces: list[tuple[int, int]] = []
    touching = np.flatnonzero((units.document == document) & (units.start < end) & (units.end > start))
    for position in touching.tolist():
        pieces.append((max(start, int(units.start[position])), min(end, int(units.end[position]))))
        if pieces[-1] == (start, end) or length(pieces) == end - start:
            return int(position) + 1
    return 0


def single_unit(units: Visible, sets: Sequence[Target]) -> bool:
    """Whether one unit alone holds all spans of some set; never so for a set in two documents."""
    for target in sets:
        document, start, end = hull(target)
        if document < 0:
            continue
        if bool(np.any((units.document == document) & (units.start <= start) & (units.end >= end))):
            return True
    return False


def hull(target: Target) -> Span:
    """Smallest interval around a set's spans; document −1 when they are in several documents."""
    documents = {span[0] for span in target}
    document = documents.pop() if len(documents) == 1 else -1
    return document, min(span[1] for span in target), max(span[2] for span in target)


def whole_in_one_chunk(chunks: CorpusChunks, sets: Sequence[Target]) -> bool:
    """Whether some chunk of an index holds all spans of some set; one binary search per set.

    Of the chunks that begin at or before a byte, the last reaches farthest, since ends never decrease.
    """
    for target in sets:
        document, start, end = hull(target)
        if document < 0:
            continue
        first, last = int(chunks.first[document]), int(chunks.first[document + 1])
        position = first + int(np.searchsorted(chunks.start[first:last], start, side="right")) - 1
        if position >= first and int(chunks.end[position]) >= end:
            return True
    return False


def severed(chunks: CorpusChunks, sets: Sequence[Target]) -> int:
    """How many different spans of the sets a cut divides: a cut strictly inside, whatever overlap repairs later."""
    count = 0
    for document, start, end in sorted({span for target in sets for span in target}):
        cuts = chunks.tables[document].cut_bytes
        count += int(np.searchsorted(cuts, end, side="left") > np.searchsorted(cuts, start, side="right"))
    return count


def covered_bytes(units: Visible, target: Target) -> tuple[int, int]:
    """Bytes of a set's spans that are visible, and bytes of those spans; spans of one set that overlap count once."""
    got = total = 0
    for document in sorted({span[0] for span in target}):
        spans = union((start, end) for doc, start, end in target if doc == document)
        mine = units.document == document
        pieces = list(zip(units.start[mine].tolist(), units.end[mine].tolist(), strict=True))
        total += length(spans)
        got += sum(covered(pieces, start, end) for start, end in spans)
    return got, total

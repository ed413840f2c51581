"""Interval arithmetic of support: unions, covered points, and sufficient sets as spans of a corpus.

Intervals are half-open: `[0, 10)` and `[10, 20)` touch and do not overlap, yet their union covers `[0, 20)`.
Overlapping units never count twice. A *target* is one sufficient set as (document index, start, end) triples of its
necessary spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evaluation.domain.frozen import FrozenQuestion, SupportSpan

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

"""Support of one question the slow, obvious way: sets of bytes. What the array code is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

type Piece = tuple[int, int, int]
"""Document index, first and last byte."""

type Points = set[tuple[int, int]]


def points(pieces: Sequence[Piece]) -> Points:
    """Every byte of the pieces, by document."""
    return {(doc, x) for doc, start, end in pieces for x in range(start, end)}


@dataclass(frozen=True)
class Expected:
    """What the reference finds for one question."""

    complete: bool
    single: bool
    rank: int
    needed_bytes: int
    covered_bytes: int
    spans: int
    covered_spans: int
    at_threshold: int
    relevant_bytes: int
    shown_bytes: int


def expected(units: Sequence[Piece], sets: Sequence[Sequence[Piece]], threshold: Fraction) -> Expected:
    """Measure the units of one question, in rank order, against its readable sets."""

    def holds(count: int) -> bool:
        return any(points(one) <= points(units[:count]) for one in sets)

    shown = points(units)
    rank = next((count for count in range(1, len(units) + 1) if holds(count)), 0)
    single = any(points(one) <= points([unit]) for unit in units for one in sets)
    best = max(sets, key=lambda one: Fraction(len(points(one) & shown), len(points(one))), default=())
    shares = [Fraction(len(points([span]) & shown), len(points([span]))) for span in best]
    return Expected(
        complete=rank > 0,
        single=single,
        rank=rank,
        needed_bytes=len(points(best)),
        covered_bytes=len(points(best) & shown),
        spans=len(best),
        covered_spans=sum(share == 1 for share in shares),
        at_threshold=sum(share >= threshold for share in shares),
        relevant_bytes=len(shown & {point for one in sets for point in points(one)}),
        shown_bytes=len(shown),
    )

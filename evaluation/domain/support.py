"""Support of whole blocks: what the units of every question cover, how early, and how much of it.

Definitions are those of `evaluation.domain.coverage`, which states them for one question at a time; here all questions,
sets and spans of a block are measured at once. A list of units is first turned into *exclusive* intervals: sorted by
their begin, each loses what an earlier one already showed. They are disjoint and have the same union, so the bytes of
any interval that the union covers are a plain sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from evaluation.domain.asking import Block, Intervals
from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.hits import BoolArray, Hits
from evaluation.domain.tokens import IntArray

#: Stands for the begin of a unit that does not exist: behind every byte of any corpus.
_NOWHERE = np.int64(2**62)


@dataclass(frozen=True, eq=False)
class Shown:
    """Units of a block as intervals of the corpus axis, with their union in disjoint pieces."""

    valid: BoolArray
    low: IntArray
    high: IntArray

    @classmethod
    def of(cls, hits: Hits, base: IntArray) -> Shown:
        """The intervals of a list of units."""
        return cls(hits.valid, *hits.axis(base))

    @cached_property
    def exclusive(self) -> tuple[IntArray, IntArray]:
        """Disjoint intervals with the union of the units, sorted; empty ones have their end before their begin."""
        low = np.where(self.valid, self.low, _NOWHERE)
        order = np.argsort(low, axis=1)
        low, high = np.take_along_axis(low, order, axis=1), np.take_along_axis(self.high, order, axis=1)
        reach = np.maximum.accumulate(high, axis=1)
        low[:, 1:] = np.maximum(low[:, 1:], reach[:, :-1])
        return low, high

    @cached_property
    def union_bytes(self) -> IntArray:
        """Bytes of the union per question."""
        low, high = self.exclusive
        total: IntArray = np.maximum(high - low, 0).sum(axis=1)
        return total

    def covered(self, wanted: Intervals) -> IntArray:
        """Bytes of each wanted interval that the union of its question's units covers."""
        low, high = (side[wanted.question] for side in self.exclusive)
        shared = np.minimum(high, wanted.high[:, None]) - np.maximum(low, wanted.low[:, None])
        got: IntArray = np.maximum(shared, 0).sum(axis=1)
        return got


def every_in(flags: BoolArray, begins: IntArray) -> BoolArray:
    """Whether all flags of each group hold; groups are consecutive, not empty, and begin at `begins`."""
    return np.logical_and.reduceat(flags, begins) if begins.size else np.zeros(0, dtype=np.bool_)


def any_set(block: Block, flags: BoolArray) -> BoolArray:
    """Per question, whether the flag of any of its sets holds; False without sets."""
    found = np.zeros(len(block), dtype=np.bool_)
    support = block.support
    if support.with_sets.size:
        found[support.with_sets] = np.logical_or.reduceat(flags, support.first_set)
    return found


def complete(block: Block, shown: Shown) -> BoolArray:
    """Per question, whether the union of its units holds every necessary span of at least one readable set."""
    pieces = block.support.pieces
    return any_set(block, every_in(shown.covered(pieces) == pieces.size, block.support.first_piece))


def single_unit(block: Block, shown: Shown) -> BoolArray:
    """Per question, whether one unit alone holds all spans of some set (a diagnostic)."""
    support = block.support
    rows = support.set_question
    holds = (shown.low[rows] <= support.hull_low[:, None]) & (shown.high[rows] >= support.hull_high[:, None])
    return any_set(block, (holds & shown.valid[rows]).any(axis=1))


def completion_rank(block: Block, shown: Shown) -> IntArray:
    """Per question, the smallest number of first units whose union holds every span of some set; 0 when never."""
    support = block.support
    ranks = np.zeros(len(block), dtype=np.int64)
    if not support.set_question.size:
        return ranks
    reached = span_ranks(support.spans, shown)
    never = np.iinfo(np.int64).max
    of_set = np.maximum.reduceat(np.where(reached == 0, never, reached), support.first_span)
    best = np.minimum.reduceat(of_set, support.first_set)
    ranks[support.with_sets] = np.where(best == never, 0, best)
    return ranks


def span_ranks(spans: Intervals, shown: Shown) -> IntArray:
    """Per span, the smallest number of first units whose union covers it; 0 when all of them do not.

    One unit alone completes most spans. The few that several units touch before one covers them alone are followed
    unit by unit.
    """
    rows = spans.question
    low, high, valid = shown.low[rows], shown.high[rows], shown.valid[rows]
    touch = valid & (low < spans.high[:, None]) & (high > spans.low[:, None])
    alone = touch & (low <= spans.low[:, None]) & (high >= spans.high[:, None])
    has = alone.any(axis=1)
    first = np.where(has, alone.argmax(axis=1), low.shape[1])
    ranks = np.where(has, first + 1, 0).astype(np.int64)
    touch &= np.arange(low.shape[1])[None, :] < first[:, None]
    for span in np.flatnonzero(np.count_nonzero(touch, axis=1) > 1).tolist():
        left = [(int(spans.low[span]), int(spans.high[span]))]
        for place in np.flatnonzero(touch[span]).tolist():
            left = _without(left, int(low[span, place]), int(high[span, place]))
            if not left:
                ranks[span] = place + 1
                break
    return ranks


def _without(left: list[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    """What is left of disjoint intervals after taking `[low, high)` away."""
    rest: list[tuple[int, int]] = []
    for start, end in left:
        if high <= start or end <= low:
            rest.append((start, end))
            continue
        if start < low:
            rest.append((start, low))
        if high < end:
            rest.append((high, end))
    return rest


@dataclass(frozen=True)
class Partial:
    """How much of a question's best set its units hold: the set with the largest share of covered bytes, the first of
    equals. All counts are of that one set, 0 for a question without a readable set.

    `at_threshold` counts spans of which at least the declared share is visible.
    """

    needed_bytes: IntArray
    covered_bytes: IntArray
    spans: IntArray
    covered_spans: IntArray
    at_threshold: IntArray


def partial(block: Block, shown: Shown, threshold: Fraction) -> Partial:
    """Measure partial coverage; `threshold` is the share of a span that counts as covered in the threshold variant."""
    support = block.support
    none = np.zeros(len(block), dtype=np.int64)
    if not support.set_question.size:
        return Partial(none, none, none, none, none)
    got_pieces, got_spans = shown.covered(support.pieces), shown.covered(support.spans)
    needed = np.add.reduceat(support.pieces.size, support.first_piece)
    covered = np.add.reduceat(got_pieces, support.first_piece)
    size = support.spans.size
    enough = got_spans * threshold.denominator >= size * threshold.numerator
    # The best set of each question: sorted by question, then falling share, then the order of the sets.
    order = np.lexsort((np.arange(needed.size), -(covered / needed), support.set_question))
    best = order[support.first_set]

    def per_question(values: IntArray) -> IntArray:
        found = none.copy()
        found[support.with_sets] = values[best]
        return found

    def spans_of_set(flags: BoolArray) -> IntArray:
        counted: IntArray = np.add.reduceat(flags.astype(np.int64), support.first_span)
        return counted

    return Partial(
        per_question(needed),
        per_question(covered),
        per_question(spans_of_set(np.ones(size.size, dtype=np.bool_))),
        per_question(spans_of_set(got_spans == size)),
        per_question(spans_of_set(enough)),
    )


def relevant_bytes(block: Block, shown: Shown) -> IntArray:
    """Bytes of the units' union that lie inside any necessary span of any readable set; over `union_bytes` this is the
    precision of the evidence."""
    anywhere = block.support.anywhere
    return np.bincount(anywhere.question, weights=shown.covered(anywhere), minlength=len(block)).astype(np.int64)


def whole_in_one_chunk(block: Block, chunks: CorpusChunks) -> BoolArray:
    """Per question, whether some chunk of the index holds all spans of some set.

    Of the chunks that begin at or before a byte, the last reaches farthest, since ends never decrease.
    """
    support = block.support
    place = np.searchsorted(chunks.global_start, support.hull_low, side="right") - 1
    holds = np.zeros(place.size, dtype=np.bool_)
    there = place >= 0
    holds[there] = chunks.global_end[place[there]] >= support.hull_high[there]
    return any_set(block, holds)


def severed(block: Block, chunks: CorpusChunks) -> IntArray:
    """Per question, how many different spans of its sets a cut divides: strictly inside, whatever overlap repairs."""
    spans = block.support.spans
    cuts = np.concatenate(
        [table.cut_bytes + start for table, start in zip(chunks.tables, chunks.base.tolist(), strict=True)]
        or [np.zeros(0, dtype=np.int64)]
    )
    different = np.unique(np.stack((spans.question, spans.low, spans.high)), axis=1)
    inside = np.searchsorted(cuts, different[2], side="left") > np.searchsorted(cuts, different[1], side="right")
    return np.bincount(different[0][inside], minlength=len(block)).astype(np.int64)


def touching(block: Block, shown: Shown) -> IntArray:
    """Per question, how many units touch evidence marked as forbidden."""
    hit = np.zeros(shown.valid.shape, dtype=np.bool_)
    bad = block.forbidden
    for q, low, high in zip(bad.question.tolist(), bad.low.tolist(), bad.high.tolist(), strict=True):
        hit[q] |= shown.valid[q] & (shown.low[q] < high) & (shown.high[q] > low)
    return hit.sum(axis=1, dtype=np.int64)

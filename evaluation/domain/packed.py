"""What a packer hands on: the packed units of a block as arrays, what stayed out and why, and what they repeat."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from evaluation.domain.hits import BoolArray, Hits
from evaluation.domain.support import Shown
from evaluation.domain.tokens import IntArray

OVER_CEILING = "over ceiling"
AFTER_STOP = "after stop"
AFTER_TRUNCATION = "after truncation"
RECOUNT = "over ceiling when counted whole"
BEYOND_K = "beyond k"


@dataclass(frozen=True)
class Packed:
    """The packed units of a block in one view.

    `column` has the shape of `units`: where each stood in the list that was packed (−1 beyond the end), `listed` how
    many units that list had. `ended[q]` is the column at which packing ended (by a stop, a truncation or k), `listed`
    where it did not. `cut` marks questions whose last unit was shortened. `taken_back` lists (question, column) of
    units a whole count took back. `tokens` is the evidence's size as the plan counts it.
    """

    units: Hits
    column: IntArray
    listed: IntArray
    ended: IntArray
    cut: BoolArray
    tokens: IntArray
    by_count: bool = False
    taken_back: tuple[tuple[int, int], ...] = ()


def refusals(
    listed: int, packed: Collection[int], ended: int, *, cut: bool, by_count: bool, taken_back: Collection[int] = ()
) -> dict[int, str]:
    """Column → reason for every listed unit that was not packed. A record keeps these few numbers and no list."""
    reasons: dict[int, str] = {}
    for column in range(listed):
        if column in packed:
            continue
        if by_count:
            reasons[column] = BEYOND_K
        elif column in taken_back:
            reasons[column] = RECOUNT
        elif column <= ended:
            reasons[column] = OVER_CEILING
        else:
            reasons[column] = AFTER_TRUNCATION if cut else AFTER_STOP
    return reasons


def source_tokens(units: Hits, token_base: IntArray) -> tuple[IntArray, IntArray]:
    """Source tokens of all units per question, and of their union; the difference is what is shown more than once.

    `token_base` places the tokens of each document on one axis, as `Hits.axis` does for bytes.
    """
    at = token_base[np.maximum(units.document, 0)]
    valid = units.valid
    low, high = np.where(valid, units.token_start + at, 0), np.where(valid, units.token_end + at, 0)
    total: IntArray = (high - low).sum(axis=1)
    return total, Shown(valid, low, high).union_bytes


def duplicate_pairs(units: Hits, threshold: Fraction) -> tuple[IntArray, IntArray]:
    """Per question: pairs of one document whose shared bytes are at least `threshold` of the smaller one, and pairs of
    one document at all."""
    duplicates, compared = (np.zeros(units.count.size, dtype=np.int64) for _ in range(2))
    valid, size = units.valid, units.end - units.start
    for one in range(units.document.shape[1] - 1):
        rest = slice(one + 1, None)
        same = valid[:, rest] & valid[:, one, None] & (units.document[:, rest] == units.document[:, one, None])
        shared = np.minimum(units.end[:, rest], units.end[:, one, None])
        shared = shared - np.maximum(units.start[:, rest], units.start[:, one, None])
        smaller = np.minimum(size[:, rest], size[:, one, None])
        enough = (shared > 0) & (shared * threshold.denominator >= smaller * threshold.numerator)
        compared += np.count_nonzero(same, axis=1)
        duplicates += np.count_nonzero(same & enough, axis=1)
    return duplicates, compared

"""Which span and which support set of one pass corresponds to which of the other.

Names are private to an annotator, so only bytes count. Spans of equal bytes correspond; of the rest, overlapping ones
of the same version are paired so that the summed Jaccard overlap is greatest (an assignment problem, solved by
scipy.optimize.linear_sum_assignment). What is left stands alone. Sets are then compared as sets of corresponding spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.pass_check import set_name

# Scores are whole millionths, so that equal overlaps are equal on every machine.
_SCALE = 1_000_000


@dataclass(frozen=True)
class JointSpan:
    """A span as both sides marked it, under one name; `a` or `b` is None where that side did not mark it."""

    name: str
    a: MarkedSpan | None
    b: MarkedSpan | None
    forbidden_a: bool = False
    forbidden_b: bool = False

    @property
    def shared(self) -> bool:
        """Whether both sides marked it."""
        return self.a is not None and self.b is not None

    @property
    def either(self) -> MarkedSpan:
        """Return side A's span, or B's where A has none."""
        span = self.a or self.b
        if span is None:
            raise ValueError(f"joint span {self.name!r} has no side")
        return span


@dataclass(frozen=True)
class JointSet:
    """A support set as both sides made it, as joint span names in the order of the text; None where a side has none."""

    a: tuple[str, ...] | None
    b: tuple[str, ...] | None


@dataclass(frozen=True)
class Alignment:
    """All spans and sets of two passes. Spans come in the order of the text, sets in side A's order, then B's own."""

    spans: tuple[JointSpan, ...]
    sets: tuple[JointSet, ...]

    @property
    def set_names(self) -> tuple[str, ...]:
        """Return how each of `sets` is called: set A, set B, …"""
        return tuple(set_name(index) for index in range(len(self.sets)))

    def shared_part(self, members: Iterable[str]) -> frozenset[str]:
        """Return those of `members` (joint names) that both sides marked."""
        shared = {span.name for span in self.spans if span.shared}
        return frozenset(members) & shared


def align(a: PassContent, b: PassContent) -> Alignment:
    """Align two passes. No pass marks the same bytes twice (`pass_check` holds that at submission)."""
    pairs = align_spans(a.spans, b.spans, a.forbidden, b.forbidden)
    spans: list[JointSpan] = []
    joint_a: dict[str, str] = {}
    joint_b: dict[str, str] = {}
    taken: set[str] = set()
    for one, two in pairs:
        name = _joint_name([span.name for span in (one, two) if span], taken)
        taken.add(name)
        if one:
            joint_a[one.name] = name
        if two:
            joint_b[two.name] = name
        spans.append(
            JointSpan(
                name,
                one,
                two,
                one is not None and one.name in a.forbidden,
                two is not None and two.name in b.forbidden,
            )
        )
    order = {span.name: index for index, span in enumerate(spans)}
    shared = frozenset(span.name for span in spans if span.shared)
    sets_a = [_members(members, joint_a, order) for members in a.sets]
    sets_b = [_members(members, joint_b, order) for members in b.sets]
    return Alignment(tuple(spans), tuple(_align_sets(sets_a, sets_b, shared)))


def align_spans(
    a: Sequence[MarkedSpan],
    b: Sequence[MarkedSpan],
    forbidden_a: Iterable[str] = (),
    forbidden_b: Iterable[str] = (),
) -> list[tuple[MarkedSpan | None, MarkedSpan | None]]:
    """Return corresponding spans as pairs, in the order of the text.

    Spans of equal bytes are paired whatever they are called; merely overlapping ones only where both or neither are
    forbidden evidence.
    """
    by_bytes = {span.bytes_key: span for span in b}
    pairs: list[tuple[MarkedSpan | None, MarkedSpan | None]] = []
    rest_a: list[MarkedSpan] = []
    for span in sorted(a):
        twin = by_bytes.pop(span.bytes_key, None)
        if twin is None:
            rest_a.append(span)
        else:
            pairs.append((span, twin))
    rest_b = sorted(by_bytes.values())
    out_a, out_b = frozenset(forbidden_a), frozenset(forbidden_b)
    groups = sorted({(s.version, s.name in out_a) for s in rest_a} & {(s.version, s.name in out_b) for s in rest_b})
    for version, forbidden in groups:
        mine = [s for s in rest_a if s.version == version and (s.name in out_a) == forbidden]
        theirs = [s for s in rest_b if s.version == version and (s.name in out_b) == forbidden]
        pairs.extend((mine[i], theirs[j]) for i, j in _best_pairs(_overlaps(mine, theirs)))
    used_a = {one.bytes_key for one, _ in pairs if one}
    used_b = {two.bytes_key for _, two in pairs if two}
    pairs.extend((span, None) for span in rest_a if span.bytes_key not in used_a)
    pairs.extend((None, span) for span in rest_b if span.bytes_key not in used_b)
    return sorted(pairs, key=lambda pair: min(span.bytes_key for span in pair if span))


def _overlaps(a: Sequence[MarkedSpan], b: Sequence[MarkedSpan]) -> NDArray[np.int64]:
    """Return the Jaccard overlap in millionths, shape (len(a), len(b)); positive exactly where a byte is shared."""
    start_a, end_a = (np.array([getattr(s, side) for s in a], dtype=np.int64)[:, None] for side in ("start", "end"))
    start_b, end_b = (np.array([getattr(s, side) for s in b], dtype=np.int64)[None, :] for side in ("start", "end"))
    common = np.maximum(np.minimum(end_a, end_b) - np.maximum(start_a, start_b), 0)
    union = (end_a - start_a) + (end_b - start_b) - common
    scores: NDArray[np.int64] = np.where(common > 0, 1 + common * _SCALE // union, 0)
    return scores


def _best_pairs(scores: NDArray[np.int64]) -> list[tuple[int, int]]:
    # Imported here: SciPy takes longer to load than everything else a page or a command needs.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if scores[i, j] > 0]


def _joint_name(names: Sequence[str], taken: set[str]) -> str:
    """Return a free name that does not depend on which side is called A."""
    candidates = sorted(set(names))
    for name in candidates:
        if name not in taken:
            return name
    number = 2
    while f"{candidates[0][:55]}-{number}" in taken:
        number += 1
    return f"{candidates[0][:55]}-{number}"


def _members(members: Sequence[str], joint: Mapping[str, str], order: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted({joint[name] for name in members}, key=order.__getitem__))


def _align_sets(
    sets_a: Sequence[tuple[str, ...]], sets_b: Sequence[tuple[str, ...]], shared: frozenset[str]
) -> list[JointSet]:
    """Pair sets: equal ones first, then equal as far as both sides marked the spans, then by overlap of that part."""
    if not sets_a or not sets_b:
        return [JointSet(members, None) for members in sets_a] + [JointSet(None, members) for members in sets_b]
    scores = np.array([[_set_score(set(m), set(n), shared) for n in sets_b] for m in sets_a], dtype=np.int64)
    partner = dict(_best_pairs(scores))
    paired = [JointSet(members, sets_b[partner[i]] if i in partner else None) for i, members in enumerate(sets_a)]
    alone = [JointSet(None, members) for j, members in enumerate(sets_b) if j not in partner.values()]
    return paired + alone


def _set_score(a: set[str], b: set[str], shared: frozenset[str]) -> int:
    if a == b and a:
        # Above any sum the other pairs of a full assignment could reach by leaving this one.
        return 1_000_000 * _SCALE
    part_a, part_b = a & shared, b & shared
    common = len(part_a & part_b)
    if not common:
        return 0
    if part_a == part_b:
        return 1_000 * _SCALE + _SCALE * len(a & b) // len(a | b)
    return 1 + _SCALE * common // len(part_a | part_b)

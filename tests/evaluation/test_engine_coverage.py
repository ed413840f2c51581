"""Unions, complete and single-unit support, severed spans, stages of loss."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.domain.coverage import (
    SupportError,
    Visible,
    completion_rank,
    covered,
    covered_bytes,
    length,
    overlaps,
    severed,
    single_unit,
    targets,
    union,
    whole_in_one_chunk,
)
from evaluation.domain.index_build import build_index, prepare_corpus
from evaluation.domain.outcomes import STAGES, Stage
from evaluation.domain.pipeline import ArmSettings
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.stages import Transition, lost_after, transitions
from tests.evaluation.engine_world import Analyser, byte_tokenizer, document, question, span

pairs = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8)


def points(intervals: list[tuple[int, int]]) -> set[int]:
    return {x for start, end in intervals for x in range(start, end)}


@given(pairs, st.integers(0, 30), st.integers(0, 30))
def test_interval_arithmetic_equals_sets_of_points(intervals: list[tuple[int, int]], start: int, end: int) -> None:
    merged = union(intervals)
    assert points(merged) == points(intervals)
    assert all(a[1] < b[0] for a, b in pairwise(merged))
    assert length(intervals) == len(points(intervals))
    assert covered(intervals, start, end) == len(points(intervals) & set(range(start, end)))
    if start < end:
        solid = [pair for pair in intervals if pair[0] < pair[1]]
        assert overlaps(solid, start, end) == bool(points(solid) & set(range(start, end)))


def test_touching_is_not_overlapping_and_overlap_counts_once() -> None:
    assert covered([(0, 10)], 10, 20) == 0
    assert not overlaps([(0, 10)], 10, 20)
    assert covered([(0, 10), (2, 12), (4, 14)], 3, 9) == 6


def visible(*rows: tuple[int, int, int]) -> Visible:
    return Visible(*(np.array([row[i] for row in rows], dtype=np.int64) for i in range(3)))


spans = st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(1, 6)).map(lambda t: (t[0], t[1], t[1] + t[2]))


@given(st.lists(spans, max_size=10), st.lists(st.lists(spans, min_size=1, max_size=3), max_size=3))
def test_completion_rank_is_the_first_prefix_whose_union_holds_a_set(
    units: list[tuple[int, int, int]], sets: list[list[tuple[int, int, int]]]
) -> None:
    def holds(count: int) -> bool:
        shown = {(doc, x) for doc, start, end in units[:count] for x in range(start, end)}
        return any(all((doc, x) in shown for doc, start, end in one for x in range(start, end)) for one in sets)

    expected = next((count for count in range(1, len(units) + 1) if holds(count)), 0)
    ranks = tuple(tuple(one) for one in sets)
    assert completion_rank(visible(*units), ranks) == expected
    alone = any(
        all(doc == d and start <= a and b <= end for d, a, b in one) for doc, start, end in units for one in sets
    )
    assert single_unit(visible(*units), ranks) == alone
    for one in ranks:
        got, total = covered_bytes(visible(*units), one)
        wanted = {(doc, x) for doc, start, end in one for x in range(start, end)}
        shown = {(doc, x) for doc, start, end in units for x in range(start, end)}
        assert (got, total) == (len(wanted & shown), len(wanted))


def test_joint_evidence_of_two_units_is_complete_and_not_single() -> None:
    units = visible((0, 0, 10), (1, 5, 9), (0, 10, 20))
    assert completion_rank(units, (((0, 2, 18),),)) == 3
    assert not single_unit(units, (((0, 2, 18),),))
    assert completion_rank(units, (((0, 2, 18),), ((1, 5, 6), (0, 1, 2)))) == 2


@given(st.integers(1, 9), st.integers(0, 8), st.integers(1, 9), st.integers(0, 40), st.integers(1, 15))
def test_chunk_stage_counts_whole_sets_and_severed_spans(
    capacity: int, overlap: int, phase: int, start: int, size: int
) -> None:
    overlap = min(overlap, capacity - 1)
    window = TokenWindow(capacity, overlap)
    prepared = prepare_corpus([document("d", "a" * 60)], byte_tokenizer(), Analyser())
    build = build_index(prepared, ArmSettings("a", window), min(phase, window.stride))
    chunks = build.chunks
    target = ((0, start, start + size),)
    expected = any(a <= start and start + size <= b for a, b in zip(chunks.start, chunks.end, strict=True))
    assert whole_in_one_chunk(chunks, (target,)) == expected
    inside = [c for c in chunks.tables[0].cut_bytes.tolist() if start < c < start + size]
    assert severed(chunks, (target,)) == bool(inside)


def test_set_of_merely_topical_spans_is_refused() -> None:
    doc = document("d", "alpha beta")
    with pytest.raises(SupportError, match="no necessary span"):
        targets(question("?", [span(doc, "alpha", necessary=False)]), {doc.digest: 0})


def test_topical_span_is_not_needed() -> None:
    doc = document("d", "alpha beta")
    asked = question("?", [span(doc, "alpha"), span(doc, "beta", necessary=False)])
    assert targets(asked, {doc.digest: 0}) == (((0, 0, 5),),)


def test_span_of_a_version_outside_the_corpus_is_refused() -> None:
    doc = document("d", "alpha beta")
    with pytest.raises(SupportError, match="not in the corpus"):
        targets(question("?", [span(doc, "alpha")]), {})


def test_loss_is_named_by_the_last_complete_stage_and_recovery_is_a_transition() -> None:
    def states(text: str) -> dict[Stage, bool]:
        return {stage: sign == "1" for stage, sign in zip(STAGES, text, strict=True)}

    assert lost_after(states("1111111")) is None
    assert lost_after(states("0000000")) is None
    assert lost_after(states("1000000")) is Stage.CHUNKED
    assert lost_after(states("1111110")) is Stage.DEDUPLICATED
    assert lost_after(states("1001100")) is Stage.AUTHORISED
    assert transitions(states("1001100")) == (
        Transition(Stage.CANDIDATES, recovered=False),
        Transition(Stage.EXPANDED, recovered=True),
        Transition(Stage.DEDUPLICATED, recovered=False),
    )

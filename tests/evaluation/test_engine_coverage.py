"""Unions, support of whole blocks against a slow reference, severed spans, stages of loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from evaluation.domain import support
from evaluation.domain.asking import block_of_questions
from evaluation.domain.coverage import SupportError, covered, length, overlaps, targets, union
from evaluation.domain.frozen import FrozenQuestion, Interval, SupportSpan
from evaluation.domain.hits import Hits
from evaluation.domain.index_build import build_index, prepare_corpus
from evaluation.domain.outcomes import STAGES, Stage
from evaluation.domain.pipeline import ArmSettings, PreparedCorpus, Unit
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.stages import Transition, lost_after, transitions
from evaluation.domain.support import Shown
from evaluation.domain.whole_packing import hits_of_units
from tests.evaluation.engine_world import Analyser, byte_tokenizer, document, question, span
from tests.evaluation.support_reference import Piece, expected

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


#: Three small documents side by side, so that intervals at their edges touch on the corpus axis.
DOCUMENTS = tuple(document(name, name * 27) for name in "abc")


@pytest.fixture(scope="module")
def small() -> PreparedCorpus:
    return prepare_corpus(DOCUMENTS, byte_tokenizer(), Analyser())


def asked(prepared: PreparedCorpus, sets: Sequence[Sequence[Piece]], name: str) -> FrozenQuestion:
    spans = [
        [SupportSpan(f"s{i}", Interval(prepared.documents[doc].digest, a, b)) for i, (doc, a, b) in enumerate(one)]
        for one in sets
    ]
    return question("?", *spans, question_id=name)


def shown_units(lists: Sequence[Sequence[Piece]]) -> Hits:
    return hits_of_units(
        [[Unit(doc, a, b, a, b, rank, (rank - 1,)) for rank, (doc, a, b) in enumerate(one, 1)] for one in lists]
    )


piece = st.tuples(st.integers(0, 2), st.integers(0, 26), st.integers(1, 9)).map(
    lambda t: (t[0], t[1], min(27, t[1] + t[2]))
)
one_question = st.tuples(
    st.lists(piece, max_size=9), st.lists(st.lists(piece, min_size=1, max_size=3, unique=True), max_size=3)
)


@examples(max_examples=150)
@given(
    st.lists(one_question, min_size=1, max_size=4),
    st.sampled_from([Fraction(1, 2), Fraction(4, 5), Fraction(1)]),
)
def test_block_measures_equal_the_slow_reference(
    small: PreparedCorpus,
    rows: list[tuple[list[Piece], list[list[Piece]]]],
    threshold: Fraction,
) -> None:
    block = block_of_questions(small, [asked(small, sets, f"q{i}") for i, (_, sets) in enumerate(rows)])
    shown = Shown.of(shown_units([units for units, _ in rows]), block.base)
    best = support.partial(block, shown, threshold)
    found = zip(
        support.complete(block, shown).tolist(),
        support.single_unit(block, shown).tolist(),
        support.completion_rank(block, shown).tolist(),
        best.needed_bytes.tolist(),
        best.covered_bytes.tolist(),
        best.spans.tolist(),
        best.covered_spans.tolist(),
        best.at_threshold.tolist(),
        support.relevant_bytes(block, shown).tolist(),
        shown.union_bytes.tolist(),
        strict=True,
    )
    for values, (units, sets) in zip(found, rows, strict=True):
        wanted = expected(units, sets, threshold)
        assert values == tuple(getattr(wanted, name) for name in wanted.__dataclass_fields__)


def test_joint_evidence_of_two_units_is_complete_and_not_single(small: PreparedCorpus) -> None:
    units = [(0, 0, 10), (1, 5, 9), (0, 10, 20)]
    both = [asked(small, [[(0, 2, 18)]], "q1"), asked(small, [[(0, 2, 18)], [(1, 5, 6), (0, 1, 2)]], "q2")]
    block = block_of_questions(small, both)
    shown = Shown.of(shown_units([units, units]), block.base)
    assert support.completion_rank(block, shown).tolist() == [3, 2]
    assert support.single_unit(block, shown).tolist() == [False, False]


def test_unit_at_the_end_of_one_document_covers_nothing_of_the_next(small: PreparedCorpus) -> None:
    block = block_of_questions(small, [asked(small, [[(0, 20, 27), (1, 0, 3)]], "q")])
    apart = Shown.of(shown_units([[(0, 18, 27), (1, 3, 9)]]), block.base)
    assert not support.complete(block, apart)[0]
    joined = Shown.of(shown_units([[(0, 18, 27), (1, 0, 9)]]), block.base)
    assert (support.complete(block, joined)[0], support.single_unit(block, joined)[0]) == (True, False)


def test_questions_without_units_or_without_sets_measure_nothing(small: PreparedCorpus) -> None:
    block = block_of_questions(small, [asked(small, [[(0, 1, 2)]], "q1"), asked(small, [], "q2")])
    shown = Shown.of(shown_units([[], [(0, 0, 9)]]), block.base)
    assert support.completion_rank(block, shown).tolist() == [0, 0]
    assert shown.union_bytes.tolist() == [0, 9]
    assert support.partial(block, shown, Fraction(1)).needed_bytes.tolist() == [1, 0]
    nobody = block_of_questions(small, [])
    empty = Shown.of(shown_units([]), nobody.base)
    assert support.complete(nobody, empty).shape == support.completion_rank(nobody, empty).shape == (0,)


@given(st.integers(1, 9), st.integers(0, 8), st.integers(1, 9), st.lists(piece, min_size=1, max_size=3))
def test_chunk_stage_counts_whole_sets_and_severed_spans(
    small: PreparedCorpus, capacity: int, overlap: int, phase: int, spans: list[Piece]
) -> None:
    overlap = min(overlap, capacity - 1)
    window = TokenWindow(capacity, overlap)
    chunks = build_index(small, ArmSettings("a", window), min(phase, window.stride)).chunks
    # A span that stands in two sets is cut once.
    block = block_of_questions(small, [asked(small, [spans, spans[:1]], "q")])
    alone = any(
        all(doc == d and start <= a and b <= end for d, a, b in one)
        for doc, start, end in zip(chunks.document.tolist(), chunks.start.tolist(), chunks.end.tolist(), strict=True)
        for one in (spans, spans[:1])
    )
    assert support.whole_in_one_chunk(block, chunks).tolist() == [alone]
    inside = [any(start < cut < end for cut in chunks.tables[doc].cut_bytes.tolist()) for doc, start, end in set(spans)]
    assert support.severed(block, chunks).tolist() == [sum(inside)]


def test_forbidden_bytes_are_counted_per_unit_and_question(small: PreparedCorpus) -> None:
    bad = tuple(Interval(DOCUMENTS[0].digest, a, b) for a, b in ((2, 4), (3, 6), (20, 21)))
    first = replace(asked(small, [], "q1"), forbidden=(*bad, Interval("elsewhere", 0, 9)))
    block = block_of_questions(small, [first, asked(small, [], "q2")])
    units = [(0, 0, 10), (0, 6, 20), (0, 20, 22), (1, 2, 4)]
    shown = Shown.of(shown_units([units, units]), block.base)
    assert support.touching(block, shown).tolist() == [2, 0]


def test_set_of_merely_topical_spans_is_refused() -> None:
    doc = document("d", "alpha beta")
    with pytest.raises(SupportError, match="no necessary span"):
        targets(question("?", [span(doc, "alpha", necessary=False)]), {doc.digest: 0})


def test_topical_span_is_not_needed() -> None:
    doc = document("d", "alpha beta")
    one = question("?", [span(doc, "alpha"), span(doc, "beta", necessary=False)])
    assert targets(one, {doc.digest: 0}) == (((0, 0, 5),),)


def test_span_of_a_version_outside_the_corpus_is_refused() -> None:
    doc = document("d", "alpha beta")
    with pytest.raises(SupportError, match="not in the corpus"):
        targets(question("?", [span(doc, "alpha")]), {})


def flags(*texts: str) -> np.ndarray:
    return np.array([[sign == "1" for sign in text] for text in texts])


def test_loss_is_named_by_the_last_complete_stage() -> None:
    found = lost_after(flags("1111111", "0000000", "1000000", "1111110", "1001100"))
    names = [None if place < 0 else STAGES[place] for place in found.tolist()]
    assert names == [None, None, Stage.CHUNKED, Stage.DEDUPLICATED, Stage.AUTHORISED]


def test_loss_follows_the_order_the_stages_ran_in() -> None:
    early = (*STAGES[:2], Stage.EXPANDED, Stage.AUTHORISED, Stage.RERANKED, *STAGES[5:])
    # Complete after expansion and its check, lost by the reranking that came after.
    assert lost_after(flags("1001100"), early).tolist() == [STAGES.index(Stage.AUTHORISED)]
    assert lost_after(flags("1010000"), early).tolist() == [STAGES.index(Stage.RERANKED)]


def test_recovery_is_a_transition() -> None:
    complete = dict(zip(STAGES, flags("1001100")[0].tolist(), strict=True))
    assert transitions(complete) == (
        Transition(Stage.CANDIDATES, recovered=False),
        Transition(Stage.EXPANDED, recovered=True),
        Transition(Stage.DEDUPLICATED, recovered=False),
    )

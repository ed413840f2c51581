"""Packing never exceeds its ceiling, keeps lineages, logs what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from evaluation.domain.packing import (
    AFTER_STOP,
    AFTER_TRUNCATION,
    BEYOND_K,
    OVER_CEILING,
    Packer,
    deduplicate,
    duplicate_pairs,
    source_tokens,
)
from evaluation.domain.pipeline import PackedEvidence, PreparedCorpus, Unit
from evaluation.domain.plan_words import Overflow
from tests.evaluation.engine_world import corpus, demo_documents, document, settings

TEXT = (
    "Fees are due. Überfällige Gebühren werden gemahnt. 返却は三日以内に検査します。👩‍👩‍👧 family rate.\r\nEnd.\n" * 4
)


@pytest.fixture(scope="module")
def small() -> PreparedCorpus:
    return corpus(document("fees", TEXT), document("other", "Another source says nothing. " * 20))


def unit(prepared: PreparedCorpus, doc: int, first: int, last: int, rank: int = 1) -> Unit:
    start, end = prepared.tokenized[doc].starts_at([first, last]).tolist()
    return Unit(doc, start, end, first, last, rank, (rank - 1,))


def units_of(prepared: PreparedCorpus, rows: list[tuple[int, int, int]]) -> list[Unit]:
    made = []
    for doc, first, size in rows:
        n = prepared.tokenized[doc].n
        at = first % (n - 1)
        one = unit(prepared, doc, at, min(n, at + size), len(made) + 1)
        if one.start < one.end:
            made.append(one)
    return [replace(one, rank=i) for i, one in enumerate(made, 1)]


def whole(prepared: PreparedCorpus, packed: PackedEvidence) -> int:
    return prepared.tokenizer.count(packed.context)


rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 400), st.integers(1, 60)), max_size=9)


@examples(max_examples=60)
@given(rows=rows, ceiling=st.integers(0, 160), overflow=st.sampled_from(list(Overflow)))
def test_context_counted_whole_never_exceeds_the_ceiling(
    small: PreparedCorpus, rows: list[tuple[int, int, int]], ceiling: int, overflow: Overflow
) -> None:
    units = units_of(small, rows)
    packer = Packer(small, settings(overflow=overflow).budget)
    (packed,) = packer.under_ceiling([units], ceiling)
    assert packed.tokens == whole(small, packed) <= ceiling
    # Every rank is either shown or refused with a reason, never both; order is kept.
    assert sorted([u.rank for u in packed.units] + [rank for rank, _ in packed.refused]) == [u.rank for u in units]
    assert [u.rank for u in packed.units] == sorted(u.rank for u in packed.units)
    for shown, (begin, end) in zip(packed.units, packed.spans, strict=True):
        assert packed.context[begin:end] == small.documents[shown.document].content[shown.start : shown.end]
        packed.context[begin:end].decode()


@examples(max_examples=60)
@given(rows=rows, ceiling=st.integers(0, 160))
def test_skipping_admits_exactly_what_a_greedy_packer_admits(
    small: PreparedCorpus, rows: list[tuple[int, int, int]], ceiling: int
) -> None:
    units = units_of(small, rows)
    packer = Packer(small, settings().budget)
    (packed,) = packer.under_ceiling([units], ceiling)
    greedy: list[Unit] = []
    for one in units:
        if small.tokenizer.count(packer.render([*greedy, one])[0]) <= ceiling:
            greedy.append(one)
    assert list(packed.units) == greedy


def test_overflow_rules_differ_only_in_what_follows_the_unit_that_does_not_fit(small: PreparedCorpus) -> None:
    units = [unit(small, 0, 0, 30, 1), unit(small, 0, 40, 120, 2), unit(small, 1, 0, 10, 3)]
    packed = {rule: Packer(small, settings(overflow=rule).budget).under_ceiling([units], 60)[0] for rule in Overflow}
    assert [u.rank for u in packed[Overflow.SKIP].units] == [1, 3]
    assert packed[Overflow.SKIP].refused == ((2, OVER_CEILING),)
    assert [u.rank for u in packed[Overflow.STOP].units] == [1]
    assert packed[Overflow.STOP].refused == ((2, OVER_CEILING), (3, AFTER_STOP))
    cut = packed[Overflow.TRUNCATE]
    assert [u.rank for u in cut.units] == [1, 2]
    assert cut.refused == ((3, AFTER_TRUNCATION),)
    assert cut.units[1].start == units[1].start
    assert cut.units[1].end < units[1].end
    assert cut.units[1].token_end - cut.units[1].token_start >= 15


def test_identical_intervals_merge_with_both_lineages_and_other_versions_never(small: PreparedCorpus) -> None:
    clause = "The same clause stands in both versions."
    prepared = corpus(
        document("policy", clause, version_label="1"), document("policy", clause + " ", version_label="2")
    )
    one = unit(prepared, 0, 0, 4, 1)
    again = replace(one, rank=3, lineage=(7, 0))
    other = replace(one, document=1, rank=2, lineage=(5,))
    merged = deduplicate([one, other, again])
    assert [(u.document, u.rank, u.lineage) for u in merged] == [(0, 1, (0, 7)), (1, 2, (5,))]


def test_repeated_source_tokens_and_duplicate_pairs_are_counted() -> None:
    units = [Unit(0, 0, 100, 0, 20, 1, (0,)), Unit(0, 30, 130, 6, 26, 2, (1,)), Unit(1, 0, 100, 0, 20, 3, (2,))]
    assert source_tokens(units) == (60, 46)
    assert duplicate_pairs(units, Fraction("0.7")) == (1, 1)
    assert duplicate_pairs(units, Fraction("0.71")) == (0, 1)
    assert duplicate_pairs([units[0], replace(units[0], start=100, end=200)], Fraction("0.1")) == (0, 1)


def test_top_k_counts_units_whatever_they_cost(small: PreparedCorpus) -> None:
    units = [unit(small, 0, at, at + 30, at + 1) for at in range(5)]
    (packed,) = Packer(small, settings().budget).first_units([units], 3)
    assert [u.rank for u in packed.units] == [1, 2, 3]
    assert packed.refused == ((4, BEYOND_K), (5, BEYOND_K))
    assert packed.tokens == whole(small, packed)


def test_label_format_and_separator_are_rendered_and_counted(small: PreparedCorpus) -> None:
    budget = settings(label_format="{citation} {title}: ", separator="\n---\n").budget
    packer = Packer(small, budget)
    context, _ = packer.render([unit(small, 1, 0, 5)])
    assert context == b"[1] other: " + small.documents[1].content[: len(context) - 16] + b"\n---\n"


def test_shared_packer_changes_no_result() -> None:
    prepared = corpus(*demo_documents()[:4])
    lists = [[unit(prepared, d, at, at + 40, at + 1) for at in range(0, 120, 30)] for d in range(4)]
    shared = Packer(prepared, settings().budget)
    shared.under_ceiling(lists, 300)
    assert shared.under_ceiling(lists, 120) == Packer(prepared, settings().budget).under_ceiling(lists, 120)

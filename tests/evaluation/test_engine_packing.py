"""Packing of whole blocks equals a plain greedy loop, never exceeds its ceiling, and says what it refuses."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from evaluation.domain.evidence import LazyEvidence
from evaluation.domain.hits import Hits
from evaluation.domain.packed import (
    AFTER_STOP,
    AFTER_TRUNCATION,
    BEYOND_K,
    OVER_CEILING,
    Packed,
    duplicate_pairs,
    source_tokens,
)
from evaluation.domain.packing import Packer
from evaluation.domain.pipeline import PackedEvidence, PreparedCorpus, Unit
from evaluation.domain.plan_words import Counting, Overflow
from evaluation.domain.whole_packing import hits_of_units
from tests.evaluation.engine_world import corpus, demo_documents, document, settings

TEXT = (
    "Fees are due. Überfällige Gebühren werden gemahnt. 返却は三日以内に検査します。👩‍👩‍👧 family rate.\r\nEnd.\n" * 4
)

type Rows = list[tuple[int, int, int]]


@pytest.fixture(scope="module")
def small() -> PreparedCorpus:
    return corpus(document("fees", TEXT), document("other", "Another source says nothing. " * 20))


def unit(prepared: PreparedCorpus, doc: int, first: int, last: int, rank: int = 1) -> Unit:
    start, end = prepared.tokenized[doc].starts_at([first, last]).tolist()
    return Unit(doc, start, end, first, last, rank, (rank - 1,))


def units_of(prepared: PreparedCorpus, rows: Rows) -> list[Unit]:
    made: list[Unit] = []
    for doc, first, size in rows:
        n = prepared.tokenized[doc].n
        at = first % (n - 1)
        one = unit(prepared, doc, at, min(n, at + size), len(made) + 1)
        if one.start < one.end:
            made.append(one)
    return made


def shown(packer: Packer, hits: Hits, packed: Packed) -> list[PackedEvidence]:
    return list(LazyEvidence(packer, (hits,), packed))


def pack(packer: Packer, units: list[Unit], ceiling: int) -> PackedEvidence:
    hits = hits_of_units([units])
    (packed,) = shown(packer, hits, packer.under_ceiling(hits, ceiling))
    return packed


def parts(packer: Packer, one: Unit, number: int) -> int:
    count = packer.prepared.tokenizer.count
    label, separator = packer.rendering.label(one.document, number), packer.rendering.separator
    return (count(label) if label else 0) + one.token_end - one.token_start + (count(separator) if separator else 0)


rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 400), st.integers(1, 60)), max_size=9)
labels = st.sampled_from(["[{rank}] ", "{citation} {title}: ", ""])
separators = st.sampled_from(["\n\n", ""])


def greedy(packer: Packer, units: list[Unit], ceiling: int) -> tuple[list[tuple[int, int, int]], dict[int, str], int]:
    """Shown (rank, start, end), refused ranks with their reasons, and tokens: one question the plain way."""
    chosen: list[tuple[int, int, int]] = []
    refused: dict[int, str] = {}
    used, ended = 0, ""
    for one in units:
        cost = parts(packer, one, len(chosen) + 1)
        if ended:
            refused[one.rank] = ended
        elif used + cost <= ceiling:
            chosen.append((one.rank, one.start, one.end))
            used += cost
        elif packer.budget.overflow is Overflow.SKIP:
            refused[one.rank] = OVER_CEILING
        else:
            tokens = one.token_end - one.token_start
            keep = min(tokens - 1, ceiling - used - (cost - tokens))
            end = one.start
            if packer.budget.overflow is Overflow.TRUNCATE and keep > 0:
                end = int(packer.prepared.tokenized[one.document].starts_at([one.token_start + keep])[0])
            if end > one.start:
                chosen.append((one.rank, one.start, end))
                used += cost - tokens + keep
                ended = AFTER_TRUNCATION
            else:
                refused[one.rank] = OVER_CEILING
                ended = AFTER_STOP
    return chosen, refused, used


@examples(max_examples=120)
@given(
    lists=st.lists(rows, min_size=1, max_size=4),
    ceiling=st.integers(0, 160),
    overflow=st.sampled_from(list(Overflow)),
    label=labels,
    separator=separators,
)
def test_packing_a_block_by_parts_equals_a_greedy_loop(
    small: PreparedCorpus, lists: list[Rows], ceiling: int, overflow: Overflow, label: str, separator: str
) -> None:
    packer = Packer(small, settings(overflow=overflow, label_format=label, separator=separator).budget)
    units = [units_of(small, one) for one in lists]
    hits = hits_of_units(units)
    for packed, listed in zip(shown(packer, hits, packer.under_ceiling(hits, ceiling)), units, strict=True):
        chosen, refused, used = greedy(packer, listed, ceiling)
        assert [(u.rank, u.start, u.end) for u in packed.units] == chosen
        assert dict(packed.refused) == refused
        assert packed.tokens == used <= ceiling
        packed.context.decode()


@examples(max_examples=60)
@given(rows=rows, ceiling=st.integers(0, 160), overflow=st.sampled_from(list(Overflow)))
def test_context_counted_whole_never_exceeds_the_ceiling(
    small: PreparedCorpus, rows: Rows, ceiling: int, overflow: Overflow
) -> None:
    units = units_of(small, rows)
    packed = pack(Packer(small, settings(overflow=overflow, counting=Counting.WHOLE).budget), units, ceiling)
    assert packed.tokens == small.tokenizer.count(packed.context) <= ceiling
    # Every rank is either shown or refused with a reason, never both; order is kept.
    assert sorted([u.rank for u in packed.units] + [rank for rank, _ in packed.refused]) == [u.rank for u in units]
    assert [u.rank for u in packed.units] == sorted(u.rank for u in packed.units)
    for one, (begin, end) in zip(packed.units, packed.spans, strict=True):
        assert packed.context[begin:end] == small.documents[one.document].content[one.start : one.end]
        packed.context[begin:end].decode()


@examples(max_examples=60)
@given(rows=rows, ceiling=st.integers(0, 160))
def test_skipping_counted_whole_admits_exactly_what_a_greedy_packer_admits(
    small: PreparedCorpus, rows: Rows, ceiling: int
) -> None:
    units = units_of(small, rows)
    packer = Packer(small, settings(counting=Counting.WHOLE).budget)
    chosen: list[Unit] = []
    for one in units:
        if small.tokenizer.count(packer.rendering.context([*chosen, one])[0]) <= ceiling:
            chosen.append(one)
    assert list(pack(packer, units, ceiling).units) == chosen


@pytest.mark.parametrize("counting", list(Counting))
def test_overflow_rules_differ_only_in_what_follows_the_unit_that_does_not_fit(
    small: PreparedCorpus, counting: Counting
) -> None:
    units = [unit(small, 0, 0, 30, 1), unit(small, 0, 40, 120, 2), unit(small, 1, 0, 10, 3)]
    packed = {
        rule: pack(Packer(small, settings(overflow=rule, counting=counting).budget), units, 60) for rule in Overflow
    }
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


@examples(max_examples=60)
@given(rows=st.lists(rows, min_size=1, max_size=3))
def test_repeated_source_tokens_and_duplicate_pairs_are_counted(small: PreparedCorpus, rows: list[Rows]) -> None:
    lists = [units_of(small, one) for one in rows]
    hits, packer = hits_of_units(lists), Packer(small, settings().budget)
    total, unique = source_tokens(hits, packer.token_base)
    pairs, compared = duplicate_pairs(hits, Fraction("0.7"))
    for q, units in enumerate(lists):
        every = [(u.document, t) for u in units for t in range(u.token_start, u.token_end)]
        assert (int(total[q]), int(unique[q])) == (len(every), len(set(every)))
        same = [(a, b) for a, b in combinations(units, 2) if a.document == b.document]
        shared = [(min(a.end, b.end) - max(a.start, b.start), min(a.end - a.start, b.end - b.start)) for a, b in same]
        assert int(compared[q]) == len(same)
        assert int(pairs[q]) == sum(s > 0 and s * 10 >= 7 * size for s, size in shared)


@pytest.mark.parametrize("counting", list(Counting))
def test_top_k_counts_units_whatever_they_cost(small: PreparedCorpus, counting: Counting) -> None:
    units = [unit(small, 0, at, at + 30, at + 1) for at in range(5)]
    packer = Packer(small, settings(counting=counting).budget)
    hits = hits_of_units([units, units[:1]])
    packed, other = shown(packer, hits, packer.first_units(hits, 3))
    assert [u.rank for u in packed.units] == [1, 2, 3]
    assert packed.refused == ((4, BEYOND_K), (5, BEYOND_K))
    assert len(other.units) == 1
    by_parts = sum(parts(packer, one, number) for number, one in enumerate(packed.units, 1))
    whole = small.tokenizer.count(packed.context)
    assert packed.tokens == (whole if counting is Counting.WHOLE else by_parts)


def test_label_format_and_separator_are_rendered_and_counted(small: PreparedCorpus) -> None:
    packer = Packer(small, settings(label_format="{citation} {title}: ", separator="\n---\n").budget)
    context, _ = packer.rendering.context([unit(small, 1, 0, 5)])
    assert context == b"[1] other: " + small.documents[1].content[: len(context) - 16] + b"\n---\n"
    tokens = packer.label_tokens(np.array([1, 12, 1]), np.array([1, 0, 0]))
    assert tokens.tolist() == [small.tokenizer.count(text) for text in (b"[1] other: ", b"[12] fees: ", b"[1] fees: ")]


@pytest.mark.parametrize("counting", list(Counting))
def test_shared_packer_changes_no_result(counting: Counting) -> None:
    prepared = corpus(*demo_documents()[:4])
    lists = [[unit(prepared, d, at, at + 40, at + 1) for at in range(0, 120, 30)] for d in range(4)]
    hits = hits_of_units(lists)
    budget = settings(counting=counting).budget
    shared, fresh = Packer(prepared, budget), Packer(prepared, budget)
    shared.under_ceiling(hits, 300)
    assert shown(shared, hits, shared.under_ceiling(hits, 120)) == shown(fresh, hits, fresh.under_ceiling(hits, 120))

"""Every recovery policy against an obvious slow reading of its rule, over drawn sources, cuts and lists."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.domain.sentences import sentences
from evaluation.domain.analysis import Analyser
from evaluation.domain.index_build import build_index, prepare_corpus
from evaluation.domain.pipeline import ArmSettings, IndexBuild, PreparedCorpus
from evaluation.domain.plan_words import ParentKind
from evaluation.domain.recovery.auto_merge import AutoMerge
from evaluation.domain.recovery.neighbours import Neighbours
from evaluation.domain.recovery.parent import Parent
from evaluation.domain.recovery.sentence_window import SentenceWindow
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.plugins.tokenizers import load_tokenizer
from tests.evaluation.engine_world import byte_tokenizer, document
from tests.evaluation.recovery_world import Row, as_rows, hits_of

PIECES = st.sampled_from(
    [
        "Rule one. ",
        "But not e.g. so! ",
        "💩",
        "e\u0301",
        "\r\n",
        "\n\n# Head\n",
        "\n## Sub\n",
        "規則。",
        "  ",
        "a",
        "\n- item 1. x\n",
    ]
)
SOURCES = st.lists(st.lists(PIECES, min_size=1, max_size=25).map("".join), min_size=1, max_size=3, unique=True)


@st.composite
def worlds(draw: Any) -> tuple[PreparedCorpus, IndexBuild, list[list[int]]]:
    """A corpus, a build of it, and the lists of a few questions."""
    sources = draw(SOURCES)
    tokenizer = draw(st.sampled_from([byte_tokenizer(), load_tokenizer()]))
    documents = [document(f"d{i}", text, media_type="text/markdown") for i, text in enumerate(sources)]
    prepared = prepare_corpus(documents, tokenizer, Analyser())
    capacity = draw(st.integers(1, 30))
    overlap = draw(st.integers(0, capacity - 1))
    phase = draw(st.integers(1, capacity - overlap))
    build = build_index(prepared, ArmSettings("w", TokenWindow(capacity, overlap)), phase)
    one_list = st.lists(st.integers(0, len(build.chunks) - 1), max_size=8, unique=True)
    return prepared, build, draw(st.lists(one_list, min_size=1, max_size=4))


POLICIES = st.one_of(
    st.builds(SentenceWindow, st.integers(1, 4)),
    st.builds(Neighbours, st.integers(1, 4)),
    st.just(Parent(ParentKind.SECTION)),
    st.just(Parent(ParentKind.DOCUMENT)),
    st.builds(Parent, st.just(ParentKind.LARGER_CHUNK), st.integers(1, 90)),
    st.builds(AutoMerge, st.integers(1, 90), st.sampled_from(["0.01", "0.34", "0.5", "0.667", "1"])),
)


@settings(max_examples=150, deadline=None)
@given(worlds(), POLICIES)
def test_units_hold_their_hits_in_the_same_version_on_code_points_and_in_rank_order(world: Any, policy: Any) -> None:
    prepared, build, lists = world
    hits = hits_of(build, lists)
    units = policy.expand(hits, prepared, build)
    assert units.into is not None
    for before, after, into, length in zip(as_rows(hits), as_rows(units), units.into.tolist(), hits.count, strict=True):
        assert [target for target in into[int(length) :] if target != -1] == []
        targets = into[: int(length)]
        # Nothing is dropped and nothing comes from nowhere: every unit is some hit's, and each hit has a unit.
        assert sorted(set(targets)) == list(range(len(after)))
        first = {}
        for column, target in enumerate(targets):
            hit, unit = before[column], after[target]
            assert unit.document == hit.document
            assert unit.start <= hit.start < hit.end <= unit.end
            assert unit.token_start <= hit.token_start <= hit.token_end <= unit.token_end
            first.setdefault(target, column)
        assert list(first) == sorted(first)
        for target, column in first.items():
            assert (after[target].rank, after[target].chunk) == (before[column].rank, before[column].chunk)
        for unit in after:
            text = prepared.tokenized[unit.document]
            prepared.documents[unit.document].content[unit.start : unit.end].decode()
            assert text.starts()[unit.token_start] <= unit.start or unit.token_start == 0
            assert text.starts()[unit.token_end] >= unit.end or unit.token_end == text.n


@settings(max_examples=150, deadline=None)
@given(worlds(), st.integers(1, 4))
def test_one_to_one_policies_equal_their_slow_readings(world: Any, reach: int) -> None:
    prepared, build, lists = world
    hits = hits_of(build, lists)
    slow = {
        SentenceWindow(reach): lambda hit: slow_sentences(prepared, hit, reach),
        Neighbours(reach): lambda hit: slow_neighbours(build, hit, reach),
        Parent(ParentKind.SECTION): lambda hit: slow_section(prepared, hit),
        Parent(ParentKind.DOCUMENT): lambda hit: (0, len(prepared.documents[hit.document].content)),
        Parent(ParentKind.LARGER_CHUNK, 25 * reach): lambda hit: slow_window(build, hit.chunk, 25 * reach)[:2],
    }
    for policy, reading in slow.items():
        units = policy.expand(hits, prepared, build)
        for before, after in zip(as_rows(hits), as_rows(units), strict=True):
            assert [(u.start, u.end) for u in after] == [reading(hit) for hit in before]


@settings(max_examples=150, deadline=None)
@given(worlds(), st.integers(1, 90), st.sampled_from(["0.2", "0.5", "0.75", "1"]))
def test_merging_equals_its_slow_reading(world: Any, capacity: int, share: str) -> None:
    prepared, build, lists = world
    hits = hits_of(build, lists)
    units = AutoMerge(capacity, share).expand(hits, prepared, build)
    for before, after in zip(as_rows(hits), as_rows(units), strict=True):
        expected: list[tuple[int, int]] = []
        done: set[tuple[int, int]] = set()
        for hit in before:
            start, end, members = slow_window(build, hit.chunk, capacity)
            present = [one for one in before if one.chunk in members]
            if Fraction(len(present), len(members)) < Fraction(share):
                expected.append((hit.start, hit.end))
            elif (hit.document, members.start) not in done:
                done.add((hit.document, members.start))
                expected.append((start, end))
        assert [(u.start, u.end) for u in after] == expected


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_whole_documents_of_whole_documents_are_the_same_units(world: Any) -> None:
    prepared, build, lists = world
    policy = Parent(ParentKind.DOCUMENT)
    once = policy.expand(hits_of(build, lists), prepared, build)
    twice = policy.expand(once, prepared, build)
    assert as_rows(twice) == as_rows(once)
    beyond = SentenceWindow(1000).expand(once, prepared, build)
    for one, other in zip(as_rows(Neighbours(1000).expand(once, prepared, build)), as_rows(once), strict=True):
        assert [(u.start, u.end) for u in one] == [(u.start, u.end) for u in other]
    assert all(u.end <= len(prepared.documents[u.document].content) for row in as_rows(beyond) for u in row)


def test_tables_of_one_build_are_never_taken_for_another() -> None:
    one = prepare_corpus([document("d", "Rule one. Rule two. Rule three.")], byte_tokenizer(), Analyser())
    policy = Neighbours(1)
    found = [
        as_rows(policy.expand(hits_of(build, [[1]]), one, build))[0][0].end
        for build in (build_index(one, ArmSettings("w", TokenWindow(5)), phase) for phase in (1, 3, 1))
    ]
    assert found == [11, 13, 11]


@pytest.mark.parametrize("capacity", [1, 7, 64])
def test_large_documents_cost_no_walk_per_question(capacity: int) -> None:
    """A block of many questions shares one table: equal lists give equal rows."""
    prepared = prepare_corpus([document("d", "Rule one. But not two. " * 300)], byte_tokenizer(), Analyser())
    build = build_index(prepared, ArmSettings("w", TokenWindow(11)), 5)
    lists = [list(range(i, i + 5)) for i in range(100)] * 2
    units = AutoMerge(capacity * 11, "0.5").expand(hits_of(build, lists), prepared, build)
    rows = as_rows(units)
    assert rows[:100] == rows[100:]
    assert np.array_equal(units.count[:100], units.count[100:])


def slow_sentences(prepared: PreparedCorpus, hit: Row, reach: int) -> tuple[int, int]:
    text = prepared.documents[hit.document].content.decode()
    pairs = [(len(text[:a].encode()), len(text[:b].encode())) for a, b in sentences(text)]
    if not pairs:
        return hit.start, hit.end
    touched = [i for i, (a, b) in enumerate(pairs) if a < hit.end and hit.start < b]
    before = [i for i, (_, b) in enumerate(pairs) if b <= hit.start]
    first = touched[0] if touched else len(before)
    last = touched[-1] if touched else len(before) - 1
    low, high = max(0, first - reach), min(len(pairs) - 1, last + reach)
    return min(hit.start, pairs[min(low, len(pairs) - 1)][0]), max(hit.end, pairs[max(high, 0)][1])


def slow_neighbours(build: IndexBuild, hit: Row, reach: int) -> tuple[int, int]:
    chunks = build.chunks
    near = [
        i
        for i in range(max(0, hit.chunk - reach), min(len(chunks), hit.chunk + reach + 1))
        if chunks.document[i] == hit.document
    ]
    return min(int(chunks.start[i]) for i in near), max(int(chunks.end[i]) for i in near)


def slow_section(prepared: PreparedCorpus, hit: Row) -> tuple[int, int]:
    content = prepared.documents[hit.document].content
    starts = [0]
    at = 0
    for line in content.splitlines(keepends=True):
        if line.startswith((b"# ", b"## ")) and at:
            starts.append(at)
        at += len(line)
    return max(s for s in starts if s <= hit.start), min(s for s in [*starts, len(content)] if s >= hit.end)


def slow_window(build: IndexBuild, chunk: int, capacity: int) -> tuple[int, int, range]:
    chunks = build.chunks
    document = int(chunks.document[chunk])
    at, stop = int(chunks.first[document]), int(chunks.first[document + 1])
    # As the segmenter counts: a token on a cut belongs to one side.
    table, before = chunks.tables[document], at
    while True:
        last = at
        while last + 1 < stop and table.token_end[last + 1 - before] - table.token_start[at - before] <= capacity:
            last += 1
        if at <= chunk <= last:
            return int(chunks.start[at]), int(chunks.end[last]), range(at, last + 1)
        at = last + 1

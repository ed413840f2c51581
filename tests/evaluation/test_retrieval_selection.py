"""Ranked lists: filters before the depth cut, a total order, and counts of what the filters kept out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.hits import Ranked
from evaluation.domain.retrieval import selection
from evaluation.domain.retrieval.selection import select
from evaluation.domain.stage_protocols import Queries, ReaderMask


def queries(group: list[int], masks: list[ReaderMask]) -> Queries:
    n = len(group)
    return Queries(
        ("text",) * n, np.array(group), tuple(masks), ((),) * n, ("",) * n, ("",) * n, tuple(map(str, range(n)))
    )


def everything(chunks: int) -> ReaderMask:
    ones = np.ones(chunks, dtype=np.bool_)
    return ReaderMask(ones, ones, ones, ones)


def by_sorting(scores: list[int], mask: ReaderMask, depth: int) -> tuple[list[tuple[int, int]], int, int, int, int]:
    """The same, one chunk after the other: (chunk, score) ranked, candidates, denied, outdated, foreign."""
    order = sorted((-s, c) for c, s in enumerate(scores) if s > 0)
    allowed = [(c, -s) for s, c in order if mask.allowed[c]]
    listed = allowed[:depth]
    ahead = order if len(listed) < depth else order[: order.index((-listed[-1][1], listed[-1][0]))]
    out = [c for _, c in ahead if not mask.allowed[c]]
    denied = sum(not mask.readable[c] for c in out)
    outdated = sum(bool(mask.readable[c]) and not mask.current[c] for c in out)
    return listed, len(allowed), denied, outdated, len(out) - denied - outdated


def as_lists(found: Ranked, q: int) -> tuple[list[tuple[int, int]], int, int, int, int]:
    n = int(found.count[q])
    assert np.all(found.chunk[q, n:] == -1)
    assert np.all(found.score[q, n:] == 0)
    listed = list(zip(found.chunk[q, :n].tolist(), found.score[q, :n].tolist(), strict=True))
    counts = (found.candidates, found.denied, found.outdated, found.foreign)
    return (listed, *(int(one[q]) for one in counts))  # type: ignore[return-value]


@settings(max_examples=150)
@given(data=st.data(), chunks=st.integers(1, 40), depth=st.integers(1, 45), rows=st.integers(1, 7))
def test_selection_equals_a_full_sort_under_any_filters(
    data: st.DataObject, chunks: int, depth: int, rows: int
) -> None:
    scores = np.array(
        data.draw(
            st.lists(st.lists(st.integers(0, 4), min_size=chunks, max_size=chunks), min_size=rows, max_size=rows)
        ),
        dtype=np.int64,
    )
    flags = st.lists(st.booleans(), min_size=chunks, max_size=chunks).map(lambda x: np.array(x, dtype=np.bool_))
    readable, current, local = (data.draw(flags) for _ in range(3))
    masks = [everything(chunks), ReaderMask(readable, current, local, readable & current & local)]
    group = data.draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    before = selection.BLOCK_ENTRIES
    selection.BLOCK_ENTRIES = data.draw(st.sampled_from([1, 3 * chunks, before]))
    try:
        found = select(queries(group, masks), depth, chunks, lambda part: scores[part])
    finally:
        selection.BLOCK_ENTRIES = before
    assert found.chunk.shape == (rows, min(depth, chunks))
    for q in range(rows):
        assert as_lists(found, q) == by_sorting(scores[q].tolist(), masks[group[q]], depth)


def test_all_scores_equal_are_ranked_by_source_then_start() -> None:
    found = select(queries([0], [everything(9)]), 4, 9, lambda part: np.full((1, 9), 7, dtype=np.int64))
    assert found.chunk.tolist() == [[0, 1, 2, 3]]
    assert found.candidates.tolist() == [9]


def test_filter_switched_off_keeps_its_chunks_and_counts_none() -> None:
    ones, none = np.ones(3, dtype=np.bool_), np.zeros(3, dtype=np.bool_)
    found = select(queries([0], [ReaderMask(none, ones, ones, ones)]), 9, 3, lambda part: np.array([[1, 0, 2]]))
    assert as_lists(found, 0) == ([(2, 2), (0, 1)], 2, 0, 0, 0)


def test_index_without_chunks_gives_empty_lists() -> None:
    found = select(queries([0, 0], [everything(0)]), 5, 0, lambda part: np.zeros((2, 0), dtype=np.int64))
    assert found.chunk.shape == (2, 0)
    assert found.count.tolist() == [0, 0]


def test_scores_beyond_64_bits_are_refused_and_never_misordered() -> None:
    with pytest.raises(OverflowError, match="do not fit 64 bits"):
        select(queries([0], [everything(2)]), 1, 2, lambda part: np.array([[2**62, 1]]))

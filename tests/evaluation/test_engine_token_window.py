"""Token windows are exact on bytes: cores partition, chunks have their capacity, cuts move by one token per phase."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluation.domain.phases import PhaseError
from evaluation.domain.segmenters.token_window import SegmenterConfigError, TokenWindow
from evaluation.domain.tokens import Tokenizer
from evaluation.plugins.tokenizers import load_tokenizer
from tests.evaluation.engine_world import byte_tokenizer, document, word_tokenizer

SHIPPED = load_tokenizer()
TOKENIZERS = {"shipped": SHIPPED, "bytes": byte_tokenizer(), "words": word_tokenizer()}

HARD = [
    "\ufeffBOM first. Dépenses of 3 € — naïve.",
    "a\r\nb\rc\n\n\n  trailing   ",
    "De\u0301partement de Me\u0301decine",
    "👩‍👩‍👧‍👦👍🏽🇩🇪 family and flags 🏳️‍🌈",
    "返却は三日以内に検査します。遅延料金は請求されます。",
    "यह नियम अपवाद के साथ लागू होता है।",
    "مرحبا بالعالم، هذه هي القاعدة.",
    "nul\x00 and \x1b control \x7f\x85",
    "Apple's U.S. Patent",
    "x",
    "\n",
]
texts = st.one_of(
    st.sampled_from(HARD), st.text(min_size=1, max_size=120), st.lists(st.sampled_from(HARD), min_size=1).map("".join)
)
windows = st.integers(1, 12).flatmap(lambda c: st.tuples(st.just(c), st.integers(0, c - 1)))


@given(text=texts, window=windows, part=st.integers(0, 11), name=st.sampled_from(sorted(TOKENIZERS)))
@example(text=HARD[3], window=(2, 0), part=0, name="bytes")
@example(text=HARD[5], window=(2, 1), part=0, name="bytes")
def test_every_byte_is_in_exactly_one_core_and_chunks_are_source_text(
    text: str, window: tuple[int, int], part: int, name: str
) -> None:
    doc = document("d", text.encode())
    segmenter = TokenWindow(*window)
    phase = part % segmenter.stride + 1
    tokens = TOKENIZERS[name].encode(doc.content)
    table = segmenter.chunks(doc, tokens, phase)
    cores = list(zip(table.core_start.tolist(), table.core_end.tolist(), strict=True))
    assert cores[0][0] == 0
    assert cores[-1][1] == len(doc.content)
    assert all(before[1] == after[0] for before, after in pairwise(cores))
    assert all(start < end for start, end in cores)
    assert len(table) + table.empty_cores.size == table.cut_tokens.size + 1
    assert np.all(table.end >= table.core_end)
    assert np.all(np.diff(table.end) >= 0)
    for start, end in zip(table.core_start.tolist(), table.end.tolist(), strict=True):
        doc.content[start:end].decode("utf-8")
    # Capacity: a full-stride core whose extension meets no edge has exactly C tokens, and none has more.
    size = table.tokens
    assert np.all(size <= segmenter.capacity)
    full = (table.token_core_end - table.token_start == segmenter.stride) & (
        table.token_core_end + segmenter.overlap <= tokens.n
    )
    assert np.all(size[full] == segmenter.capacity)


@given(text=texts, window=windows, part=st.integers(0, 11), name=st.sampled_from(sorted(TOKENIZERS)))
def test_cuts_of_neighbouring_phases_differ_by_exactly_one_token(
    text: str, window: tuple[int, int], part: int, name: str
) -> None:
    doc = document("d", text.encode())
    segmenter = TokenWindow(*window)
    phase = part % segmenter.stride + 1
    tokens = TOKENIZERS[name].encode(doc.content)
    cuts = segmenter.chunks(doc, tokens, phase).cut_tokens
    assert cuts.tolist() == list(range(phase, tokens.n, segmenter.stride))
    if phase < segmenter.stride:
        moved = segmenter.chunks(doc, tokens, phase + 1).cut_tokens
        assert np.all(moved == cuts[: moved.size] + 1)
        assert cuts.size - moved.size in (0, 1)


def usual_loop(n: int, capacity: int, overlap: int) -> list[tuple[int, int]]:
    windows, start = [], 0
    while start < n:
        windows.append((start, min(start + capacity, n)))
        if windows[-1][1] == n:
            break
        start += capacity - overlap
    return windows


@given(n=st.integers(1, 400), window=st.integers(1, 60).flatmap(lambda c: st.tuples(st.just(c), st.integers(0, c - 1))))
@example(n=100, window=(50, 49))
def test_last_phase_without_tails_is_the_usual_unshifted_splitter(n: int, window: tuple[int, int]) -> None:
    doc = document("d", b"a" * n)
    tokens = TOKENIZERS["bytes"].encode(doc.content)
    segmenter = TokenWindow(*window, tails="drop")
    table = segmenter.chunks(doc, tokens, segmenter.stride)
    assert list(zip(table.token_start.tolist(), table.token_end.tolist(), strict=True)) == usual_loop(n, *window)
    kept = TokenWindow(*window).chunks(doc, tokens, segmenter.stride)
    assert len(kept) == len(table) + table.dropped_tails
    assert table.dropped_tails == sum(
        1 for start in range(segmenter.stride, n, segmenter.stride) if start + window[1] >= n
    )


@pytest.mark.parametrize(("window", "tails"), [((10, 0), 0), ((10, 2), 1), ((10, 8), 4)])
def test_contained_tails_occur_once_several_times_or_never(window: tuple[int, int], tails: int) -> None:
    doc = document("d", b"a" * 41)
    tokens = TOKENIZERS["bytes"].encode(doc.content)
    stride = window[0] - window[1]
    assert TokenWindow(*window, tails="drop").chunks(doc, tokens, stride).dropped_tails == tails


@given(text=texts, window=windows, part=st.integers(0, 11))
def test_dropping_tails_loses_no_byte(text: str, window: tuple[int, int], part: int) -> None:
    doc = document("d", text.encode())
    segmenter = TokenWindow(*window, tails="drop")
    table = segmenter.chunks(doc, TOKENIZERS["bytes"].encode(doc.content), part % segmenter.stride + 1)
    reach = 0
    for start, end in zip(table.core_start.tolist(), table.end.tolist(), strict=True):
        assert start <= reach
        reach = max(reach, end)
    assert reach == len(doc.content)


def test_cores_that_snap_to_nothing_yield_no_chunk_and_are_listed() -> None:
    doc = document("d", "日本")
    table = TokenWindow(1).chunks(doc, TOKENIZERS["bytes"].encode(doc.content), 1)
    assert table.core_start.tolist() == [0, 3]
    assert table.cut_tokens.tolist() == [1, 2, 3, 4, 5]
    assert table.cut_bytes.tolist() == [0, 0, 3, 3, 3]
    assert table.empty_cores.tolist() == [0, 1, 3, 4]


def test_lower_casing_tokenizer_still_gives_source_bytes() -> None:
    doc = document("d", "Apple's U.S. Patent")
    table = TokenWindow(2).chunks(doc, TOKENIZERS["words"].encode(doc.content), 2)
    assert b"".join(doc.content[s:e] for s, e in zip(table.core_start, table.core_end, strict=True)) == doc.content


@pytest.mark.parametrize(
    ("capacity", "overlap", "tails", "named"),
    [
        (5, 5, "keep", "smaller than capacity"),
        (10, 11, "keep", "smaller than capacity"),
        (0, 0, "keep", "at least 1"),
        (10, -1, "keep", "negative"),
        (True, 0, "keep", "capacity must be a whole number"),
        (10, False, "keep", "overlap must be a whole number"),
        (10.0, 0, "keep", "capacity must be a whole number"),
        (10, 0, "maybe", "'keep' or 'drop'"),
    ],
)
def test_window_that_cannot_cut_is_refused(capacity: int, overlap: int, tails: str, named: str) -> None:
    with pytest.raises(SegmenterConfigError, match=named):
        TokenWindow(capacity, overlap, tails)


@pytest.mark.parametrize("phase", [0, 193, None])
def test_phase_outside_the_stride_is_refused(phase: int | None) -> None:
    doc = document("d", "some text")
    with pytest.raises(PhaseError):
        TokenWindow(256, 64).chunks(doc, SHIPPED.encode(doc.content), phase)


def test_source_of_zero_tokens_is_one_chunk() -> None:
    doc = document("d", " \n ")
    tokens = TOKENIZERS["words"].encode(doc.content)
    assert tokens.n == 0
    table = TokenWindow(4, 1).chunks(doc, tokens, 2)
    assert (table.core_start.tolist(), table.end.tolist()) == ([0], [3])


def test_protocol_is_met_by_every_tokenizer() -> None:
    assert all(isinstance(one, Tokenizer) for one in TOKENIZERS.values())


GOLDEN = json.loads((Path(__file__).resolve().parents[1] / "golden" / "unshifted_windows.json").read_text())


@pytest.mark.parametrize("window", sorted(GOLDEN["chunks"]))
def test_unshifted_windows_give_the_known_chunk_counts(window: str) -> None:
    capacity, overlap = map(int, window.split("/"))
    segmenter = TokenWindow(capacity, overlap, tails="drop")
    counted = kept = contained = 0
    for n in GOLDEN["tokens"].values():
        doc = document("d", b"a" * n)
        tokens = TOKENIZERS["bytes"].encode(doc.content)
        counted += len(segmenter.chunks(doc, tokens, segmenter.stride))
        kept += len(TokenWindow(capacity, overlap).chunks(doc, tokens, segmenter.stride))
        contained += sum(start + overlap >= n for start in range(segmenter.stride, n, segmenter.stride))
    assert counted == GOLDEN["chunks"][window]
    assert kept == counted + contained


@pytest.mark.parametrize("window", ["128/32", "400/200"])
def test_index_token_expansion_approaches_capacity_over_stride(window: str) -> None:
    capacity, overlap = map(int, window.split("/"))
    segmenter = TokenWindow(capacity, overlap, tails="drop")
    indexed = 0
    for n in GOLDEN["tokens"].values():
        doc = document("d", b"a" * n)
        indexed += int(segmenter.chunks(doc, TOKENIZERS["bytes"].encode(doc.content), segmenter.stride).tokens.sum())
    source = sum(GOLDEN["tokens"].values())
    limit = capacity / (capacity - overlap)
    assert 0.997 * limit < indexed / source < limit

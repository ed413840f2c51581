"""Windows over characters, words and sentences are token windows with another unit: design, section 6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluation.domain.phases import PhaseError
from evaluation.domain.segmenters.characters import CharacterWindow
from evaluation.domain.segmenters.sentences import SentencePacking
from evaluation.domain.segmenters.separators import word_starts
from evaluation.domain.segmenters.words import WordWindow
from evaluation.domain.sentence_boundaries import sentence_boundaries
from evaluation.domain.tokens import IntArray, code_point_starts
from tests.evaluation.segmenter_texts import TOKENIZERS, check_partition, check_union, shown, sizes, source, texts

#: Unit → (segmenter with capacity, overlap, tails; byte where each unit starts, with the size at the end).
UNITS: dict[str, tuple[Callable[..., Any], Callable[[bytes], IntArray]]] = {
    "characters": (CharacterWindow, code_point_starts),
    "words": (WordWindow, word_starts),
    "sentences": (lambda c, o=0, t="keep": SentencePacking(c, o, t, unit="sentences"), sentence_boundaries),
}
units = st.sampled_from(sorted(UNITS))
tokenizers = st.sampled_from(sorted(TOKENIZERS))


@given(
    text=texts,
    size=sizes,
    part=st.integers(0, 39),
    unit=units,
    name=tokenizers,
    tails=st.sampled_from(["keep", "drop"]),
)
@example(text="👩‍👩‍👧‍👦" * 3, size=(2, 1), part=0, unit="characters", name="bytes", tails="keep")
@example(text="\n\n", size=(1, 0), part=0, unit="words", name="words", tails="drop")
def test_chunks_are_the_windows_of_their_unit(
    text: str, size: tuple[int, int], part: int, unit: str, name: str, tails: str
) -> None:
    make, starts_of = UNITS[unit]
    doc, (capacity, overlap) = source(text), size
    segmenter = make(capacity, overlap, tails)
    phase = part % segmenter.stride + 1
    tokens = TOKENIZERS[name].encode(doc.content)
    table = segmenter.chunks(doc, tokens, phase)
    starts = starts_of(doc.content)
    n = starts.size - 1
    # By the words of the design, one core after the other.
    wanted, cut = [], 0
    while True:
        after = phase if cut == 0 else cut + segmenter.stride
        end = min(min(after, n) + overlap, n)
        wanted.append((0 if cut == 0 else int(starts[cut]), int(starts[min(after, n)]), int(starts[end]), end))
        if after >= n:
            break
        cut = after
    kept = [one for i, one in enumerate(wanted) if tails == "keep" or i == 0 or wanted[i - 1][3] < n]
    found = zip(table.starts.tolist(), table.core_end.tolist(), table.end.tolist(), strict=True)
    assert list(found) == [one[:3] for one in kept]
    assert table.dropped_tails == len(wanted) - len(kept)
    assert table.empty_cores.size == 0
    if tails == "keep":
        check_partition(doc, table, tokens.n)
    check_union(doc, table)


@given(text=texts, size=sizes, part=st.integers(0, 39), unit=units)
def test_cuts_of_neighbouring_phases_differ_by_exactly_one_unit(
    text: str, size: tuple[int, int], part: int, unit: str
) -> None:
    make, starts_of = UNITS[unit]
    doc, segmenter = source(text), make(*size)
    phase = part % segmenter.stride + 1
    tokens, starts = TOKENIZERS["shipped"].encode(doc.content), starts_of(doc.content)
    cuts = np.searchsorted(starts, segmenter.chunks(doc, tokens, phase).cut_bytes)
    assert cuts.tolist() == list(range(phase, starts.size - 1, segmenter.stride))
    if phase < segmenter.stride:
        moved = np.searchsorted(starts, segmenter.chunks(doc, tokens, phase + 1).cut_bytes)
        assert np.all(moved == cuts[: moved.size] + 1)
        assert cuts.size - moved.size in (0, 1)


@given(n=st.integers(1, 300), size=sizes)
@example(n=50, size=(40, 39))
@example(n=41, size=(10, 2))
def test_last_phase_without_tails_is_the_usual_unshifted_splitter(n: int, size: tuple[int, int]) -> None:
    doc, (capacity, overlap) = source("é" * n), size
    usual, start = [], 0
    while not usual or usual[-1][1] < n:
        usual.append((start, min(start + capacity, n)))
        start += capacity - overlap
    segmenter = CharacterWindow(capacity, overlap, "drop")
    tokens = TOKENIZERS["bytes"].encode(doc.content)
    table = segmenter.chunks(doc, tokens, segmenter.stride)
    assert [(a // 2, b // 2) for a, b in zip(table.starts.tolist(), table.end.tolist(), strict=True)] == usual
    assert len(CharacterWindow(*size).chunks(doc, tokens, segmenter.stride)) == len(usual) + table.dropped_tails


@pytest.mark.parametrize(("size", "tails"), [((10, 0), 0), ((10, 2), 1), ((10, 8), 4)])
@pytest.mark.parametrize("unit", sorted(UNITS))
def test_contained_tails_occur_never_once_and_several_times(unit: str, size: tuple[int, int], tails: int) -> None:
    text = {"characters": "x" * 41, "words": "w " * 41, "sentences": "One. " * 41}[unit]
    doc, segmenter = source(text), UNITS[unit][0](*size, "drop")
    table = segmenter.chunks(doc, TOKENIZERS["shipped"].encode(doc.content), segmenter.stride)
    assert table.dropped_tails == tails


def test_words_keep_marks_joiners_and_letters_of_unspaced_scripts_apart() -> None:
    doc = source("re\u0301gle नियम है, 図書館のA4 ไทย")
    table = WordWindow(1).chunks(doc, TOKENIZERS["shipped"].encode(doc.content), 1)
    assert shown(doc, table) == ["re\u0301gle ", "नियम ", "है, ", "図", "書", "館", "の", "A4 ", "ไ", "ท", "ย"]


def test_source_without_words_is_one_chunk() -> None:
    doc = source(" \n— … \n")
    table = WordWindow(3, 1).chunks(doc, TOKENIZERS["words"].encode(doc.content), 2)
    assert (table.starts.tolist(), table.end.tolist()) == ([0], [len(doc.content)])


@pytest.mark.parametrize("unit", sorted(UNITS))
@pytest.mark.parametrize("phase", [0, 4, None, True])
def test_phase_outside_the_stride_is_refused(unit: str, phase: int | None) -> None:
    doc = source("some text")
    with pytest.raises(PhaseError):
        UNITS[unit][0](4, 1).chunks(doc, TOKENIZERS["shipped"].encode(doc.content), phase)

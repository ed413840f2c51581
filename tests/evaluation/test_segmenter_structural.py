"""Structure-aware segmenters: bytes partitioned, capacities kept, declared shifts, and what each promises."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotate.domain.sentences import sentences
from evaluation.domain.chunks import ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.phases import PhaseError
from evaluation.domain.segmenters.code import CodeAware
from evaluation.domain.segmenters.headings import HeadingAware
from evaluation.domain.segmenters.recursive import Recursive
from evaluation.domain.segmenters.ruler import Ruler
from evaluation.domain.segmenters.sentences import SentencePacking
from evaluation.domain.segmenters.tables import TableAware
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.sentence_boundaries import sentence_boundaries
from evaluation.domain.structure import structure_of
from evaluation.domain.tokens import code_point_starts
from tests.evaluation.segmenter_texts import (
    LANGUAGES,
    TOKENIZERS,
    check_partition,
    check_union,
    cores,
    media_types,
    shown,
    sizes,
    source,
    texts,
)

SEGMENTERS: dict[str, Callable[..., Any]] = {
    "sentences": SentencePacking,
    "recursive": Recursive,
    "recursive-characters": lambda c, o=0, t="keep": Recursive(c, o, t, "characters", (". ", "\n", "é", "|")),
    "headings": HeadingAware,
    "headings-tokens": lambda c, o=0, t="keep": HeadingAware(c, o, t, secondary="tokens"),
    "tables": TableAware,
    "code": CodeAware,
    "sentences-shifted": lambda c, o=0, t="keep": SentencePacking(c, o, t, shift_every=3),
    "headings-shifted": lambda c, o=0, t="keep": HeadingAware(c, o, t, shift_every=2),
    "code-python": lambda c, o=0, t="keep": CodeAware(c, o, t, "python"),
}
names = st.sampled_from(sorted(SEGMENTERS))
tokenizers = st.sampled_from(sorted(TOKENIZERS))
SHIPPED = TOKENIZERS["shipped"]


def cut(segmenter: Any, doc: Document, phase: int | None = None, name: str = "shipped") -> ChunkTable:
    return segmenter.chunks(doc, TOKENIZERS[name].encode(doc.content), segmenter.stride if phase is None else phase)


@given(
    text=texts,
    size=sizes,
    part=st.integers(0, 39),
    which=names,
    name=tokenizers,
    media=media_types,
    tails=st.sampled_from(["keep", "drop"]),
)
@example(text="👩‍👩‍👧‍👦" * 9, size=(2, 1), part=0, which="headings", name="bytes", media="text/markdown", tails="keep")
@example(text="\r\n\r\n\n", size=(3, 0), part=0, which="tables", name="words", media="text/markdown", tails="drop")
@example(text="\ufeff# H", size=(1, 0), part=0, which="headings", name="shipped", media="text/markdown", tails="keep")
def test_bytes_are_partitioned_by_cores_and_no_chunk_exceeds_its_capacity(
    text: str, size: tuple[int, int], part: int, which: str, name: str, media: str, tails: str
) -> None:
    doc = source(text, media)
    segmenter = SEGMENTERS[which](*size, tails)
    phase = part % segmenter.stride + 1
    tokens = TOKENIZERS[name].encode(doc.content)
    table = segmenter.chunks(doc, tokens, phase)
    check_union(doc, table)
    if tails == "keep":
        check_partition(doc, table, tokens.n)
    else:
        kept = SEGMENTERS[which](*size).chunks(doc, tokens, phase)
        assert len(kept) == len(table) + table.dropped_tails
    ruler = Ruler(code_point_starts(doc.content) if "characters" in which else tokens.starts())
    taken = ruler.at_all(table.end) - ruler.at_all(table.starts)
    above = int(np.count_nonzero(taken > size[0]))
    assert above <= table.remarks.get("code_points_above_capacity", 0)
    # Only a code point that the tokenizer cuts finer than the capacity may stand above it, alone.
    for chunk, count in zip(shown(doc, table), taken.tolist(), strict=True):
        assert count <= size[0] or len(chunk) == 1


@given(text=texts, size=sizes, which=names, media=media_types)
def test_equal_input_gives_equal_chunks_and_phases_share_the_bytes(
    text: str, size: tuple[int, int], which: str, media: str
) -> None:
    doc, segmenter = source(text, media), SEGMENTERS[which](*size)
    for phase in {1, segmenter.stride}:
        first, again = cut(segmenter, doc, phase), cut(SEGMENTERS[which](*size), doc, phase)
        assert cores(first) == cores(again)
        assert first.end.tolist() == again.end.tolist()


@pytest.mark.parametrize("which", sorted(SEGMENTERS))
@pytest.mark.parametrize("phase", [0, 193, None])
def test_phase_outside_the_stride_is_refused(which: str, phase: int | None) -> None:
    doc = source("some text")
    with pytest.raises(PhaseError):
        SEGMENTERS[which](256, 64).chunks(doc, SHIPPED.encode(doc.content), phase)


@given(
    n=st.integers(1, 200),
    size=sizes,
    part=st.integers(0, 39),
    which=st.sampled_from(["sentences", "recursive", "tables"]),
)
def test_one_giant_word_is_cut_like_a_token_window(n: int, size: tuple[int, int], part: int, which: str) -> None:
    doc, segmenter = source("a" * n), SEGMENTERS[which](*size)
    table = cut(segmenter, doc, part % segmenter.stride + 1, "bytes")
    window = cut(TokenWindow(*size), doc, part % segmenter.stride + 1, "bytes")
    # Sentence and row packing leave the last piece whole where the capacity holds it.
    same = len(window) if which == "recursive" else max(0, len(table) - 1)
    assert cores(table)[:same] == cores(window)[:same]
    assert bool(table.remarks) == (which != "recursive" and n > size[0])


@given(text=texts, size=sizes, part=st.integers(0, 39), name=tokenizers)
def test_sentences_are_packed_greedily_and_never_parted_below_the_capacity(
    text: str, size: tuple[int, int], part: int, name: str
) -> None:
    doc, segmenter = source(text), SentencePacking(*size)
    phase = part % segmenter.stride + 1
    tokens = TOKENIZERS[name].encode(doc.content)
    table = segmenter.chunks(doc, tokens, phase)
    edges = sentence_boundaries(doc.content).tolist()
    ruler = Ruler(tokens.starts())
    large = [(a, b) for a, b in pairwise(edges) if ruler.at(b) - ruler.at(a) > size[0]]
    assert table.remarks.get("oversized_sentences_split", 0) == len(large)
    for place in table.cut_bytes.tolist():
        assert place in edges or any(a < place < b for a, b in large)
    # Greedy: the sentence behind a core would not have fitted its budget.
    for index, (start, end) in enumerate(cores(table)[:-1]):
        budget = phase if index == 0 else segmenter.stride
        if end in edges:
            after = edges[edges.index(end) + 1]
            assert ruler.at(after) - ruler.at(start) > budget


def test_first_core_takes_the_phase_and_overlap_whole_sentences() -> None:
    doc = source("One two. Three four. Five six. Seven eight. Nine ten.")
    segmenter = SentencePacking(20, 10)
    tokens = TOKENIZERS["words"].encode(doc.content)  # three tokens a sentence
    assert shown(doc, segmenter.chunks(doc, tokens, 10)) == [
        "One two. Three four. Five six. Seven eight. Nine ten.",
        "Seven eight. Nine ten.",
    ]
    assert shown(doc, segmenter.chunks(doc, tokens, 1)) == [
        "One two. Three four. Five six. Seven eight. ",
        "Three four. Five six. Seven eight. Nine ten.",
        "Nine ten.",
    ]


def test_shift_reaches_the_end_of_a_long_source_only_when_it_is_repeated() -> None:
    doc = source("".join(f"Rule {i} ends after {'very ' * ((i * 2654435761 >> 9) % 14)}few days. " for i in range(600)))
    tokens = SHIPPED.encode(doc.content)
    for make in (SentencePacking, Recursive, HeadingAware, TableAware, CodeAware):
        once, again = make(120, 24), make(120, 24, shift_every=4)
        usual = once.chunks(doc, tokens, 96)
        assert cores(again.chunks(doc, tokens, 96)) == cores(usual)
        base = set(usual.cut_bytes.tolist())
        first = [cut for cut in once.chunks(doc, tokens, 40).cut_bytes.tolist() if cut not in base]
        moved = [cut for cut in again.chunks(doc, tokens, 40).cut_bytes.tolist() if cut not in base]
        assert len(moved) > 3 * len(first)
        assert max(moved) > len(doc.content) * 3 // 4


@pytest.mark.parametrize("language", sorted(LANGUAGES))
@pytest.mark.parametrize("which", sorted(SEGMENTERS))
def test_every_segmenter_cuts_chinese_arabic_and_hindi(which: str, language: str) -> None:
    doc = source(LANGUAGES[language] * 3)
    segmenter = SEGMENTERS[which](60, 15)
    for phase in range(1, segmenter.stride + 1):
        table = cut(segmenter, doc, phase)
        check_partition(doc, table, SHIPPED.encode(doc.content).n)
        assert len(table) > 2


def test_recursive_ends_each_chunk_at_its_coarsest_separator() -> None:
    doc = source("A b c.\n\nD e f. G h.\nI j k l m n o p q.\n\nR.", "text/plain")
    tokens = TOKENIZERS["words"]
    table = Recursive(6).chunks(doc, tokens.encode(doc.content), 6)
    assert shown(doc, table) == ["A b c.\n\n", "D e f. G h.\n"[:7], "G h.\n", "I j k l m n ", "o p q.\n\nR."]


def test_recursive_takes_literal_separators_and_keeps_them_before_the_cut() -> None:
    doc = source("a;b;c--d;e--f", "text/plain")
    table = Recursive(5, unit="characters", separators=("--", ";")).chunks(doc, SHIPPED.encode(doc.content), 5)
    assert shown(doc, table) == ["a;b;", "c--", "d;e--", "f"]


SECTIONS = (
    "# Loans\n\nBooks go out. Films too.\n\n## Fees\n\nTwo cents.\n\n## Holds\n\nFree.\n\n# Desk\n\nOpen daily.\n"
)


def test_sections_stay_whole_and_pack_only_under_the_same_parent() -> None:
    doc = source(SECTIONS)
    table = HeadingAware(60).chunks(doc, TOKENIZERS["words"].encode(doc.content), 60)
    assert [chunk.split("\n")[0] for chunk in shown(doc, table)] == ["# Loans", "## Fees", "# Desk"]
    assert "## Holds" in shown(doc, table)[1]
    first = HeadingAware(60).chunks(doc, TOKENIZERS["words"].encode(doc.content), 1)
    assert [chunk.split("\n")[0] for chunk in shown(doc, first)] == ["# Loans", "## Fees", "## Holds", "# Desk"]


def test_chunks_of_a_cut_section_inherit_its_heading_and_never_part_it() -> None:
    doc = source("# Top\n\n## Rule\n\n" + "Every loan ends after three weeks. " * 12)
    for phase in range(1, 13):
        table = HeadingAware(16, 4).chunks(doc, TOKENIZERS["words"].encode(doc.content), phase)
        assert shown(doc, table)[0].startswith("# Top\n\n## Rule\n\nEvery")
        assert table.lineage is not None
        assert table.lineage[0].tolist() == [-1, -1]
        inherited = {doc.content[a:b] for a, b in table.lineage[1:].tolist()}
        assert inherited == {b"## Rule\n"}
        assert table.remarks["oversized_sections_split"] == 1


TABLE = (
    "Intro text.\n\n| item | days |\n|---|---|\n" + "".join(f"| book {i} | {i} |\n" for i in range(20)) + "\nAfter.\n"
)


def test_rows_are_never_parted_and_carry_their_header_as_lineage() -> None:
    doc = source(TABLE)
    table = structure_of(doc).tables[0]
    for phase in (1, 7, 24):
        found = TableAware(32, 8).chunks(doc, SHIPPED.encode(doc.content), phase)
        rows = {start for start, _ in table.rows}
        assert set(found.cut_bytes.tolist()) <= rows | {table.start, doc.content.index(b"After.")}
        assert table.rows[0][0] not in found.cut_bytes.tolist()
        assert found.lineage is not None
        for (start, _), lineage in zip(cores(found), found.lineage.tolist(), strict=True):
            below = table.header[1] <= start < table.end
            assert lineage == (list(table.header) if below else [-1, -1])
        # No chunk of rows reaches into the text behind the table.
        assert all(
            b"After." not in doc.content[s:e] or s >= table.end for s, e in zip(found.starts, found.end, strict=True)
        )


def test_row_above_the_capacity_is_cut_and_counted() -> None:
    doc = source("| a | b |\n|---|---|\n| " + "long cell " * 30 + "| x |\n| y | z |\n")
    table = TableAware(20).chunks(doc, SHIPPED.encode(doc.content), 20)
    check_partition(doc, table, SHIPPED.encode(doc.content).n)
    assert table.remarks == {"oversized_rows_split": 1}
    assert int(table.tokens.max()) <= 20


CODE = (
    "import os\n\n\n# Lends.\n@cache\ndef lend(book):\n    return 21\n\n\nclass Desk:\n    def open(self):\n"
    "        return True\n\n    def shut(self):\n        return False\n"
)


def test_code_is_cut_at_symbols_with_the_comments_above_them() -> None:
    doc = source(CODE, "text/x-python")
    tokens = TOKENIZERS["words"].encode(doc.content)
    table = CodeAware(26).chunks(doc, tokens, 26)
    assert [chunk.split("\n")[0] for chunk in shown(doc, table)] == ["import os", "class Desk:"]
    small = CodeAware(14).chunks(doc, tokens, 14)
    assert [chunk.split("\n")[0].strip() for chunk in shown(doc, small)] == [
        "import os",
        "# Lends.",
        "class Desk:",
        "def shut(self):",
    ]
    assert small.remarks == {"oversized_symbols_split": 1}


def test_code_blocks_of_markdown_stay_whole_while_they_fit() -> None:
    doc = source("Some words here. More words there.\n\n```py\nx = 1\n\ny = 2\n```\n\nTail text.\n")
    table = CodeAware(14).chunks(doc, TOKENIZERS["words"].encode(doc.content), 14)
    assert "```py\nx = 1\n\ny = 2\n```\n\n" in shown(doc, table)


@pytest.mark.parametrize("which", sorted(SEGMENTERS))
def test_empty_source_has_no_chunks(which: str) -> None:
    doc = source("")
    assert len(SEGMENTERS[which](8, 2).chunks(doc, SHIPPED.encode(b""), 1)) == 0


def test_time_of_one_giant_line_is_no_product_of_its_length() -> None:
    # A quadratic rule would take minutes here; the bench measures, this only has to come back.
    doc = source("lend no. 5 (e.g. books), " * 4_000 + "x" * 100_000)
    tokens = SHIPPED.encode(doc.content)
    assert len(sentences(doc.content.decode())) == 1
    for make in SEGMENTERS.values():
        table = make(4096).chunks(doc, tokens, 1)
        assert table.core_end[-1] == len(doc.content)

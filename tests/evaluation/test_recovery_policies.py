"""Recovery widens hits inside their version: each policy on builds small enough to be checked by eye."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.domain.analysis import Analyser
from evaluation.domain.chunks import ChunkTable, join
from evaluation.domain.hits import Hits
from evaluation.domain.index_build import build_index, prepare_corpus
from evaluation.domain.pipeline import ArmSettings, IndexBuild, PreparedCorpus
from evaluation.domain.plan_pipeline import Recovery
from evaluation.domain.plan_words import DecimalText, ParentKind, RecoveryPolicy
from evaluation.domain.recovery.auto_merge import AutoMerge
from evaluation.domain.recovery.configuration import RecoveryConfigError
from evaluation.domain.recovery.neighbours import Neighbours, around
from evaluation.domain.recovery.parent import Parent
from evaluation.domain.recovery.sentence_window import SentenceWindow
from evaluation.domain.recovery.windows import windows
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.plugins.shipped_recovery import AUTO_MERGE, NEIGHBOURS, NO_RECOVERY, PARENT, SENTENCE_WINDOW
from evaluation.plugins.tokenizers import load_tokenizer
from ledger.domain.canonical import canonical_bytes
from tests.evaluation.engine_world import byte_tokenizer, document, letters
from tests.evaluation.recovery_world import as_rows, hits_of

PLAIN = document("a-plain", "Alpha one.\r\nBeta two! Gamma 💩 three? Delta four. Epsilon five.")
SECTIONS = document(
    "b-sections",
    "Before any heading.\n\n# One\nFirst rule. Second rule.\n\n## One a\nAn exception.\n"
    "```\n# no heading\n```\n# Two\nLast words.\n",
    media_type="text/markdown",
)


@pytest.fixture(scope="module")
def prepared() -> PreparedCorpus:
    """Two documents with one token per byte, so that token indices are byte offsets."""
    return prepare_corpus([SECTIONS, PLAIN], byte_tokenizer(), Analyser())


def windows_build(prepared: PreparedCorpus, capacity: int = 10, overlap: int = 0, phase: int = 4) -> IndexBuild:
    return build_index(prepared, ArmSettings("windows", TokenWindow(capacity, overlap)), phase)


def text_of(prepared: PreparedCorpus, units: Hits, row: int = 0) -> list[str]:
    return [prepared.documents[u.document].content[u.start : u.end].decode() for u in as_rows(units)[row]]


def chunk_at(build: IndexBuild, document: int, offset: int) -> int:
    """The chunk whose core holds a byte."""
    chunks = build.chunks
    held = (chunks.document == document) & (chunks.start <= offset) & (offset < chunks.core_end)
    (found,) = np.flatnonzero(held)
    return int(found)


def test_sentence_window_makes_touched_sentences_whole_and_adds_those_around(prepared: PreparedCorpus) -> None:
    build = windows_build(prepared, capacity=6, phase=6)
    inside = chunk_at(build, 0, PLAIN.content.index(b"Gamma"))
    (hits,) = [hits_of(build, [[inside, chunk_at(build, 0, 0), len(PLAIN.content) // 6]])]
    assert text_of(prepared, SentenceWindow(1).expand(hits, prepared, build)) == [
        "Alpha one.\r\nBeta two! Gamma 💩 three? Delta four.",
        "Alpha one.\r\nBeta two!",
        "Delta four. Epsilon five.",
    ]
    far = text_of(prepared, SentenceWindow(1000).expand(hits, prepared, build))
    assert far == [PLAIN.content.decode()] * 3


def test_sentence_window_of_a_hit_between_two_sentences_reaches_out_from_there() -> None:
    gaps = document("gaps", "One here. Two here.          Three here. Four here.")
    prepared = prepare_corpus([gaps], byte_tokenizer(), Analyser())
    build = windows_build(prepared, capacity=4, phase=4)
    blank = chunk_at(build, 0, 22)
    assert not gaps.content[20:24].strip()
    units = SentenceWindow(1).expand(hits_of(build, [[blank]]), prepared, build)
    assert text_of(prepared, units) == ["Two here.          Three here."]


def test_sentence_window_keeps_blank_documents_as_they_are() -> None:
    prepared = prepare_corpus([document("blank", " \n \n ")], byte_tokenizer(), Analyser())
    build = windows_build(prepared, capacity=2, phase=1)
    units = SentenceWindow(3).expand(hits_of(build, [[1]]), prepared, build)
    assert [(u.start, u.end) for u in as_rows(units)[0]] == [(1, 3)]


def test_neighbours_stop_at_the_edges_of_their_document(prepared: PreparedCorpus) -> None:
    build = windows_build(prepared)
    last_of_first = int(build.chunks.first[1]) - 1
    units = Neighbours(2).expand(hits_of(build, [[0, last_of_first, last_of_first + 1, 3]]), prepared, build)
    size = len(PLAIN.content)
    assert [(u.document, u.start, u.end) for u in as_rows(units)[0]] == [
        (0, 0, 24),
        (0, int(build.chunks.start[last_of_first - 2]), size),
        (1, 0, 24),
        (0, 4, 54),
    ]


def test_neighbours_of_nested_chunks_hold_every_chunk_on_the_way() -> None:
    def column(*values: int) -> Any:
        return np.array(values, dtype=np.int64)

    start, end = column(0, 2, 4, 6), column(20, 5, 9, 8)
    table = ChunkTable(start, end, end, start, end, end, column(), column(), column())
    found = around(join([table, table], [letters(20)] * 2), 1)
    assert found.start.tolist() == [0, 0, 2, 4] * 2
    assert found.end.tolist() == [20, 20, 9, 9] * 2
    assert around(join([table], [letters(20)]), 10**9).end.tolist() == [20] * 4


def test_section_runs_from_the_first_touched_heading_to_the_end_of_the_last(prepared: PreparedCorpus) -> None:
    build = windows_build(prepared, capacity=6, phase=6)
    content = SECTIONS.content
    asked = [
        chunk_at(build, 1, content.index(b"Second")),
        chunk_at(build, 1, content.index(b"exception")),
        chunk_at(build, 1, content.index(b"Last")),
        chunk_at(build, 1, 0),
        chunk_at(build, 0, 9),
    ]
    found = text_of(prepared, Parent(ParentKind.SECTION).expand(hits_of(build, [asked]), prepared, build))
    assert found == [
        "# One\nFirst rule. Second rule.\n\n",
        "## One a\nAn exception.\n```\n# no heading\n```\n",
        "# Two\nLast words.\n",
        "Before any heading.\n\n",
        PLAIN.content.decode(),
    ]
    across = windows_build(prepared, capacity=40, phase=30)
    two = chunk_at(across, 1, 30)
    (unit,) = text_of(prepared, Parent(ParentKind.SECTION).expand(hits_of(across, [[two]]), prepared, across))
    assert unit.startswith("# One\nFirst")
    assert unit.endswith("```\n")


def test_whole_document_is_the_parent_of_every_hit_in_it(prepared: PreparedCorpus) -> None:
    build = windows_build(prepared)
    last = len(build.chunks) - 1
    found = text_of(prepared, Parent(ParentKind.DOCUMENT).expand(hits_of(build, [[3, last, 0]]), prepared, build))
    assert found == [PLAIN.content.decode(), SECTIONS.content.decode(), PLAIN.content.decode()]


def test_larger_windows_take_whole_chunks_up_to_their_capacity(prepared: PreparedCorpus) -> None:
    build = windows_build(prepared, capacity=10, overlap=3, phase=5)
    found = windows(build.chunks, 24)
    sizes = found.interval.token_end - found.interval.token_start
    assert int(sizes.max()) == 24
    # 5 + 7 + 7 + 3 = 22 tokens; a fourth core would make 29. Then 7 + 7 + 7 + 3 = 24.
    assert found.size[:2].tolist() == [3, 3]
    assert found.interval.start[:2].tolist() == [0, 19]
    assert found.interval.end[:2].tolist() == [22, 43]
    alone = windows(build.chunks, 1)
    assert alone.size.tolist() == [1] * len(build.chunks)
    parent = Parent(ParentKind.LARGER_CHUNK, 24).expand(hits_of(build, [[4]]), prepared, build)
    assert [(u.start, u.end, u.rank, u.chunk) for u in as_rows(parent)[0]] == [(19, 43, 1, 4)]


def test_hits_become_their_parent_at_exactly_the_declared_share(prepared: PreparedCorpus) -> None:
    build = windows_build(prepared, capacity=10, phase=10)
    assert windows(build.chunks, 30).size[:2].tolist() == [3, 3]
    # The cut at byte 30 lies in an emoji that starts at 28.
    # Two of three chunks of the second parent, one of the first: 2/3 passes 0.66, not 0.67.
    hits = hits_of(build, [[5, 0, 3], [2]], ranks=[[4, 1, 2], [1]])
    merged = AutoMerge(30, "0.66").expand(hits, prepared, build)
    first, second = as_rows(merged)
    assert [(u.start, u.end, u.rank, u.chunk) for u in first] == [(28, 60, 4, 5), (0, 10, 1, 0)]
    assert [(u.start, u.end) for u in second] == [(20, 28)]
    assert merged.into is not None
    assert merged.into.tolist() == [[0, 1, 0], [0, -1, -1]]
    apart = AutoMerge(30, "0.67").expand(hits, prepared, build)
    assert as_rows(apart) == as_rows(hits)
    assert apart.into is not None
    assert apart.into.tolist() == [[0, 1, 2], [0, -1, -1]]


def test_share_counts_chunks_once_however_often_a_list_names_them(prepared: PreparedCorpus) -> None:
    build = windows_build(prepared, capacity=10, phase=10)
    units = AutoMerge(30, "0.5").expand(hits_of(build, [[3, 3]]), prepared, build)
    assert [(u.start, u.end) for u in as_rows(units)[0]] == [(28, 40), (28, 40)]


def test_share_is_read_as_the_exact_decimal(prepared: PreparedCorpus) -> None:
    build = windows_build(prepared, capacity=1, phase=1)
    ten = hits_of(build, [list(range(7))])
    assert len(as_rows(AutoMerge(10, "0.7").expand(ten, prepared, build))[0]) == 1
    assert len(as_rows(AutoMerge(10, "0.7000000000000000001").expand(ten, prepared, build))[0]) == 7


@pytest.mark.parametrize(
    "policy",
    [
        SentenceWindow(2),
        Neighbours(1),
        Parent(ParentKind.SECTION),
        Parent(ParentKind.DOCUMENT),
        Parent(ParentKind.LARGER_CHUNK, 30),
        AutoMerge(30),
    ],
)
def test_empty_lists_stay_empty_and_every_policy_describes_itself(policy: Any, prepared: PreparedCorpus) -> None:
    build = windows_build(prepared)
    for lists in ([[], [1]], [[], []], []):
        units = policy.expand(hits_of(build, lists), prepared, build)
        assert [len(one) for one in as_rows(units)] == [len(one) for one in lists]
        assert units.into is not None
        assert units.into.shape == hits_of(build, lists).document.shape
    assert canonical_bytes(policy.describe())
    assert policy.describe()["version"] == "1"


@pytest.mark.parametrize(
    ("plugin", "recovery", "words"),
    [
        (SENTENCE_WINDOW, Recovery(RecoveryPolicy.SENTENCE_WINDOW, reach=0), ("reach", "at least 1")),
        (NEIGHBOURS, Recovery(RecoveryPolicy.NEIGHBOURS, reach=True), ("reach", "whole number")),
        (PARENT, Recovery(RecoveryPolicy.PARENT, parent=ParentKind.LARGER_CHUNK), ("parent_capacity", "at least 1")),
        (PARENT, Recovery(RecoveryPolicy.PARENT, parent_capacity=512), ("parent_capacity", "larger-chunk")),
        (AUTO_MERGE, Recovery(RecoveryPolicy.AUTO_MERGE), ("parent_capacity", "at least 1")),
        (
            AUTO_MERGE,
            Recovery(RecoveryPolicy.AUTO_MERGE, parent_capacity=64, merge_share=DecimalText("1.5")),
            ("merge_share", "at most 1"),
        ),
        (
            AUTO_MERGE,
            Recovery(RecoveryPolicy.AUTO_MERGE, parent_capacity=64, merge_share=DecimalText("half")),
            ("merge_share", "decimal"),
        ),
    ],
)
def test_recovery_that_cannot_widen_is_refused_with_setting_and_mend(
    plugin: Any, recovery: Recovery, words: tuple[str, str]
) -> None:
    with pytest.raises(RecoveryConfigError) as refused:
        plugin.make(recovery)
    assert all(word in str(refused.value) for word in words)


def test_plugins_build_from_a_plans_recovery() -> None:
    given = Recovery(reach=3, parent=ParentKind.SECTION)
    assert NO_RECOVERY.make(given) is None
    assert SENTENCE_WINDOW.make(given) == SentenceWindow(3)
    assert NEIGHBOURS.make(given) == Neighbours(3)
    assert PARENT.make(given) == Parent(ParentKind.SECTION)
    assert AUTO_MERGE.make(Recovery(parent_capacity=99, merge_share=DecimalText("0.25"))) == AutoMerge(99, "0.25")


def test_tokens_of_an_interval_that_begins_with_a_split_character_are_all_counted() -> None:
    # The shipped byte-level BPE writes an emoji as several tokens, all of which start where the character does.
    content = "Measure first.\n\n📏📏 Then cut. नमस्ते".encode()
    text = load_tokenizer().encode(content)
    emoji = content.index("📏".encode())
    pieces = int(np.count_nonzero(text.starts()[:-1] == emoji))
    assert pieces > 1
    for end in (emoji + 4, len(content)):
        first, last = text.spanning(np.array([emoji]), np.array([end]))
        begins = text.starts()[:-1]
        assert last[0] - first[0] == np.count_nonzero((begins >= emoji) & (begins < end))


def test_source_without_a_token_has_no_tokens_around_anything() -> None:
    first, last = load_tokenizer().encode(b"").spanning(np.array([0]), np.array([0]))
    assert (first.tolist(), last.tolist()) == ([0], [0])

"""The BM25 retriever ranks a block as an index rebuilt with bm25s would, and each question as if it were alone."""

from __future__ import annotations

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain import bm25
from evaluation.domain.analysis import Analyser, PositionalTable, word_edges
from evaluation.domain.bm25 import QUANTUM, Bm25
from evaluation.domain.index_build import prepare_corpus
from evaluation.domain.retrieval.lexical import REMEMBERED_BLOCKS, Bm25Retriever
from evaluation.domain.segmenters.token_window import TokenWindow
from tests.evaluation.engine_world import byte_tokenizer, corpus, demo_documents, document
from tests.evaluation.retrieval_world import build, everything, lines, listed, queries

WORDS = ["fee", "fees", "feed", "late", "later", "the", "a", "日本語", "e\u0301te", "Été", "STRASSE", "straße", "x1_y"]
texts = st.lists(st.sampled_from([*WORDS, "\r\n", "💩", "."]), min_size=1, max_size=60).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    sources=st.lists(texts, min_size=1, max_size=4, unique=True),
    questions=st.lists(texts, min_size=1, max_size=6),
    capacity=st.integers(2, 40),
    share=st.integers(0, 9),
    phase=st.integers(1, 40),
    common=st.sampled_from([0.01, 8, 1000]),
)
def test_ranks_of_any_phase_equal_an_index_rebuilt_with_bm25s(
    sources: list[str], questions: list[str], capacity: int, share: int, phase: int, common: float
) -> None:
    analyser = Analyser(frozenset({"the"}))
    prepared = prepare_corpus([document(f"d{i}", text) for i, text in enumerate(sources)], byte_tokenizer(), analyser)
    window = TokenWindow(capacity, capacity * share // 10)
    index = build(prepared, window, min(phase, window.stride))
    chunks = index.chunks
    held = [
        analyser.terms(prepared.documents[doc].content[start:end].decode())
        for doc, start, end in zip(chunks.document, chunks.start, chunks.end, strict=True)
    ]
    if not any(held):
        return
    rebuilt = bm25s.BM25(method="lucene", k1=1.2, b=0.4, dtype="float64")
    rebuilt.index(held, show_progress=False)
    before = bm25.COMMON
    bm25.COMMON = common  # no term, some and every term in dense rows
    try:
        found = (
            Bm25Retriever(Bm25(1.2, 0.4))
            .index(prepared, index)
            .search(queries(questions, [everything(len(chunks))]), 10)
        )
    finally:
        bm25.COMMON = before
    for q, question in enumerate(questions):
        terms = analyser.terms(question)
        wanted = np.asarray(rebuilt.get_scores(terms)) if terms else np.zeros(len(chunks))
        order = listed(found, q)
        assert len(order) == min(10, np.count_nonzero(np.rint(wanted * QUANTUM)))
        np.testing.assert_allclose(found.score[q, : len(order)] / QUANTUM, wanted[order], rtol=1e-5, atol=1e-6)
        # A swap is allowed only between scores that agree within the tolerance.
        again = np.argsort(-wanted, kind="stable")[: len(order)]
        np.testing.assert_allclose(wanted[order], wanted[again], rtol=1e-5, atol=1e-6)
        assert found.candidates[q] == np.count_nonzero(np.rint(wanted * QUANTUM))


def test_each_question_of_a_block_is_ranked_as_if_it_were_alone() -> None:
    prepared = corpus(*demo_documents())
    index = build(prepared, TokenWindow(64, 16), 11)
    asked = ["How long may a deposit be kept after the return of an item?", "the fee of a class C item", "zzz qqq", ""]
    retriever = Bm25Retriever(Bm25()).index(prepared, index)
    mask = everything(len(index.chunks))
    together = retriever.search(queries(asked, [mask]), 20)
    for q, text in enumerate(asked):
        alone = retriever.search(queries([text], [mask]), 20)
        assert listed(alone) == listed(together, q)
        assert alone.score[0].tolist() == together.score[q].tolist()
        assert alone.candidates[0] == together.candidates[q]
    assert together.count.tolist()[2:] == [0, 0]
    assert together.failed == ("", "", "", "")


@pytest.mark.parametrize("question", ["qqqneverseen wwwneverseen", "?!", "", "the of"])
def test_question_without_a_term_of_the_index_has_no_hits_and_does_not_fail(question: str) -> None:
    prepared = corpus(document("d", "the fee of a late return"), analyser=Analyser(frozenset({"the", "of"})))
    index = build(prepared, TokenWindow(4), 4)
    found = Bm25Retriever(Bm25()).index(prepared, index).search(queries([question], [everything(len(index.chunks))]), 5)
    assert (listed(found), found.candidates.tolist(), found.failed) == ([], [0], ("",))


def test_corpus_without_any_term_gives_no_hits() -> None:
    prepared, index = lines("?! . ,", "; -")
    found = Bm25Retriever(Bm25()).index(prepared, index).search(queries(["fee", "?"], [everything(2)]), 5)
    assert found.count.tolist() == [0, 0]


def test_depth_beyond_the_index_lists_every_candidate_and_equal_scores_by_source() -> None:
    prepared, index = lines("late fee one", "late fee two", "nothing here", "late fee six")
    found = Bm25Retriever(Bm25()).index(prepared, index).search(queries(["fee"], [everything(4)]), 1000)
    assert found.chunk.shape == (1, 4)
    assert listed(found) == [0, 1, 3]
    assert len(set(found.score[0, :3].tolist())) == 1


def test_dense_rows_are_bounded_and_change_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = corpus(*demo_documents())
    index = build(prepared, TokenWindow(64, 16), 5)
    asked = queries(["the fee of a late return in the shop"], [everything(len(index.chunks))])
    wide = Bm25Retriever(Bm25()).index(prepared, index).search(asked, 30)
    monkeypatch.setattr(bm25, "DENSE_ENTRIES", 3 * len(index.chunks))
    bounded = Bm25Retriever(Bm25()).index(prepared, index).search(asked, 30)
    assert listed(wide) == listed(bounded)
    np.testing.assert_allclose(wide.score, bounded.score, atol=1)


def test_only_the_last_blocks_of_questions_are_remembered() -> None:
    prepared, index = lines("late fee", "deposit")
    retriever = Bm25Retriever(Bm25()).index(prepared, index)
    for i in range(3 * REMEMBERED_BLOCKS):
        retriever.search(queries([f"fee {i}"], [everything(2)]), 5)
    table: PositionalTable = prepared.words
    assert len(table.query_blocks) == REMEMBERED_BLOCKS


@given(st.text(alphabet=st.sampled_from("ab_1 .\r\n\t\u0301\u0938\u0902éß💩日\u200d\u00a0\x00Ⅷ²"), max_size=40))
def test_word_edges_are_those_of_the_analyser_s_pattern(text: str) -> None:
    first, last = word_edges(text)
    found = [text[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True)]
    assert [word.lower() for word in found] == Analyser(min_length=1).terms(text)

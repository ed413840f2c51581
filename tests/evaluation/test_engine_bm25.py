"""Scores and ranks of any phase equal an index rebuilt for that phase with bm25s."""

from __future__ import annotations

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.analysis import Analyser, AnalyserError
from evaluation.domain.bm25 import QUANTUM, Bm25, Bm25ConfigError
from evaluation.domain.hits import Ranked
from evaluation.domain.index_build import build_index, prepare_corpus
from evaluation.domain.payloads import ties_at
from evaluation.domain.pipeline import ArmSettings, IndexBuild, PreparedCorpus
from evaluation.domain.segmenters.token_window import TokenWindow
from tests.evaluation.engine_world import byte_tokenizer, corpus, demo_documents, document
from tests.evaluation.retrieval_world import bm25_ranks, bm25_scores, listed

QUESTIONS = [
    "How long may a deposit be kept after an item has been returned?",
    "Which fee applies to a late return of a class C item per day?",
    "deposit deposit refund",
    "Wer darf Gebühren erlassen?",
    "返却は何日以内ですか",
    "What does the API return when the token has expired?",
    "zzzunknown qqqneverseen",
    "",
]
STOP = frozenset({"the", "of", "a", "is", "to"})


def chunk_terms(prepared: PreparedCorpus, build: IndexBuild) -> list[list[str]]:
    """What an index of the chunks' own texts would hold."""
    chunks = build.chunks
    return [
        prepared.analyser.terms(prepared.documents[doc].content[start:end].decode())
        for doc, start, end in zip(chunks.document, chunks.start, chunks.end, strict=True)
    ]


def rebuilt(prepared: PreparedCorpus, build: IndexBuild, model: Bm25, query: str) -> np.ndarray:
    """Scores of bm25s, 'lucene' method, over the chunk texts."""
    reference = bm25s.BM25(method="lucene", k1=model.k1, b=model.b, dtype="float64")
    reference.index(chunk_terms(prepared, build), show_progress=False)
    return np.asarray(reference.get_scores(prepared.analyser.terms(query)), dtype=np.float64)


@pytest.fixture(scope="module")
def demo() -> PreparedCorpus:
    return corpus(*demo_documents(), analyser=Analyser(stop_words=STOP))


@pytest.mark.parametrize("window", [TokenWindow(96), TokenWindow(96, 32), TokenWindow(7, 3), TokenWindow(64, 60)])
@pytest.mark.parametrize("part", ["1/64", "1/3", "1/1"])
def test_ranks_equal_an_index_rebuilt_with_bm25s(demo: PreparedCorpus, window: TokenWindow, part: str) -> None:
    numerator, denominator = map(int, part.split("/"))
    build = build_index(demo, ArmSettings("a", window), max(1, window.stride * numerator // denominator))
    model = Bm25(1.5, 0.75)
    lengths = [len(terms) for terms in chunk_terms(demo, build)]
    assert build.words.length.tolist() == lengths
    scores, found = bm25_scores(demo, build, QUESTIONS, model), bm25_ranks(demo, build, QUESTIONS, 50, model)
    reference = bm25s.BM25(method="lucene", k1=model.k1, b=model.b, dtype="float64")
    reference.index(chunk_terms(demo, build), show_progress=False)
    for q, text in enumerate(QUESTIONS):
        terms = demo.analyser.terms(text)
        wanted = np.asarray(reference.get_scores(terms)) if terms else np.zeros(len(build.chunks))
        np.testing.assert_allclose(scores[q] / QUANTUM, wanted, rtol=1e-5, atol=1e-6)
        order, values = listed(found, q), found.score[q, : found.count[q]]
        assert len(order) == min(50, np.count_nonzero(scores[q]))
        again = np.argsort(-wanted, kind="stable")[: len(order)]
        # A swap is allowed only between scores that agree within the tolerance.
        np.testing.assert_allclose(wanted[order], wanted[again], rtol=1e-5, atol=1e-6)
        assert np.all(values > 0)
        assert np.all(np.diff(values) <= 0)


words = st.lists(
    st.sampled_from(["fee", "fees", "feed", "late", "later", "日本", "e\u0301te", "a", "the"]), min_size=1, max_size=40
)


@settings(max_examples=40)
@given(text=words.map(" ".join), window=st.integers(2, 30), part=st.integers(1, 30), query=words.map(" ".join))
def test_fragments_at_cuts_score_like_the_chunk_texts_they_are_in(
    text: str, window: int, part: int, query: str
) -> None:
    prepared = prepare_corpus([document("d", text), document("e", text + " x")], byte_tokenizer(), Analyser(STOP))
    build = build_index(prepared, ArmSettings("a", TokenWindow(window, window // 3)), min(part, window - window // 3))
    assert build.words.length.tolist() == [len(terms) for terms in chunk_terms(prepared, build)]
    terms = prepared.analyser.terms(query)
    if not terms or not any(chunk_terms(prepared, build)):
        return
    model = Bm25(1.2, 0.4)
    (scores,) = bm25_scores(prepared, build, [query], model)
    np.testing.assert_allclose(scores / QUANTUM, rebuilt(prepared, build, model, query), rtol=1e-5, atol=1e-6)


def test_scores_do_not_depend_on_the_other_questions_of_a_block(demo: PreparedCorpus) -> None:
    build = build_index(demo, ArmSettings("a", TokenWindow(64, 16)), 11)
    together = bm25_scores(demo, build, QUESTIONS)
    for text, scores in zip(QUESTIONS, together, strict=True):
        assert np.array_equal(bm25_scores(demo, build, [text])[0], scores)


def test_question_of_unknown_words_only_gets_no_hit(demo: PreparedCorpus) -> None:
    build = build_index(demo, ArmSettings("a", TokenWindow(64)), 1)
    found = bm25_ranks(demo, build, ["qqqneverseen", "?!"], 50)
    assert (found.count.tolist(), found.candidates.tolist(), found.failed) == ([0, 0], [0, 0], ("", ""))


def test_equal_scores_are_ordered_by_source_then_start_and_a_tie_at_k_is_seen() -> None:
    same = "alpha beta. " * 6
    prepared = corpus(document("b", same + "end b"), document("a", same + "end a"))
    build = build_index(prepared, ArmSettings("a", TokenWindow(4)), 4)
    found = bm25_ranks(prepared, build, ["alpha"], 10**6)
    order, values = listed(found), found.score[0, : found.count[0]].tolist()
    tied = values.count(values[0])
    assert tied > 4
    assert order[:tied] == sorted(order[:tied])
    names = [prepared.documents[i].document_id for i in build.chunks.document[order[:tied]]]
    assert names == sorted(names)
    assert set(names) == {"a", "b"}
    assert ties_at(found, 4) == [[0, 1, tied]]
    assert ties_at(found, tied) == ties_at(found, len(order)) == ties_at(found, 10**7) == []


@given(st.lists(st.lists(st.integers(1, 4), max_size=12), min_size=1, max_size=5), st.integers(1, 14))
def test_tie_across_k_is_named_with_its_first_and_last_rank(rows: list[list[int]], k: int) -> None:
    falling = [sorted(row, reverse=True) for row in rows]
    width = max(map(len, falling))
    score = np.array([row + [0] * (width - len(row)) for row in falling], dtype=np.int64).reshape(len(rows), width)
    count = np.array([len(row) for row in falling])
    nothing = np.zeros(len(rows), dtype=np.int64)
    ranked = Ranked(score, score, count, count, nothing, nothing, nothing, ("",) * len(rows))
    assert ties_at(ranked, k) == [
        [q, row.index(row[k]) + 1, len(row) - row[::-1].index(row[k])]
        for q, row in enumerate(falling)
        if k < len(row) and row[k - 1] == row[k]
    ]


def test_analyser_keeps_marks_with_their_letters_and_drops_stop_words() -> None:
    analyser = Analyser(stop_words=frozenset({"the"}))
    assert analyser.terms("The De\u0301partement's नियम, U.S. ΣΑΣ x_1") == ["de\u0301partement", "नियम", "σας", "x_1"]
    assert Analyser(min_length=1).terms("U.S.") == ["u", "s"]


def test_analyser_that_could_never_match_its_stop_words_is_refused() -> None:
    with pytest.raises(AnalyserError, match="lower case"):
        Analyser(stop_words=frozenset({"The"}))
    with pytest.raises(AnalyserError):
        Analyser(min_length=0)


@pytest.mark.parametrize(("k1", "b"), [(-1, 0.5), (1, 1.5), (float("nan"), 0.5), (True, 0.5), (float("inf"), 0.5)])
def test_parameters_outside_their_range_are_refused(k1: float, b: float) -> None:
    with pytest.raises(Bm25ConfigError):
        Bm25(k1, b)

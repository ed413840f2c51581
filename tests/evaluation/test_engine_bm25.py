"""Scores and ranks of any phase equal an index rebuilt for that phase with bm25s."""

from __future__ import annotations

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.analysis import Analyser, AnalyserError
from evaluation.domain.bm25 import QUANTUM, Bm25, Bm25ConfigError, query_terms, rank, score, straddles
from evaluation.domain.index_build import build_index, prepare_corpus
from evaluation.domain.pipeline import ArmSettings, IndexBuild, PreparedCorpus
from evaluation.domain.segmenters.token_window import TokenWindow
from tests.evaluation.engine_world import byte_tokenizer, corpus, demo_documents, document

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
    found = score(model, demo.words, build.words, query_terms(QUESTIONS, demo.analyser, demo.words))
    reference = bm25s.BM25(method="lucene", k1=model.k1, b=model.b, dtype="float64")
    reference.index(chunk_terms(demo, build), show_progress=False)
    for text, (chunks, scores) in zip(QUESTIONS, found, strict=True):
        terms = demo.analyser.terms(text)
        wanted = np.asarray(reference.get_scores(terms)) if terms else np.zeros(len(build.chunks))
        mine = np.zeros(len(build.chunks))
        mine[chunks] = scores / QUANTUM
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)
        order, values = rank(chunks, scores, 50)
        again = np.argsort(-wanted, kind="stable")[: order.size]
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
    ((chunks, scores),) = score(
        model, prepared.words, build.words, query_terms([query], prepared.analyser, prepared.words)
    )
    mine = np.zeros(len(build.chunks))
    mine[chunks] = scores / QUANTUM
    np.testing.assert_allclose(mine, rebuilt(prepared, build, model, query), rtol=1e-5, atol=1e-6)


def test_scores_do_not_depend_on_the_other_questions_of_a_block(demo: PreparedCorpus) -> None:
    build = build_index(demo, ArmSettings("a", TokenWindow(64, 16)), 11)
    together = score(Bm25(), demo.words, build.words, query_terms(QUESTIONS, demo.analyser, demo.words))
    for text, (chunks, scores) in zip(QUESTIONS, together, strict=True):
        ((alone, values),) = score(Bm25(), demo.words, build.words, query_terms([text], demo.analyser, demo.words))
        assert dict(zip(chunks.tolist(), scores.tolist(), strict=True)) == dict(
            zip(alone.tolist(), values.tolist(), strict=True)
        )


def test_question_of_unknown_words_only_gets_no_hit(demo: PreparedCorpus) -> None:
    build = build_index(demo, ArmSettings("a", TokenWindow(64)), 1)
    for chunks, scores in score(
        Bm25(), demo.words, build.words, query_terms(["qqqneverseen", "?!"], demo.analyser, demo.words)
    ):
        assert chunks.size == 0
        assert scores.size == 0


def test_equal_scores_are_ordered_by_source_then_start_and_a_tie_at_k_is_seen() -> None:
    same = "alpha beta. " * 6
    prepared = corpus(document("b", same + "end b"), document("a", same + "end a"))
    build = build_index(prepared, ArmSettings("a", TokenWindow(4)), 4)
    ((chunks, scores),) = score(
        Bm25(), prepared.words, build.words, query_terms(["alpha"], prepared.analyser, prepared.words)
    )
    order, values = rank(chunks, scores, 4)
    assert len(set(values.tolist())) == 1
    assert order.tolist() == sorted(order.tolist())
    names = [prepared.documents[i].document_id for i in build.chunks.document[order]]
    assert names == sorted(names)
    assert set(names) == {"a", "b"}
    everything = rank(chunks, scores, 10**6)
    assert straddles(everything[1], 4)
    assert not straddles(everything[1], everything[1].size)


def test_depth_larger_than_the_corpus_gives_all_candidates() -> None:
    chunks, scores = np.array([0, 1, 2]), np.array([5, 9, 5])
    assert [x.tolist() for x in rank(chunks, scores, 99)] == [[1, 0, 2], [9, 5, 5]]
    assert [x.tolist() for x in rank(chunks, scores, 2)] == [[1, 0], [9, 5]]


@given(st.lists(st.integers(1, 5), max_size=60), st.integers(1, 70))
def test_partial_ranking_equals_a_full_sort(scores: list[int], depth: int) -> None:
    chunks = np.arange(len(scores), dtype=np.int64)[::-1] * 3
    values = np.array(scores, dtype=np.int64)
    full = sorted(zip((-values).tolist(), chunks.tolist(), strict=True))[:depth]
    order, ranked = rank(chunks, values, depth)
    assert [(-s, c) for s, c in zip(ranked.tolist(), order.tolist(), strict=True)] == full


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

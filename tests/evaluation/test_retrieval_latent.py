"""LSA: the rank of a plain dense computation, tiny and degenerate corpora, and nothing out of noise."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.domain.retrieval import latent
from evaluation.domain.retrieval.latent import LatentConfigError, LatentRetriever
from evaluation.domain.segmenters.token_window import TokenWindow
from tests.evaluation.engine_world import corpus, demo_documents
from tests.evaluation.retrieval_world import build, everything, lines, listed, queries

ASKED = ["How long may a deposit be kept after an item has been returned?", "the fee of a class C item", "zzz", ""]


def by_hand(texts: list[str], question: list[str], dimensions: int) -> np.ndarray:
    """Cosines of a question's terms with each text, term by term as the module's docstring states them."""
    terms = sorted({word for text in texts for word in text.split()})
    idf = {t: np.log(1 + len(texts) / sum(t in text.split() for text in texts)) for t in terms}

    def weigh(words: list[str]) -> np.ndarray:
        raw = np.array([(1 + np.log(words.count(t))) * idf[t] if t in words else 0.0 for t in terms])
        return raw / (np.linalg.norm(raw) or 1.0)

    matrix = np.array([weigh(text.split()) for text in texts])
    _, _, vectors = np.linalg.svd(matrix, full_matrices=False)
    axes = vectors[:dimensions].T
    places, asked = matrix @ axes, weigh(question) @ axes
    return places @ asked / (np.linalg.norm(places, axis=1) * np.linalg.norm(asked))


def test_scores_equal_the_formula_written_out() -> None:
    texts = ["fee late fee item", "deposit item kept", "late return fee", "return deposit kept week", "week late"]
    prepared, index = lines(*texts)
    found = LatentRetriever(3).index(prepared, index).search(queries(["late fee fee"], [everything(5)]), 5)
    wanted = by_hand(texts, ["late", "fee", "fee"], 3)
    order = listed(found)
    np.testing.assert_allclose(found.score[0, : len(order)] / 1e6, wanted[order], atol=6e-6)
    assert order == [c for c in np.argsort(-np.round(wanted, 5), kind="stable").tolist() if wanted[c] > 5e-6]


def test_iterative_and_whole_decomposition_give_the_same_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = corpus(*demo_documents())
    index = build(prepared, TokenWindow(256), 7)
    assert len(index.chunks) > 2 * (24 + latent.BEYOND)
    asked = queries(ASKED, [everything(len(index.chunks))])
    iterative = LatentRetriever(24).index(prepared, index).search(asked, 20)
    monkeypatch.setattr(latent, "BEYOND", 10**6)  # every matrix counts as small
    whole = LatentRetriever(24).index(prepared, index).search(asked, 20)
    assert iterative.chunk.tolist() == whole.chunk.tolist()
    assert np.abs(iterative.score - whole.score).max() <= latent.UNITS_PER_STEP
    assert iterative.count.tolist()[2:] == [0, 0]


def test_second_index_gives_the_same_list_to_the_last_unit() -> None:
    prepared = corpus(*demo_documents())
    index = build(prepared, TokenWindow(64, 16), 7)
    asked = queries(ASKED, [everything(len(index.chunks))])
    one, two = (LatentRetriever(24).index(prepared, index).search(asked, 20) for _ in range(2))
    assert one.score.tolist() == two.score.tolist()
    alone = LatentRetriever(24).index(prepared, index).search(queries(ASKED[1:2], [everything(len(index.chunks))]), 20)
    assert alone.score[0].tolist() == one.score[1].tolist()


@pytest.mark.parametrize("dimensions", [1, 2, 3, 50])
def test_more_dimensions_than_the_rank_change_nothing_and_tiny_corpora_work(dimensions: int) -> None:
    prepared, index = lines("late fee", "fee, late!", "deposit")
    found = LatentRetriever(dimensions).index(prepared, index).search(queries(["fee", "deposit"], [everything(3)]), 9)
    assert listed(found, 0) == [0, 1]
    assert listed(found, 1) == ([2] if dimensions > 1 else [])


def test_cut_between_equal_singular_values_is_moved_so_that_no_rank_hangs_on_rounding() -> None:
    # Three unrelated texts of one shape: all singular values are equal, so a cut at 2 would keep any plane.
    prepared, index = lines("late fee", "kept deposit", "third text")
    found = LatentRetriever(2).index(prepared, index).search(queries(["fee", "third"], [everything(3)]), 9)
    assert found.count.tolist() == [0, 0]
    whole = LatentRetriever(3).index(prepared, index).search(queries(["fee", "third"], [everything(3)]), 9)
    assert [listed(whole, 0), listed(whole, 1)] == [[0], [2]]


@pytest.mark.parametrize("texts", [("?!",), ("?!", "."), ("word",)])
def test_corpus_of_one_word_or_none_is_no_error(texts: tuple[str, ...]) -> None:
    prepared, index = lines(*texts)
    found = LatentRetriever().index(prepared, index).search(queries(["word", "?"], [everything(len(texts))]), 3)
    assert found.count.tolist() == [int("word" in texts), 0]
    assert found.failed == ("", "")


def test_fragments_at_cuts_are_terms_like_any_other() -> None:
    prepared = corpus(*demo_documents())
    index = build(prepared, TokenWindow(128, 16), 3)
    new = sorted(index.words.fragments.keys() - prepared.words.vocabulary.keys())
    assert new
    holder = index.words.fragments[new[0]][0]
    found = LatentRetriever(64).index(prepared, index).search(queries([new[0]], [everything(len(index.chunks))]), 50)
    assert holder in listed(found)


@pytest.mark.parametrize("dimensions", [0, -1, True])
def test_dimensions_that_are_none_are_refused(dimensions: int) -> None:
    with pytest.raises(LatentConfigError, match="at least 1"):
        LatentRetriever(dimensions)

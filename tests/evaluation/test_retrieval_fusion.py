"""Reciprocal rank fusion: exact fractions, ties by source and start, and a failed input that fails its question."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.domain.bm25 import Bm25
from evaluation.domain.hits import Ranked
from evaluation.domain.pipeline import IndexBuild, PreparedCorpus
from evaluation.domain.retrieval.fusion import UNIT, FusionConfigError, HybridIndex, HybridRetriever
from evaluation.domain.retrieval.latent import LatentRetriever
from evaluation.domain.retrieval.lexical import Bm25Retriever
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.stage_protocols import Queries, ReaderMask, RetrievalIndex
from tests.evaluation.engine_world import corpus, demo_documents
from tests.evaluation.retrieval_world import build, everything, listed, queries


@dataclass(frozen=True)
class Listed:
    """An index that gives the same lists to whoever asks."""

    lists: tuple[tuple[int, ...], ...]
    failed: tuple[str, ...]

    def search(self, queries: Queries, depth: int) -> Ranked:
        width = max((len(one) for one in self.lists), default=0)
        chunk = np.full((len(self.lists), width), -1, dtype=np.int64)
        for q, one in enumerate(self.lists):
            chunk[q, : len(one)] = one
        count = np.array([len(one) for one in self.lists], dtype=np.int64)
        none = np.zeros(len(self.lists), dtype=np.int64)
        return Ranked(chunk, np.maximum(chunk, 0), count, count, none, none, none, self.failed)


@dataclass(frozen=True)
class Fixed:
    """A retriever from elsewhere, with a list of its own."""

    name: str
    lists: tuple[tuple[int, ...], ...]
    failed: tuple[str, ...] = ("",)
    version: str = "1"
    deterministic: bool = False

    def describe(self) -> dict[str, str | int]:
        return {"retriever": self.name}

    def index(self, prepared: PreparedCorpus, build: IndexBuild) -> RetrievalIndex:
        return Listed(self.lists, self.failed)


orders = st.integers(0, 12).flatmap(lambda n: st.permutations(range(12)).map(lambda p: tuple(p[:n])))


@given(st.lists(orders, min_size=2, max_size=5), st.integers(1, 100), st.integers(1, 12))
def test_fused_order_is_that_of_the_exact_fractions(lists: list[tuple[int, ...]], rrf_k: int, depth: int) -> None:
    names = tuple(f"r{i}" for i in range(len(lists)))
    cut = [one[:depth] for one in lists]
    found = HybridIndex(names, tuple(Listed((one,), ("",)) for one in cut), rrf_k, 12).search(
        queries(["q"], [everything(12)]), depth
    )
    sums: dict[int, Fraction] = {}
    for one in cut:
        for rank, chunk in enumerate(one, 1):
            sums[chunk] = sums.get(chunk, Fraction(0)) + Fraction(1, rrf_k + rank)
    wanted = sorted(sums, key=lambda chunk: (-sums[chunk], chunk))[:depth]
    assert listed(found) == wanted
    assert found.score[0, : len(wanted)].tolist() == [int(sums[chunk] * UNIT) for chunk in wanted]
    assert found.candidates.tolist() == [len(sums)]


def test_mirrored_lists_tie_exactly_and_fall_to_source_order() -> None:
    there, back = (5, 2, 9, 0), (0, 9, 2, 5)
    found = HybridIndex(("a", "b"), (Listed((there,), ("",)), Listed((back,), ("",))), 60, 12).search(
        queries(["q"], [everything(12)]), 4
    )
    assert listed(found) == [0, 5, 2, 9]
    assert found.score[0, 0] == found.score[0, 1]
    assert found.score[0, 2] == found.score[0, 3]


def test_failed_input_fails_its_question_by_name_and_no_other() -> None:
    prepared = corpus(*demo_documents())
    index = build(prepared, TokenWindow(64), 64)
    broken = Fixed("http", ((1, 2), ()), ("", "timeout after 3 attempts"))
    hybrid = HybridRetriever((Bm25Retriever(Bm25()), broken))
    assert not hybrid.deterministic
    found = hybrid.index(prepared, index).search(queries(["late fee", "late fee"], [everything(len(index.chunks))]), 10)
    assert found.failed == ("", "http: timeout after 3 attempts")
    assert found.count[0] == 10
    assert listed(found, 1) == []


def test_hybrid_of_bm25_and_lsa_filters_before_the_depth_and_counts_what_it_kept_out() -> None:
    prepared = corpus(*demo_documents())
    index = build(prepared, TokenWindow(64, 16), 3)
    n = len(index.chunks)
    ones = np.ones(n, dtype=np.bool_)
    readable = ones.copy()
    hybrid = HybridRetriever((Bm25Retriever(Bm25()), LatentRetriever(16)))
    open_list = hybrid.index(prepared, index).search(queries(["the late fee"], [everything(n)]), 10)
    readable[listed(open_list)[:4]] = False
    mask = ReaderMask(readable, ones, ones, readable)
    found = hybrid.index(prepared, index).search(queries(["the late fee"], [mask]), 10)
    assert found.count[0] == 10
    assert not set(listed(found)) & set(listed(open_list)[:4])
    assert found.denied[0] == 4
    assert hybrid.deterministic
    described = hybrid.describe()
    assert (described["fuse"], described["lsa.dimensions"], described["bm25.k1"]) == ("bm25 lsa", 16, "1.5")


def test_inputs_that_give_no_fusion_are_refused() -> None:
    one = Bm25Retriever(Bm25())
    with pytest.raises(FusionConfigError, match="at least two different"):
        HybridRetriever((one,))
    with pytest.raises(FusionConfigError, match="at least two different"):
        HybridRetriever((one, replace(one)))
    for constant in (True, 0, -1, 1_001, 60.0):
        with pytest.raises(FusionConfigError, match="rrf_k"):
            HybridRetriever((one, LatentRetriever()), constant)  # type: ignore[arg-type]

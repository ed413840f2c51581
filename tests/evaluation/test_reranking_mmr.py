"""Maximal marginal relevance: the greedy rule written out, exact ties, and what λ = 1 and λ = 0 mean."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.bm25 import Bm25
from evaluation.domain.reranking.mmr import MaximalMarginalRelevance, MmrConfigError
from evaluation.domain.retrieval.lexical import Bm25Retriever
from tests.evaluation.retrieval_world import everything, hits_of, lines, listed, queries

texts = st.lists(st.sampled_from(["fee", "late", "item", "kept", "week"]), min_size=1, max_size=6).map(" ".join)


def by_hand(texts: list[str], scores: list[int], weight: Fraction) -> list[int]:
    """Positions as the rule takes them, in plain Python."""
    counts = [Counter(text.split()) for text in texts]

    def similar(a: int, b: int) -> int:
        product = sum(counts[a][word] * counts[b][word] for word in counts[a])
        length = sqrt(sum(v * v for v in counts[a].values()) * sum(v * v for v in counts[b].values()))
        return round(1_000_000 * product / length)

    taken: list[int] = []
    while len(taken) < len(texts):
        values = {
            i: weight * (scores[i] * 1_000_000 // max(scores))
            - (1 - weight) * max((similar(i, j) for j in taken), default=0)
            for i in range(len(texts))
            if i not in taken
        }
        taken.append(max(values, key=lambda i: (values[i], -i)))
    return taken


@settings(max_examples=40, deadline=None)
@given(st.lists(texts, min_size=1, max_size=8, unique=True), st.sampled_from(["0", "0.3", "0.7", "0.999", "1"]))
def test_order_is_that_of_the_greedy_rule(sources: list[str], relevance: str) -> None:
    prepared, index = lines(*sources)
    found = (
        Bm25Retriever(Bm25()).index(prepared, index).search(queries(["fee late week"], [everything(len(sources))]), 10)
    )
    hits = hits_of(found, index)
    order = MaximalMarginalRelevance(relevance).rerank(("",), hits, found.score, prepared, index)
    n = int(found.count[0])
    assert sorted(order[0, :n].tolist()) == list(range(n))
    assert np.all(order[0, n:] == -1)
    if n:
        listed_texts = [sources[chunk] for chunk in listed(found)]
        assert order[0, :n].tolist() == by_hand(listed_texts, found.score[0, :n].tolist(), Fraction(relevance))


def test_repeated_passage_falls_behind_a_new_one() -> None:
    prepared, index = lines("late fee item", "item: late fee", "late week", "nothing of it")
    asked = queries(["late fee", "late fee", "zzz"], [everything(4)])
    found = Bm25Retriever(Bm25()).index(prepared, index).search(asked, 9)
    assert listed(found) == [0, 1, 2]
    hits = hits_of(found, index)
    order = MaximalMarginalRelevance("0.2").rerank(asked.texts, hits, found.score, prepared, index)
    assert order[0].tolist() == [0, 2, 1, -1]
    assert order[1].tolist() == order[0].tolist()
    assert order[2].tolist() == [-1, -1, -1, -1]
    kept = MaximalMarginalRelevance("1").rerank(asked.texts, hits, found.score, prepared, index)
    assert kept[0].tolist() == [0, 1, 2, -1]


def test_ties_go_to_the_better_rank_even_where_columns_are_in_another_order() -> None:
    prepared, index = lines("late fee one", "late fee two")
    asked = queries(["late"], [everything(2)])
    found = Bm25Retriever(Bm25()).index(prepared, index).search(asked, 2)
    hits = replace(hits_of(found, index), rank=np.array([[2, 1]]))
    order = MaximalMarginalRelevance("0").rerank(asked.texts, hits, found.score, prepared, index)
    assert order.tolist() == [[1, 0]]


@pytest.mark.parametrize("relevance", ["1.1", "-0.1", "NaN", "half", "0.1234567"])
def test_weight_that_is_no_share_is_refused(relevance: str) -> None:
    with pytest.raises(MmrConfigError, match="decimal from 0 to 1"):
        MaximalMarginalRelevance(relevance)

"""Rank figures by their definitions, and as two other tools compute them."""

from __future__ import annotations

import random
from dataclasses import asdict
from math import log2
from pathlib import Path

import pytest

from evaluation.domain.rank_measures import (
    ndcg_at,
    rank_figures,
    recall_at,
    reciprocal_rank,
    success_at,
)
from evaluation.domain.trec_files import TrecNameError, qrels_text, run_text
from tests.evaluation.trec_tools import NAMES, by_ir_measures, by_ranx

GRADES = {"a": 2, "b": 1, "c": 0, "d": 1}


def test_figures_by_hand() -> None:
    ranked = ["c", "b", "x", "a"]
    assert recall_at(ranked, GRADES, 1) == 0
    assert recall_at(ranked, GRADES, 2) == pytest.approx(1 / 3)
    assert recall_at(ranked, GRADES, 99) == pytest.approx(2 / 3)
    assert [success_at(ranked, GRADES, k) for k in (1, 2)] == [0, 1]
    assert reciprocal_rank(ranked, GRADES) == 0.5
    assert reciprocal_rank(ranked, GRADES, 1) == 0
    best = 2 + 1 / log2(3) + 1 / 2
    assert ndcg_at(ranked, GRADES, 4) == pytest.approx((1 / log2(3) + 2 / log2(5)) / best)
    assert ndcg_at(["a", "b", "d"], GRADES, 3) == pytest.approx(1)


def test_question_without_hits_or_relevant_chunks_is_a_miss_in_the_mean() -> None:
    found = rank_figures({"q1": ["a"], "extra": ["a"]}, {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {}}, 5)
    assert (found.denominator, found.recall, found.success, found.ndcg) == (
        3,
        pytest.approx(1 / 3),
        pytest.approx(1 / 3),
        pytest.approx(1 / 3),
    )


def test_depth_and_questions_are_needed() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        rank_figures({}, {"q": {}}, 0)
    with pytest.raises(ValueError, match="undefined"):
        rank_figures({}, {}, 1)


def test_names_with_blanks_are_refused() -> None:
    with pytest.raises(TrecNameError, match="blanks"):
        run_text({"a question": ["c"]}, "tag")
    with pytest.raises(TrecNameError, match="blanks"):
        qrels_text({"q": {"c\t1": 1}}, "none")


def test_drawn_runs_have_the_same_figures_in_ir_measures_and_ranx(tmp_path: Path) -> None:
    draw = random.Random(20261130)
    chunks = [f"chunk{i:02d}" for i in range(40)]
    cases = []
    for number in range(6):
        run, judged = {}, {}
        for q in range(25):
            ranked = draw.sample(chunks, draw.choice([0, 1, 7, 30]))
            run[f"q{q}"] = ranked
            judged[f"q{q}"] = {
                chunk: draw.choice([1, 1, 2, 3]) for chunk in draw.sample(chunks, draw.choice([0, 1, 4, 20]))
            }
        run["unjudged"] = chunks[:3]
        paths = tmp_path / f"{number}.run", tmp_path / f"{number}.qrels"
        paths[0].write_text(run_text(run, "drawn"))
        paths[1].write_text(qrels_text(judged, chunks[0]))
        for k in (1, 5, 20, 100):
            cases.append((*paths, k, asdict(rank_figures(run, judged, k))))
    others = by_ranx([case[:3] for case in cases])
    for (run_file, qrels_file, k, ours), ranx in zip(cases, others, strict=True):
        trec = by_ir_measures(run_file, qrels_file, k)
        for name in NAMES:
            assert trec[name] == pytest.approx(ours[name], abs=1e-9), (run_file, k, name)
            assert ranx[name] == pytest.approx(ours[name], abs=1e-9), (run_file, k, name)

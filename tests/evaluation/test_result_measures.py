"""Measures beside the metrics: every sum against the outcomes it was taken from, and builds against chunks cut anew."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.domain.outcomes import Stage
from evaluation.domain.run_measures import run_measures
from evaluation.services.results import sweep_results
from tests.evaluation.outcome_makers import control, outcome, question
from tests.factories.sweeps import make_sealed_sweep

RANKS = st.lists(st.integers(0, 12), max_size=12)


@given(ranks=RANKS, k=st.integers(1, 12))
def test_every_supported_run_is_complete_at_k_beyond_k_or_never(ranks: list[int], k: int) -> None:
    runs = [
        (question(f"q{n}"), replace(outcome(f"q{n}"), needed_bytes=5, rank_of_completion=rank))
        for n, rank in enumerate(ranks)
    ]
    found = run_measures(runs, k)
    assert found.complete_at_k + found.complete_beyond_k + found.never_complete == found.supported == len(ranks)
    assert found.complete_beyond_k == sum(rank > k for rank in ranks)
    assert (found.median_rank is None) == (not any(ranks))
    assert found.last_rank == max((rank for rank in ranks if rank), default=None)


def test_part_of_the_best_set_is_partial_and_no_byte_of_it_is_nothing() -> None:
    whole = replace(outcome("a"), needed_bytes=10, covered_bytes=10, complete={Stage.PACKED: True})
    partial = replace(outcome("b"), needed_bytes=10, covered_bytes=4, complete={Stage.PACKED: False})
    nothing = replace(outcome("c"), needed_bytes=10, covered_bytes=0, complete={Stage.PACKED: False})
    failed = replace(outcome("d"), failed="the endpoint was away", needed_bytes=0)
    runs = [(question(one.question_id), one) for one in (whole, partial, nothing, failed)]
    found = run_measures(runs, 5)
    assert (found.runs, found.whole, found.partial, found.nothing) == (3, 1, 1, 1)
    assert (found.covered_bytes, found.needed_bytes) == (14, 30)


def test_confidence_without_evidence_is_read_where_there_is_none_to_find() -> None:
    runs = [
        (control(f"q{n}"), replace(outcome(f"q{n}"), needed_bytes=0, top_score=score, answered=answered))
        for n, (score, answered) in enumerate(((0, False), (3_000_000, True), (5_000_000, False)))
    ]
    found = run_measures(runs, 5)
    assert (found.unsupported, found.confident, found.asserted) == (3, 2, 1)
    assert (found.median_score, found.top_score) == (3_000_000, 5_000_000)
    assert found.shown_bytes == 0


def test_no_run_has_no_median_and_k_below_one_is_refused() -> None:
    found = run_measures([], 1)
    assert (found.runs, found.median_rank, found.top_score) == (0, None, None)
    with pytest.raises(ValueError, match="at least 1"):
        run_measures([], 0)


@pytest.mark.django_db
def test_report_holds_the_measures_of_every_arm_and_build() -> None:
    report = sweep_results(make_sealed_sweep())
    arms = {arm["arm"]: arm for arm in report.data["arms"]}
    for row in report.data["measures"]:
        assert row["whole"] + row["partial"] + row["nothing"] == row["supported"]
        support = list(report.rows(
                "figures", arm=row["arm"], view=row["view"], sample=row["sample"], segment=row["segment"],
                metric="complete-support", stage="packed",
            ))  # fmt: skip
        assert row["whole"] == sum(figure["numerator"] for figure in {f["phase"]: f for f in support}.values())
    builds = report.data["builds"]
    assert [(row["arm"], row["phase"]) for row in builds] == [
        (name, phase) for name, arm in arms.items() for phase in sorted(set(arm["phases"].values()))
    ]
    for row in builds:
        unshifted = row["phase"] == arms[row["arm"]]["stride"]
        assert (row["moved_cuts"]["moved"] == 0) is unshifted
        assert Fraction(row["measures"]["expansion"]) >= 1
    for row in report.data["arm_phases"]:
        for phase in row["phases"]:
            figure = report.row(
                "figures", arm=row["arm"], label=phase["labels"][0], view=row["view"], sample=row["sample"],
                segment=row["segment"], metric="complete-support", stage="packed",
            )  # fmt: skip
            assert phase["value"] == figure["value"]

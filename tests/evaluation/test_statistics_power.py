"""Power: more questions never hurt, assumptions are checked, and the answer is what a simulated gate does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.estimation import Counted, Request, estimates
from evaluation.domain.power import Assumptions, gate_power, questions_needed
from evaluation.domain.resampling import UncertaintyRule
from evaluation.domain.statistics import mean_of_phases

ALONE = Assumptions(tolerance=0.1, discordance=0.2, step=1.0, correlation=0.0, per_cluster=1.0)


def test_known_case_by_the_textbook() -> None:
    # (1.645 · R + 0.842)² · 0.2 ÷ 0.1² = 159.9 with R = (1 + √(1 + 4 · 0.1² ÷ 0.2²)) ÷ 2 = 1.2071; Student's t and few
    # losing clusters, read exactly, move it by some questions.
    found = questions_needed(ALONE)
    assert found.questions in range(155, 168)
    assert found.clusters == found.questions
    assert "0 of 29 still allow" in found.reason


@pytest.mark.parametrize("discordance", [5e-324, 1e-170, 1e-12])
def test_next_to_nothing_that_differs_is_computed_all_the_same(discordance: float) -> None:
    assert 0 <= gate_power(replace(ALONE, discordance=discordance), 50) <= 1


def test_clusters_cost_their_design_effect() -> None:
    clustered = replace(ALONE, correlation=0.5, per_cluster=5.0)
    assert clustered.design_effect == 3.0
    needed = questions_needed(clustered)
    assert needed.questions is not None
    assert 2.7 < needed.questions / 160 < 3.4


def test_a_loss_as_large_as_the_tolerance_needs_no_number() -> None:
    found = questions_needed(replace(ALONE, change=-0.1))
    assert (found.questions, found.power) == (None, 0.0)
    assert "no number of questions" in found.reason


def test_no_discordance_needs_as_many_clusters_as_an_observed_zero() -> None:
    found = questions_needed(replace(ALONE, discordance=0.0, per_cluster=2.0))
    assert found.clusters == 29
    assert found.questions in {57, 58}


@settings(max_examples=12, deadline=None)
@given(st.sampled_from([0.05, 0.1, 0.2]), st.floats(0.05, 0.5), st.integers(1, 6), st.floats(0, 1))
def test_needed_number_is_the_first_that_suffices(
    tolerance: float, discordance: float, size: int, correlation: float
) -> None:
    assumed = Assumptions(tolerance, discordance, 1.0, 0.0, correlation, float(size))
    found = questions_needed(assumed)
    assert found.questions is not None
    assert gate_power(assumed, found.questions) >= 0.8
    assert gate_power(assumed, 4 * found.questions) >= gate_power(assumed, found.questions) - 1e-9


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"tolerance": 0.0}, "tolerance"),
        ({"discordance": 1.2}, "discordance"),
        ({"step": 0.0}, "step"),
        ({"change": 0.5}, "expected change"),
        ({"correlation": -0.1}, "correlation"),
        ({"per_cluster": 0.5}, "at least one question"),
        ({"error": 0.6}, "error of a bound"),
    ],
)
def test_impossible_assumptions_are_refused(changes: dict[str, float], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        replace(ALONE, **changes)
    with pytest.raises(ValueError, match="chance to accept"):
        questions_needed(ALONE, 1.0)


@pytest.mark.parametrize("questions", [60, 130, 200])
def test_simulated_gate_accepts_as_often_as_said(questions: int) -> None:
    rng = np.random.default_rng(5)
    names = np.array([f"d{row:04d}" for row in range(questions)])
    requests = []
    for _ in range(250):
        differs = rng.random(questions) < 0.2
        before = rng.random(questions) < 0.5
        arms = np.stack([before, before ^ differs], axis=1)[:, :, None].astype(float)
        requests.append(Request(Counted(arms, np.ones_like(arms), names, ""), mean_of_phases))
    found = estimates(requests, UncertaintyRule(replicates=400))
    accepted = np.mean([one[0].lower >= -0.1 for one in found])
    assert accepted == pytest.approx(gate_power(ALONE, questions), abs=0.1)

"""The metric table, by hand: every denominator, failures, infeasible questions and undefined cases."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from annotate.domain.vocabulary import DependencyType, MissingBehaviour
from evaluation.domain.metrics import (
    ABSENT,
    Run,
    answer_reversal,
    figure,
    pair_up,
    reading,
    stage_losses,
    stage_support,
    usage,
)
from evaluation.domain.outcomes import AnswerClass, Stage, Status
from evaluation.domain.phase_matrix import arm_table, four_cells, phase_matrix, stability
from evaluation.domain.plan_words import MetricName

from .outcome_makers import control, matrix, outcome, question

C, E, W, A = AnswerClass.CORRECT, AnswerClass.CONDITION_ERROR, AnswerClass.WRONG, AnswerClass.ABSTAINED


@pytest.fixture
def runs() -> list[Run]:
    """Eight answerable questions (one routine, one infeasible, one failed), three unanswerable controls."""
    narrower = MissingBehaviour.NARROWER
    routine = DependencyType.NONE
    return [
        (question("a"), outcome("a", C, True, citations_emitted=2, citations_resolved=2, citations_cover_support=True)),
        (question("b"), outcome("b", E, True, citations_emitted=2, citations_resolved=1)),
        (question("c"), outcome("c", E, False, citations_emitted=1, citations_resolved=1)),
        (question("d"), outcome("d", A, False)),
        (question("e", missing_behaviour=narrower), outcome("e", A, False)),
        (question("f"), outcome("f", A, True)),
        (question("g", dependency=routine), outcome("g", C, True, feasible=False)),
        (question("h"), outcome("h", failed="endpoint timed out")),
        (control("x"), outcome("x", A)),
        (control("y"), outcome("y", W, citations_emitted=1, citations_resolved=1)),
        (control("z"), outcome("z", A)),
    ]


@pytest.mark.parametrize(
    ("metric", "numerator", "denominator"),
    [
        (MetricName.COMPLETE_SUPPORT, 4, 8),
        (MetricName.SINGLE_UNIT_SUPPORT, 0, 8),
        (MetricName.CONDITION_ERROR, 2, 7),
        (MetricName.CONDITION_USE, 1, 2),
        (MetricName.CORRECTNESS, 2, 8),
        (MetricName.ANSWER_COVERAGE, 4, 8),
        (MetricName.ABSTENTION_RIGHT, 2, 3),
        (MetricName.ABSTENTION_WRONG, 2, 8),
        (MetricName.FALSE_ASSERTION, 1, 3),
        (MetricName.CITATION_RESOLUTION, 5, 6),
        (MetricName.ATTRIBUTION, 1, 5),
    ],
)
def test_metric_has_its_own_denominator(runs: list[Run], metric: MetricName, numerator: int, denominator: int) -> None:
    found = figure(metric, runs)
    assert (found.numerator, found.denominator, found.value) == (
        numerator,
        denominator,
        Fraction(numerator, denominator),
    )
    assert found.coverage == Fraction(10, 11)


def test_failed_run_is_a_miss_with_the_failure_free_figure_beside(runs: list[Run]) -> None:
    found = reading(MetricName.COMPLETE_SUPPORT, runs)
    assert found.headline.value == Fraction(4, 8)
    assert found.without_failures.value == Fraction(4, 7)
    assert found.feasible_only.value == Fraction(3, 7)


def test_failed_run_never_counts_even_if_it_carries_a_verdict() -> None:
    broken = outcome("a", C, True, failed="killed", citations_emitted=3, citations_resolved=3)
    runs = [(question("a"), broken), (question("b"), outcome("b", C, True))]
    assert figure(MetricName.COMPLETE_SUPPORT, runs).numerator == 1
    assert figure(MetricName.CORRECTNESS, runs).numerator == 1
    assert figure(MetricName.CITATION_RESOLUTION, runs).denominator == 0


@pytest.mark.parametrize("metric", [metric for metric in MetricName if metric is not MetricName.REVERSAL])
def test_empty_denominator_is_undefined_and_says_why(metric: MetricName) -> None:
    found = figure(metric, [])
    assert (found.value, found.status, found.coverage) == (None, Status.UNDEFINED, None)
    assert found.reason.startswith("n = 0: ")


def test_controls_only_leave_support_undefined() -> None:
    found = figure(MetricName.COMPLETE_SUPPORT, [(control("x"), outcome("x", A))])
    assert found.status is Status.UNDEFINED
    assert "answerable" in found.reason


def test_answers_without_a_generator_are_undefined_not_zero() -> None:
    found = figure(MetricName.CORRECTNESS, [(question("a"), outcome("a", complete=True))])
    assert (found.value, found.status) == (None, Status.UNDEFINED)
    assert "no generator" in found.reason


def test_all_runs_failed_is_failed_with_its_reason() -> None:
    found = figure(MetricName.COMPLETE_SUPPORT, [(question("a"), outcome("a", failed="disk full"))])
    assert (found.value, found.status) == (None, Status.FAILED)
    assert "disk full" in found.reason


def test_missing_outcome_stays_in_the_denominator() -> None:
    runs = pair_up([question("a"), question("b")], [outcome("a", complete=True)])
    assert runs[1][1].failed == ABSENT
    assert figure(MetricName.COMPLETE_SUPPORT, runs).value == Fraction(1, 2)


def test_doubled_and_foreign_outcomes_are_refused() -> None:
    with pytest.raises(ValueError, match="two outcomes"):
        pair_up([question("a")], [outcome("a"), outcome("a")])
    with pytest.raises(ValueError, match="not in the population: b"):
        pair_up([question("a")], [outcome("a"), outcome("b")])


def test_support_is_told_for_every_stage_and_losses_by_name() -> None:
    lost = {stage: stage in {Stage.CANDIDATES, Stage.RERANKED, Stage.EXPANDED} for stage in Stage}
    runs = [
        (question("a"), outcome("a", complete=True)),
        (question("b"), replace(outcome("b", lost_after=Stage.EXPANDED), complete=lost)),
        (question("c"), outcome("c")),
        (question("d"), outcome("d", failed="x")),
        (control("e"), outcome("e")),
    ]
    counts = {stage: found.numerator for stage, found in stage_support(runs).items()}
    assert counts == {stage: 1 + lost[stage] for stage in Stage}
    assert stage_losses(runs) == {
        "complete": ("a",),
        "expanded": ("b",),
        "never-complete": ("c",),
        "failed": ("d",),
    }


def test_usage_sums_completed_runs_only() -> None:
    runs = [
        (question("a"), outcome("a", evidence_tokens=100, duplicate_pairs=1, compared_pairs=4)),
        (question("b"), outcome("b", evidence_tokens=50, failed="x")),
    ]
    found = usage(runs)
    assert (found.runs, found.mean_evidence_tokens, found.duplicate_pressure) == (1, 100, Fraction(1, 4))
    assert usage([]).mean_evidence_tokens is None
    assert usage([]).duplicate_pressure is None


def column(**classes: AnswerClass) -> list[Run]:
    return [(question(name), outcome(name, answer)) for name, answer in classes.items()]


def test_reversal_counts_changed_classes_among_questions_judged_everywhere() -> None:
    by_phase = {"1/2": column(a=C, b=C, c=A, d=C), "1/1": column(a=C, b=E, c=C, d=AnswerClass.NONE)}
    repeats = [column(a=C, b=C, c=A, d=C), column(a=W, b=E, c=A, d=C)]
    found = answer_reversal(by_phase, repeats)
    assert found.across_phases.value == Fraction(2, 3)
    assert found.questions == ("b", "c")
    assert found.across_repeats.value == Fraction(2, 4)
    assert found.explained == Fraction(1, 2)


def test_reversal_with_one_phase_or_no_answers_is_undefined() -> None:
    assert answer_reversal({"1/1": column(a=C)}).across_phases.status is Status.UNDEFINED
    nothing = {"1/2": column(a=AnswerClass.NONE), "1/1": column(a=AnswerClass.NONE)}
    assert "n = 0" in answer_reversal(nothing).across_phases.reason
    assert answer_reversal({}).across_phases.status is Status.UNDEFINED


ROWS = [[1, 1, 1, 1], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_arm_table_by_hand() -> None:
    table = arm_table(matrix(ROWS))
    assert [found.value for _, found in table.phases] == [Fraction(n, 4) for n in (2, 2, 2, 1)]
    assert table.average == Fraction(7, 16)
    assert (table.worst.value, table.worst.labels, table.worst.phases) == (Fraction(1, 4), ("4/4",), 4)
    assert table.question_worst == Fraction(1, 4)
    assert table.spread == Fraction(1, 4)
    stable = table.stability
    assert (stable.always, stable.never, stable.fragile) == (("q0000",), ("q0003",), ("q0001", "q0002"))
    assert stable.share(stable.fragile) == Fraction(1, 2)


def test_labels_on_one_cut_count_once() -> None:
    rows = [[1, 1, 1, 0], [0, 0, 0, 0]]
    table = arm_table(matrix(rows, cuts=[5, 5, 5, 9]))
    assert table.average == Fraction(1, 4)
    assert table.worst.phases == 2
    control_table = arm_table(matrix([[1, 1], [0, 0]], cuts=[0, 0]))
    assert control_table.worst.phases == 1
    assert control_table.stability.fragile == ()


def test_phase_without_denominator_is_left_out_and_said() -> None:
    table = arm_table(matrix([[1, 0], [0, 0]], totals=[[1, 0], [1, 0]]))
    assert table.average == Fraction(1, 2)
    assert table.phases[1][1].status is Status.UNDEFINED
    assert "1 of 2 phases" in table.note


def test_empty_matrix_has_a_table_without_numbers() -> None:
    table = arm_table(matrix(ROWS).rows(()))
    assert (table.average, table.worst.value, table.question_worst, table.spread) == (None, None, None, None)
    assert stability(matrix(ROWS).rows(())).share(()) is None


def test_four_cells_name_every_question_once() -> None:
    before, after = matrix(ROWS), matrix([[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]])
    at = four_cells(before, after, "1/4")
    assert (at.both, at.gained, at.lost, at.neither) == (("q0000", "q0001"), ("q0002",), (), ("q0003",))
    everywhere = four_cells(after, before)
    assert (everywhere.both, everywhere.lost) == (("q0000",), ("q0001", "q0002"))
    with pytest.raises(ValueError, match="different questions"):
        four_cells(before, after.rows({"q0001"}))


def test_phase_matrix_sums_repeats_and_refuses_a_hole() -> None:
    q = question("a")
    twice = {"1/1": [(q, outcome("a", complete=True)), (q, outcome("a"))]}
    built = phase_matrix(MetricName.COMPLETE_SUPPORT, twice)
    assert (built.numerator.tolist(), built.denominator.tolist()) == ([[1]], [[2]])
    with pytest.raises(ValueError, match="a has no outcome in phase 1/1"):
        phase_matrix(MetricName.COMPLETE_SUPPORT, {"1/2": [(q, outcome("a"))], "1/1": []})

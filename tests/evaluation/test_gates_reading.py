"""Gates: the truth table of an interval and a tolerance, few data, failures, worst phases, samples kept apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.vocabulary import Sample, Segment
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.gate_evidence import PairedEvidence, ResourceUse, paired_evidence
from evaluation.domain.gates import GateOutcome, GateReading, judge, read_gates, read_resources
from evaluation.domain.metrics import Run, Usage
from evaluation.domain.outcomes import AnswerClass, QuestionOutcome, View
from evaluation.domain.plan import Plan
from evaluation.domain.plan_release import Gate, Resources
from evaluation.domain.plan_toml import parse_plan
from evaluation.domain.plan_words import (
    Crossing,
    DecimalText,
    GateKind,
    GateStatistic,
    InsufficientEvidence,
    LatencyState,
)

from .outcome_makers import control, outcome, question

PLAN = parse_plan((Path(__file__).resolve().parents[2] / "evaluation" / "plans" / "demo.toml").read_text("utf-8"))
LABELS = tuple(f"{k}/4" for k in range(1, 5))
USE = ResourceUse(Usage(10, 1000, 0, 0, 0, 0, 0), Usage(10, 1100, 0, 0, 0, 0, 0), 130, 100)


def gate(**changes: Any) -> Gate:
    settings: dict[str, Any] = {
        "name": "g",
        "kind": GateKind.SUPPORT_LOSS,
        "tolerance": DecimalText("0.1"),
        "sample": Sample.ENRICHED,
        "minimum_questions": 8,
    }
    return Gate(**(settings | changes))


def plan(*gates: Gate, **changes: Any) -> Plan:
    return replace(PLAN, gates=gates, resources=Resources(), decision=replace(PLAN.decision, **changes))


type Make = Callable[[FrozenQuestion, int, int], QuestionOutcome]


def runs(questions: Sequence[FrozenQuestion], make: Make) -> dict[str, list[Run]]:
    return {
        label: [(asked, make(asked, row, phase)) for row, asked in enumerate(questions)]
        for phase, label in enumerate(LABELS)
    }


def supported(rows: Callable[[int, int], bool]) -> Make:
    return lambda asked, row, phase: outcome(asked.question_id, complete=rows(row, phase))


def read(one: Gate, questions: Sequence[FrozenQuestion], before: Make, after: Make, **changes: Any) -> GateReading:
    evidence = paired_evidence(View.BUDGET, one.sample, runs(questions, before), runs(questions, after))
    return read_gates(plan(one, **changes), {(View.BUDGET, one.sample): evidence}, USE)[0]


MANY = [question(f"q{row:03d}") for row in range(200)]
FEW = MANY[:12]
ALWAYS = supported(lambda row, phase: True)


@pytest.mark.parametrize(
    ("lower", "upper", "crossing", "expected"),
    [
        ("-0.1", "0.2", Crossing.COLLECT_MORE, GateOutcome.ACCEPT),
        ("0", "0", Crossing.REJECT, GateOutcome.ACCEPT),
        ("-0.100001", "0.2", Crossing.COLLECT_MORE, GateOutcome.COLLECT_MORE),
        ("-0.100001", "0.2", Crossing.REJECT, GateOutcome.REJECT),
        ("-0.3", "-0.1", Crossing.COLLECT_MORE, GateOutcome.COLLECT_MORE),
        ("-0.3", "-0.100001", Crossing.COLLECT_MORE, GateOutcome.REJECT),
    ],
)
def test_interval_is_read_against_the_tolerance(
    lower: str, upper: str, crossing: Crossing, expected: GateOutcome
) -> None:
    assert judge(Decimal(lower), Decimal(upper), Decimal("0.1"), crossing) is expected


@given(st.decimals(-1, 1, places=6), st.decimals(-1, 1, places=6), st.decimals(0, 1, places=6))
def test_a_gate_accepts_only_by_its_lower_bound(one: Decimal, other: Decimal, tolerance: Decimal) -> None:
    lower, upper = sorted((one, other))
    assert (judge(lower, upper, tolerance, Crossing.COLLECT_MORE) is GateOutcome.ACCEPT) == (lower >= -tolerance)


def test_equal_outcomes_of_few_questions_do_not_pass_by_their_silence() -> None:
    found = read(gate(), FEW, ALWAYS, ALWAYS)
    assert found.reading is GateOutcome.COLLECT_MORE
    assert (found.numbers["lower"], found.numbers["upper"]) == ("-0.220922", "0.220922")
    assert "every outcome is equal" in found.reason


def test_equal_outcomes_of_many_questions_pass_by_their_exact_bound() -> None:
    found = read(gate(), MANY, ALWAYS, ALWAYS)
    assert found.reading is GateOutcome.ACCEPT
    assert found.numbers["lower"] == "-0.014867"
    assert found.questions == ()


def test_clear_loss_rejects_and_names_the_lost_questions() -> None:
    found = read(gate(), MANY, ALWAYS, supported(lambda row, phase: row % 2 == 0))
    assert found.reading is GateOutcome.REJECT
    assert found.numbers["point"] == "-0.500000"
    assert len(found.questions) == 100
    assert "upper bound is below −0.1" in found.reason
    assert all(isinstance(value, (str, int)) and not isinstance(value, bool) for value in found.numbers.values())


def test_crossing_interval_follows_the_plan() -> None:
    after = supported(lambda row, phase: row % 10 != 0)
    assert read(gate(), MANY, ALWAYS, after).reading is GateOutcome.COLLECT_MORE
    strict = read(gate(), MANY, ALWAYS, after, crossing=Crossing.REJECT)
    assert strict.reading is GateOutcome.REJECT
    assert "crosses −0.1" in strict.reason


def test_too_few_questions_or_clusters_never_pass() -> None:
    few = read(gate(minimum_questions=30), FEW, ALWAYS, ALWAYS)
    assert (few.reading, few.reason) == (GateOutcome.COLLECT_MORE, "12 questions were counted; the gate asks for 30.")
    together = [question(f"q{row:03d}", cluster=f"doc{row % 3}") for row in range(200)]
    narrow = read(gate(), together, ALWAYS, ALWAYS)
    assert narrow.reading is GateOutcome.COLLECT_MORE
    assert "3 clusters; the plan asks for 5" in narrow.reason
    stern = read(gate(minimum_questions=30), FEW, ALWAYS, ALWAYS, insufficient_evidence=InsufficientEvidence.REJECT)
    assert stern.reading is GateOutcome.REJECT


@pytest.mark.parametrize("kind", list(GateKind))
def test_no_data_collects_more(kind: GateKind) -> None:
    one = gate(kind=kind)
    assert read_gates(plan(one), {}, USE)[0].reading is GateOutcome.COLLECT_MORE
    elsewhere = [question("a", segment=Segment.JOINT_EVIDENCE)]
    found = read(gate(kind=kind, segment=Segment.CROSS_REFERENCE), elsewhere, ALWAYS, ALWAYS)
    assert found.reading is GateOutcome.COLLECT_MORE
    assert found.reason.startswith("N = 0")


def test_samples_and_segments_are_read_apart() -> None:
    stress = [question(f"s{row:03d}", sample=Sample.ENRICHED) for row in range(60)]
    daily = [
        question(f"d{row:03d}", sample=Sample.REPRESENTATIVE, segment=Segment.NUMBER_AND_SCOPE) for row in range(60)
    ]
    lost = {asked.question_id for asked in stress}

    def after(asked: FrozenQuestion, row: int, phase: int) -> QuestionOutcome:
        return outcome(asked.question_id, complete=asked.question_id not in lost)

    both = stress + daily
    assert read(gate(), both, ALWAYS, after).reading is GateOutcome.REJECT
    assert read(gate(sample=Sample.REPRESENTATIVE), both, ALWAYS, after).reading is GateOutcome.ACCEPT
    other = read(gate(segment=Segment.NUMBER_AND_SCOPE), both, ALWAYS, after)
    assert other.reading is GateOutcome.COLLECT_MORE


def test_failures_above_the_allowed_rate_block() -> None:
    def after(asked: FrozenQuestion, row: int, phase: int) -> QuestionOutcome:
        return outcome(asked.question_id, complete=True, failed="worker lost" if row < 5 else "")

    found = read(gate(), MANY, ALWAYS, after)
    assert found.reading is GateOutcome.BLOCKED
    assert (found.numbers["failed_runs"], found.numbers["runs"]) == (20, 1600)
    assert found.questions == tuple(f"q{row:03d}" for row in range(5))
    tolerated = read(gate(), MANY, ALWAYS, after, maximum_failure_rate=DecimalText("0.05"))
    assert tolerated.reading is GateOutcome.ACCEPT
    assert tolerated.numbers["point"] == "-0.025000"  # still misses in the headline


def answering(classes: Callable[[int], AnswerClass], **changes: Any) -> Make:
    return lambda asked, row, phase: outcome(asked.question_id, classes(row), True, **changes)


def test_rising_condition_errors_reject_and_falling_ones_accept() -> None:
    careful = answering(lambda row: AnswerClass.CORRECT)
    careless = answering(lambda row: AnswerClass.CONDITION_ERROR if row % 2 else AnswerClass.CORRECT)
    worse = read(gate(kind=GateKind.CONDITION_ERROR_INCREASE), MANY, careful, careless)
    assert (worse.reading, worse.numbers["point"]) == (GateOutcome.REJECT, "-0.500000")
    assert len(worse.questions) == 100
    better = read(gate(kind=GateKind.CONDITION_ERROR_INCREASE), MANY, careless, careful)
    assert (better.reading, better.numbers["point"]) == (GateOutcome.ACCEPT, "0.500000")


def test_a_crash_cannot_pass_for_care() -> None:
    careless = answering(lambda row: AnswerClass.CONDITION_ERROR if row % 2 else AnswerClass.CORRECT)

    def crashing(asked: FrozenQuestion, row: int, phase: int) -> QuestionOutcome:
        return replace(careless(asked, row, phase), failed="killed" if row % 4 == 1 else "")

    one = gate(kind=GateKind.CONDITION_ERROR_INCREASE)
    found = read(one, MANY, careless, crashing, maximum_failure_rate=DecimalText("1"))
    assert Decimal(str(found.numbers["point"])) < Decimal("0.2")  # 1/2 against 1/3 of what completed, not 1/4


def test_false_assertions_read_unanswerable_controls_only() -> None:
    asked = [control(f"c{row:03d}") for row in range(100)]
    quiet, loud = answering(lambda row: AnswerClass.ABSTAINED), answering(lambda row: AnswerClass.WRONG)
    one = gate(kind=GateKind.FALSE_ASSERTION_INCREASE, segment=Segment.UNANSWERABLE_CONTROL)
    assert read(one, asked, quiet, loud).reading is GateOutcome.REJECT
    assert read(one, asked, loud, quiet).reading is GateOutcome.ACCEPT


@pytest.mark.parametrize(
    ("unresolved", "expected"),
    [(0, GateOutcome.ACCEPT), (100, GateOutcome.REJECT), (20, GateOutcome.COLLECT_MORE)],
)
def test_attribution_reads_the_unresolved_share(unresolved: int, expected: GateOutcome) -> None:
    def after(asked: FrozenQuestion, row: int, phase: int) -> QuestionOutcome:
        fine = row >= unresolved
        return outcome(asked.question_id, AnswerClass.CORRECT, True, citations_emitted=1, citations_cover_support=fine)

    found = read(gate(kind=GateKind.ATTRIBUTION), MANY, after, after)
    assert found.reading is expected
    assert found.numbers["point"] == f"{unresolved / 200:.6f}"
    assert len(found.questions) == unresolved


def test_attribution_without_an_asserted_answer_collects_more() -> None:
    silent = answering(lambda row: AnswerClass.ABSTAINED)
    found = read(gate(kind=GateKind.ATTRIBUTION), MANY, silent, silent)
    assert found.reading is GateOutcome.COLLECT_MORE
    assert "no answer was asserted" in found.reason


WORST = {"statistic": GateStatistic.WORST_PHASE}


def test_worst_phase_must_clear_in_every_phase_though_the_mean_does() -> None:
    after = supported(lambda row, phase: phase != 2 or row % 5 != 0)  # loses a fifth, in the third phase only
    assert read(gate(), MANY, ALWAYS, after).reading is GateOutcome.ACCEPT
    found = read(gate(**WORST), MANY, ALWAYS, after)
    assert found.reading is GateOutcome.REJECT
    assert (found.numbers["worst_phase"], found.numbers["rejecting_phase"]) == ("3/4", "3/4")
    assert len(found.questions) == 40


def test_worst_phase_accepts_when_all_phases_clear_and_waits_when_one_is_unclear() -> None:
    assert read(gate(**WORST), MANY, ALWAYS, ALWAYS).reading is GateOutcome.ACCEPT
    unclear = supported(lambda row, phase: phase != 2 or row % 10 != 0)
    found = read(gate(**WORST), MANY, ALWAYS, unclear)
    assert found.reading is GateOutcome.COLLECT_MORE
    assert "crosses −0.1" in found.reason
    assert read(gate(**WORST), MANY[:6], ALWAYS, ALWAYS).reading is GateOutcome.COLLECT_MORE


def test_rule_is_told_in_words() -> None:
    found = read(gate(segment=Segment.RULE_AND_EXCEPTION, **WORST), FEW, ALWAYS, ALWAYS)
    assert found.rule_text == (
        "Complete support may fall by at most 0.1 in every shared phase (rule-and-exception, enriched sample, "
        "budget view, verdicts by rubric; at least 8 questions and 5 clusters)."
    )


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Resources(evidence_tokens_increase=DecimalText("0.1")), GateOutcome.ACCEPT),
        (Resources(evidence_tokens_increase=DecimalText("0.09")), GateOutcome.REJECT),
        (Resources(index_expansion=DecimalText("1.3")), GateOutcome.ACCEPT),
        (Resources(index_expansion=DecimalText("1.2")), GateOutcome.REJECT),
        (Resources(latency_ms=5, latency_state=LatencyState.WARM), GateOutcome.COLLECT_MORE),
    ],
)
def test_resource_limit_is_read_from_what_was_measured(limits: Resources, expected: GateOutcome) -> None:
    readings = read_resources(replace(PLAN, resources=limits), USE)
    assert [found.reading for found in readings] == [expected]


def test_latency_is_read_where_it_was_measured_and_says_over_how_many_cells() -> None:
    limits = replace(PLAN, resources=Resources(latency_ms=5, latency_state=LatencyState.WARM))
    within, above = (
        read_resources(limits, replace(USE, latency_ms=found, latency_cells=12))[0] for found in (4.75, 5.001)
    )
    assert (within.reading, above.reading) == (GateOutcome.ACCEPT, GateOutcome.REJECT)
    assert within.numbers == {"limit": "5", "measured": "4.750000", "cells": 12}
    assert "Measured 5.001000, above the limit 5" in above.reason


def test_no_limit_is_no_gate_and_no_baseline_tokens_is_no_ratio() -> None:
    assert read_resources(replace(PLAN, resources=Resources()), USE) == ()
    nothing = replace(USE, baseline=Usage(0, 0, 0, 0, 0, 0, 0), source_tokens=0)
    assert (nothing.evidence_increase, nothing.expansion) == (None, None)
    assert USE.evidence_increase == Fraction(1, 10)


def test_arms_of_different_questions_or_phases_are_refused() -> None:
    arm: Mapping[str, list[Run]] = runs(FEW, ALWAYS)
    with pytest.raises(ValueError, match="different questions: q011"):
        paired_evidence(View.BUDGET, Sample.ENRICHED, arm, runs(FEW[:11], ALWAYS))
    with pytest.raises(ValueError, match="different phases"):
        paired_evidence(View.BUDGET, Sample.ENRICHED, arm, {"1/4": arm["1/4"]})
    empty: PairedEvidence = paired_evidence(View.BUDGET, Sample.REPRESENTATIVE, arm, arm)
    assert empty.segments == {}


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("statistic", list(GateStatistic))
@pytest.mark.parametrize("kind", [GateKind.SUPPORT_LOSS, GateKind.CONDITION_ERROR_INCREASE, GateKind.ATTRIBUTION])
def test_segment_of_hardly_any_question_passes_no_gate(count: int, statistic: GateStatistic, kind: GateKind) -> None:
    small = [question(f"s{row}", segment=Segment.DEFINITION_AND_REFERENT) for row in range(count)]
    perfect = answering(lambda row: AnswerClass.CORRECT, citations_emitted=1, citations_cover_support=True)
    one = gate(kind=kind, statistic=statistic, segment=Segment.DEFINITION_AND_REFERENT, minimum_questions=1)
    assert read(one, [*MANY, *small], perfect, perfect).reading is GateOutcome.COLLECT_MORE


def test_error_that_only_the_baseline_completed_is_no_gain_of_the_candidate() -> None:
    careless = answering(lambda row: AnswerClass.CONDITION_ERROR if row % 2 else AnswerClass.CORRECT)

    def crashing(asked: FrozenQuestion, row: int, phase: int) -> QuestionOutcome:
        return replace(careless(asked, row, phase), failed="killed" if row % 4 == 1 else "")

    one = gate(kind=GateKind.CONDITION_ERROR_INCREASE)
    found = read(one, MANY, careless, crashing, maximum_failure_rate=DecimalText("1"))
    assert (found.numbers["point"], found.numbers["questions"]) == ("0.000000", 150)

"""The decision: vetoes, gates, post-hoc plans, and the record from which it can be decided again."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from evaluation.domain.decision import (
    Disposition,
    VetoReading,
    decide,
    decision_from_payload,
    decision_payload,
    read_vetoes,
)
from evaluation.domain.gate_evidence import PhaseRuns, VetoEvidence, veto_evidence
from evaluation.domain.gates import GateOutcome, GateReading
from evaluation.domain.outcomes import AnswerClass, Stage
from evaluation.domain.plan import Plan
from evaluation.domain.plan_toml import parse_plan
from ledger.domain.canonical import canonical_bytes

from .outcome_makers import outcome, question

DEMO = parse_plan((Path(__file__).resolve().parents[2] / "evaluation" / "plans" / "demo.toml").read_text("utf-8"))
PLAN: Plan = replace(DEMO, gates=DEMO.gates[:2])
NAMES = tuple(gate.name for gate in PLAN.gates)


def readings(*outcomes: GateOutcome) -> list[GateReading]:
    return [
        GateReading(name, "rule", {"questions": 12, "lower": "-0.1"}, one, f"{name} came out", ("q1",))
        for name, one in zip(NAMES, outcomes, strict=False)
    ]


def veto(triggered: bool) -> VetoReading:
    return VetoReading("permission-leaks", "0", str(int(triggered)), "", triggered, "counted")


@pytest.mark.parametrize(
    ("first", "second", "vetoed", "post_hoc"), list(product(GateOutcome, GateOutcome, (False, True), (False, True)))
)
def test_truth_table(first: GateOutcome, second: GateOutcome, vetoed: bool, post_hoc: bool) -> None:
    found = decide(PLAN, readings(first, second), [veto(vetoed)], post_hoc)
    if vetoed or GateOutcome.REJECT in {first, second}:
        expected = Disposition.REJECT
    elif {first, second} == {GateOutcome.ACCEPT} and not post_hoc:
        expected = Disposition.ACCEPT
    else:
        expected = Disposition.COLLECT_MORE
    assert found.disposition is expected
    assert found.reasons


def test_reasons_name_every_gate_that_stood_in_the_way() -> None:
    found = decide(PLAN, readings(GateOutcome.REJECT, GateOutcome.BLOCKED), [veto(True)], False)
    assert found.reasons == (
        "Veto permission-leaks: counted",
        f"Gate {NAMES[0]}: {NAMES[0]} came out",
        f"Gate {NAMES[1]} (blocked): {NAMES[1]} came out",
    )


def test_missing_gate_and_plan_without_gates_cannot_accept() -> None:
    partial = decide(PLAN, readings(GateOutcome.ACCEPT), [], False)
    assert (partial.disposition, partial.reasons) == (Disposition.COLLECT_MORE, (f"Gate {NAMES[1]} was not read.",))
    bare = decide(replace(PLAN, gates=()), [], [], False)
    assert bare.disposition is Disposition.COLLECT_MORE
    assert "no gate" in bare.reasons[0]


def test_post_hoc_plan_can_reject_but_not_accept() -> None:
    accepted = readings(GateOutcome.ACCEPT, GateOutcome.ACCEPT)
    held = decide(PLAN, accepted, [], True)
    assert held.disposition is Disposition.COLLECT_MORE
    assert "locked after results were seen" in held.reasons[0]
    assert decide(PLAN, accepted, [veto(True)], True).disposition is Disposition.REJECT


def test_gate_read_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="read twice"):
        decide(PLAN, readings(GateOutcome.ACCEPT) * 2, [], False)


def test_record_decides_again_to_the_same() -> None:
    made = decide(PLAN, readings(GateOutcome.ACCEPT, GateOutcome.COLLECT_MORE), [veto(False)], False)
    stored = json.loads(canonical_bytes(decision_payload(made)))
    again = decision_from_payload(stored)
    assert again == made
    assert decide(PLAN, again.readings, again.vetoes, again.post_hoc) == made
    stored["gates"][1]["reading"] = "accept"
    forged = decision_from_payload(stored)
    assert decide(PLAN, forged.readings, forged.vetoes, forged.post_hoc) != forged


def arm(complete: dict[str, bool], **changes: object) -> PhaseRuns:
    rows = [
        (question(name, mandatory=name.startswith("m")), replace(outcome(name, complete=held), **changes))  # type: ignore[arg-type]
        for name, held in complete.items()
    ]
    return {"1/1": rows}


def by_name(evidence: VetoEvidence, plan: Plan = PLAN) -> dict[str, VetoReading]:
    return {found.veto: found for found in read_vetoes(plan, evidence)}


def test_observed_zero_prints_what_it_still_allows() -> None:
    names = {f"q{row}": True for row in range(11)} | {"m": True}
    found = by_name(veto_evidence(arm(names), arm(names)))
    leaks = found["permission-leaks"]
    assert (leaks.triggered, leaks.observed, leaks.upper_bound) == (False, "0", "0.220922")
    assert "22.1%" in leaks.reason
    assert found["newly-missed-mandatory"].upper_bound == "0.950000"
    assert found["unresolved-attribution"].observed == "undefined"


def test_leaks_and_superseded_evidence_at_any_stage_are_vetoes() -> None:
    names = {"a": True, "b": True}
    leaking = by_name(veto_evidence(arm(names), arm(names, leaks={Stage.CANDIDATES: 1}, superseded={Stage.PACKED: 2})))
    assert leaking["permission-leaks"].triggered
    assert leaking["permission-leaks"].questions == ("a", "b")
    assert leaking["superseded-evidence"].observed == "4"
    denied = by_name(veto_evidence(arm(names), arm(names, denials=5)))
    assert not any(found.triggered for found in denied.values())


def test_only_mandatory_questions_newly_missed_are_a_veto() -> None:
    before = arm({"m1": True, "m2": False, "q": True})
    after = arm({"m1": False, "m2": False, "q": False})
    found = by_name(veto_evidence(before, after))["newly-missed-mandatory"]
    assert (found.triggered, found.questions) == (True, ("m1",))
    crashed = by_name(veto_evidence(before, arm({"m1": True, "m2": True, "q": True}, failed="lost")))
    assert crashed["newly-missed-mandatory"].questions == ("m1",)


def test_unresolved_attribution_above_its_limit_is_a_veto() -> None:
    answers = {"answer_class": AnswerClass.CORRECT, "answered": True, "citations_emitted": 1}
    names = {f"q{row}": True for row in range(8)}
    lacking = by_name(veto_evidence(arm(names), arm(names, **answers)))["unresolved-attribution"]
    assert (lacking.triggered, lacking.observed) == (True, "1.000000")
    covered = by_name(veto_evidence(arm(names), arm(names, **answers, citations_cover_support=True)))
    assert covered["unresolved-attribution"].upper_bound == "0.312344"
    unlimited = replace(PLAN, vetoes=replace(PLAN.vetoes, unresolved_attribution=None))
    assert "unresolved-attribution" not in by_name(veto_evidence(arm(names), arm(names, **answers)), unlimited)


def test_limit_of_which_nothing_was_observed_accepts_nothing() -> None:
    silent = veto_evidence(arm({"q": True}), arm({"q": True}, answer_class=AnswerClass.ABSTAINED))
    vetoes = read_vetoes(PLAN, silent)
    found = decide(PLAN, readings(GateOutcome.ACCEPT, GateOutcome.ACCEPT), vetoes, False)
    assert found.disposition is Disposition.COLLECT_MORE
    assert any("unresolved-attribution" in reason and "no answer was asserted" in reason for reason in found.reasons)

"""The release decision: vetoes, then gates, then the plan's own limits on what it may say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from evaluation.domain.bounds import zero_upper_bound
from evaluation.domain.gate_evidence import VetoEvidence
from evaluation.domain.gates import GateOutcome, GateReading
from evaluation.domain.outcomes import Status
from evaluation.domain.plan import Plan

UNDEFINED = "undefined"
"""What a veto observed where there was nothing to observe; it stands in no way, and nothing is accepted either."""


class Disposition(StrEnum):
    """What the plan's rule says about the candidate."""

    ACCEPT = "accept"
    REJECT = "reject"
    COLLECT_MORE = "collect-more"


@dataclass(frozen=True)
class VetoReading:
    """One hard limit, read. `upper_bound` is what an observed zero still allows ("" when it was no zero)."""

    veto: str
    limit: str
    observed: str
    upper_bound: str
    triggered: bool
    reason: str
    questions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """The computed disposition with everything it was computed from."""

    disposition: Disposition
    reasons: tuple[str, ...]
    candidate: str
    post_hoc: bool
    readings: tuple[GateReading, ...]
    vetoes: tuple[VetoReading, ...]


def read_vetoes(plan: Plan, evidence: VetoEvidence) -> tuple[VetoReading, ...]:
    """Read the plan's hard limits; an observed zero prints the rate it still allows (95 %, one-sided, per cluster)."""
    limits = plan.vetoes
    readings = [
        _count("permission-leaks", limits.permission_leaks, evidence.leaks, evidence.clusters, evidence.leak_questions),
        _count(
            "superseded-evidence",
            limits.superseded_evidence,
            evidence.superseded,
            evidence.clusters,
            evidence.superseded_questions,
        ),
        _count(
            "newly-missed-mandatory",
            limits.newly_missed_mandatory,
            len(evidence.missed_mandatory),
            evidence.mandatory_clusters,
            evidence.missed_mandatory,
        ),
    ]
    if limits.unresolved_attribution is not None:
        readings.append(_attribution(limits.unresolved_attribution, evidence))
    return tuple(readings)


def decide(plan: Plan, readings: Sequence[GateReading], vetoes: Sequence[VetoReading], post_hoc: bool) -> Decision:
    """Apply the plan's rule: any veto or rejecting gate rejects; all gates accepting accepts; else collect more.

    A plan without gates, a gate that was not read, a limit of which nothing was observed, and a post-hoc plan cannot
    accept. Raises ValueError for a reading given twice.
    """
    names = [reading.gate for reading in readings]
    if len(set(names)) != len(names):
        raise ValueError("a gate was read twice; a decision takes one reading per gate")
    rejecting = [f"Veto {veto.veto}: {veto.reason}" for veto in vetoes if veto.triggered]
    rejecting += [
        f"Gate {reading.gate}: {reading.reason}" for reading in readings if reading.reading is GateOutcome.REJECT
    ]
    waiting = [
        f"Gate {reading.gate} ({reading.reading}): {reading.reason}"
        for reading in readings
        if reading.reading in {GateOutcome.COLLECT_MORE, GateOutcome.BLOCKED}
    ]
    waiting += [f"Veto {veto.veto}: {veto.reason}" for veto in vetoes if veto.observed == UNDEFINED]
    waiting += [f"Gate {gate.name} was not read." for gate in plan.gates if gate.name not in names]
    if not plan.gates:
        waiting.append("The plan sets no gate, so nothing can be accepted.")
    if rejecting:
        disposition, reasons = Disposition.REJECT, rejecting + waiting
    elif waiting:
        disposition, reasons = Disposition.COLLECT_MORE, waiting
    elif post_hoc:
        disposition = Disposition.COLLECT_MORE
        reasons = ["Every gate accepts, but the plan was locked after results were seen: it can explore, not accept."]
    else:
        disposition, reasons = Disposition.ACCEPT, [f"All {len(readings)} gates accept and no veto stands."]
    return Decision(disposition, tuple(reasons), plan.decision.candidate, post_hoc, tuple(readings), tuple(vetoes))


def decision_payload(decision: Decision) -> dict[str, Any]:
    """Return the decision as dict, list, str, int and bool only; `decision_from_payload` gives it back."""
    return {
        "disposition": decision.disposition.value,
        "reasons": list(decision.reasons),
        "candidate": decision.candidate,
        "post_hoc": decision.post_hoc,
        "gates": [
            {
                "gate": reading.gate,
                "rule": reading.rule_text,
                "numbers": dict(reading.numbers),
                "reading": reading.reading.value,
                "reason": reading.reason,
                "questions": list(reading.questions),
            }
            for reading in decision.readings
        ],
        "vetoes": [
            {
                "veto": veto.veto,
                "limit": veto.limit,
                "observed": veto.observed,
                "upper_bound": veto.upper_bound,
                "triggered": veto.triggered,
                "reason": veto.reason,
                "questions": list(veto.questions),
            }
            for veto in decision.vetoes
        ],
    }


def decision_from_payload(payload: Mapping[str, Any]) -> Decision:
    """Rebuild a recorded decision, so that a verifier can decide again from its readings and compare.

    Raises KeyError or ValueError for a payload that is none.
    """
    readings = tuple(
        GateReading(
            item["gate"],
            item["rule"],
            dict(item["numbers"]),
            GateOutcome(item["reading"]),
            item["reason"],
            tuple(item["questions"]),
        )
        for item in payload["gates"]
    )
    vetoes = tuple(
        VetoReading(
            item["veto"],
            item["limit"],
            item["observed"],
            item["upper_bound"],
            item["triggered"],
            item["reason"],
            tuple(item["questions"]),
        )
        for item in payload["vetoes"]
    )
    return Decision(
        Disposition(payload["disposition"]),
        tuple(payload["reasons"]),
        payload["candidate"],
        payload["post_hoc"],
        readings,
        vetoes,
    )


def _count(name: str, limit: int, observed: int, clusters: int, questions: tuple[str, ...]) -> VetoReading:
    bound = ""
    noun = name.replace("-", " ")
    if observed > limit:
        reason = f"{observed} {noun} observed, the limit is {limit}."
    elif observed:
        reason = f"{observed} {noun} observed, within the limit {limit}."
    elif clusters:
        bound = f"{zero_upper_bound(clusters):.6f}"
        reason = f"0 {noun} observed; 0 of {clusters} clusters still allow {zero_upper_bound(clusters):.1%} (95 %)."
    else:
        reason = f"0 {noun} observed, and no question was there that could have shown one."
    return VetoReading(name, str(limit), str(observed), bound, observed > limit, reason, questions)


def _attribution(limit: str, evidence: VetoEvidence) -> VetoReading:
    found = evidence.attribution
    if found.status is not Status.VALUE or found.value is None:
        reason = f"The share is undefined: {found.reason}."
        return VetoReading("unresolved-attribution", limit, UNDEFINED, "", False, reason)
    share = 1 - found.value
    shown = f"{Decimal(share.numerator) / Decimal(share.denominator):.6f}"
    above = share > Fraction(limit)
    bound = f"{zero_upper_bound(evidence.clusters):.6f}" if not share and evidence.clusters else ""
    allowed = f"; a zero in {evidence.clusters} clusters still allows {bound}" if bound else ""
    reason = (
        f"{found.denominator - found.numerator} of {found.denominator} asserted answers lack resolvable attribution "
        f"({shown}), {'above' if above else 'within'} the limit {limit}{allowed}."
    )
    return VetoReading("unresolved-attribution", limit, shown, bound, above, reason)

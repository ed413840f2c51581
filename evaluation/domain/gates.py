"""Gates: one condition of the release each, read from an interval, with its numbers and reasons in plain words.

A gate accepts when its lower bound clears −tolerance, rejects when its upper bound is below −tolerance, and otherwise
follows the plan's crossing rule. It never passes for want of data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from annotate.domain.vocabulary import Sample
from evaluation.domain.gate_evidence import PairedEvidence, ResourceUse
from evaluation.domain.outcomes import View
from evaluation.domain.phase_matrix import PhaseMatrix
from evaluation.domain.plan import Plan
from evaluation.domain.plan_release import Gate
from evaluation.domain.plan_words import Crossing, GateKind, GateStatistic, InsufficientEvidence, MetricName
from evaluation.domain.resampling import Estimate, UncertaintyRule, rule_of
from evaluation.domain.statistics import arm_mean, paired_mean, paired_phases

type Number = str | int


class GateOutcome(StrEnum):
    """How a gate came out. BLOCKED: too many failed runs to read it."""

    ACCEPT = "accept"
    REJECT = "reject"
    COLLECT_MORE = "collect-more"
    BLOCKED = "blocked"


@dataclass(frozen=True)
class GateReading:
    """One gate, read. `numbers` are whole numbers and decimal strings; `questions` are the ids behind the reading."""

    gate: str
    rule_text: str
    numbers: Mapping[str, Number]
    reading: GateOutcome
    reason: str
    questions: tuple[str, ...] = ()


_METRIC = {
    GateKind.SUPPORT_LOSS: MetricName.COMPLETE_SUPPORT,
    GateKind.CONDITION_ERROR_INCREASE: MetricName.CONDITION_ERROR,
    GateKind.FALSE_ASSERTION_INCREASE: MetricName.FALSE_ASSERTION,
    GateKind.ATTRIBUTION: MetricName.ATTRIBUTION,
}
_MEASURED = {
    GateKind.SUPPORT_LOSS: "change of complete support",
    GateKind.CONDITION_ERROR_INCREASE: "fall of the critical-condition error rate",
    GateKind.FALSE_ASSERTION_INCREASE: "fall of the false-assertion rate",
}


def read_gates(
    plan: Plan, evidence: Mapping[tuple[View, Sample], PairedEvidence], resources: ResourceUse
) -> tuple[GateReading, ...]:
    """Read every gate of the plan and every resource limit it sets, in the plan's order.

    `evidence` holds the decision's candidate against the baseline. A gate whose view and sample are not there reads
    as insufficient evidence.
    """
    rule = rule_of(plan)
    readings = [read_gate(plan, gate, evidence.get((gate.view, gate.sample)), rule) for gate in plan.gates]
    return (*readings, *read_resources(plan, resources))


def read_gate(plan: Plan, gate: Gate, evidence: PairedEvidence | None, rule: UncertaintyRule) -> GateReading:
    """Read one gate from its own view, sample and segment."""
    text = rule_text(gate, plan)
    if evidence is None or not evidence.segments:
        reason = f"No question of the {gate.sample} sample was run in the {gate.view} view."
        return GateReading(gate.name, text, {"questions": 0}, _insufficient(plan), reason)
    baseline, candidate = evidence.pair(_METRIC[gate.kind], gate.segment)
    numbers: dict[str, Number] = {"tolerance": gate.tolerance}
    blocked = _failure_block(plan, baseline, candidate, numbers)
    behind = _behind(gate, baseline, candidate)
    if blocked:
        return GateReading(gate.name, text, numbers, GateOutcome.BLOCKED, blocked, _failed(baseline, candidate))
    if gate.kind is GateKind.ATTRIBUTION:
        estimate = _complement(arm_mean(candidate, rule))
        numbers |= _numbers(estimate)
        outcome, reason = _read_share(plan, gate, estimate)
        return GateReading(gate.name, text, numbers, outcome, reason, behind)
    if gate.kind is not GateKind.SUPPORT_LOSS:
        # A failed run counts no error, so a crash could pass for care: error gates read what both arms completed.
        failed = (baseline.failed > 0) | (candidate.failed > 0)
        baseline, candidate = baseline.without(failed), candidate.without(failed)
    if gate.statistic is GateStatistic.WORST_PHASE:
        return _read_worst(plan, gate, text, numbers, (baseline, candidate), rule, behind)
    estimate = _gain(gate, paired_mean(baseline, candidate, rule))
    numbers |= _numbers(estimate)
    outcome, reason = _read_difference(plan, gate, estimate)
    return GateReading(gate.name, text, numbers, outcome, reason, behind)


def judge(lower: Decimal, upper: Decimal, tolerance: Decimal, crossing: Crossing) -> GateOutcome:
    """Read bounds of a gain: accept if lower ≥ −tolerance, reject if upper < −tolerance, else the crossing rule."""
    if lower >= -tolerance:
        return GateOutcome.ACCEPT
    if upper < -tolerance:
        return GateOutcome.REJECT
    return GateOutcome.REJECT if crossing is Crossing.REJECT else GateOutcome.COLLECT_MORE


def rule_text(gate: Gate, plan: Plan) -> str:
    """Return the gate's rule as one sentence."""
    where = (
        f"{gate.segment or 'all segments'}, {gate.sample} sample, {gate.view} view, verdicts by {gate.verdict_source}"
    )
    floor = f"at least {gate.minimum_questions} questions and {plan.statistics.minimum_clusters} clusters"
    if gate.kind is GateKind.ATTRIBUTION:
        return f"At most {gate.tolerance} of asserted answers without resolvable attribution ({where}; {floor})."
    noun = {
        GateKind.SUPPORT_LOSS: "Complete support may fall",
        GateKind.CONDITION_ERROR_INCREASE: "Critical-condition errors may rise",
        GateKind.FALSE_ASSERTION_INCREASE: "False assertions may rise",
    }[gate.kind]
    across = "on average over phases" if gate.statistic is GateStatistic.MEAN else "in every shared phase"
    return f"{noun} by at most {gate.tolerance} {across} ({where}; {floor})."


def _read_difference(plan: Plan, gate: Gate, estimate: Estimate) -> tuple[GateOutcome, str]:
    short = _shortage(plan, gate, estimate)
    if short:
        return _insufficient(plan), short
    lower, upper, tolerance = _six(estimate.lower), _six(estimate.upper), Decimal(gate.tolerance)
    outcome = judge(lower, upper, tolerance, plan.decision.crossing)
    means = {
        True: f"the lower bound clears −{gate.tolerance}",
        False: f"even the upper bound is below −{gate.tolerance}"
        if upper < -tolerance
        else f"the interval crosses −{gate.tolerance}, which the plan reads as {plan.decision.crossing}",
    }[lower >= -tolerance]
    return outcome, f"{_MEASURED[gate.kind].capitalize()}: {_interval(estimate)}; {means}."


def _read_share(plan: Plan, gate: Gate, estimate: Estimate) -> tuple[GateOutcome, str]:
    short = _shortage(plan, gate, estimate)
    if short:
        return _insufficient(plan), short
    lower, upper, limit = _six(estimate.lower), _six(estimate.upper), Decimal(gate.tolerance)
    outcome = judge(-upper, -lower, limit, plan.decision.crossing)
    if upper <= limit:
        means = f"the upper bound is within {gate.tolerance}"
    elif lower > limit:
        means = f"even the lower bound is above {gate.tolerance}"
    else:
        means = f"the interval crosses {gate.tolerance}, which the plan reads as {plan.decision.crossing}"
    return outcome, f"Unresolved attribution: {_interval(estimate)}; {means}."


def _read_worst(
    plan: Plan,
    gate: Gate,
    text: str,
    numbers: dict[str, Number],
    arms: tuple[PhaseMatrix, PhaseMatrix],
    rule: UncertaintyRule,
    behind: tuple[str, ...],
) -> GateReading:
    """Intersection–union test: every shared phase must clear; one phase surely below rejects, corrected for looking."""
    phases = [replace(found, estimate=_gain(gate, found.estimate)) for found in paired_phases(*arms, rule)]
    estimates = [found.estimate for found in phases]
    short = next((why for why in (_shortage(plan, gate, estimate) for estimate in estimates) if why), "")
    if short or not phases:
        numbers |= {"phases": len(phases), **(_numbers(estimates[0]) if estimates else {})}
        reason = short or "The arms share no phase."
        return GateReading(gate.name, text, numbers, _insufficient(plan), reason, behind)
    worst = min(phases, key=lambda found: _six(found.estimate.lower))
    tolerance = Decimal(gate.tolerance)
    surely = _surely_below(gate, arms, rule, len(phases), tolerance)
    numbers |= {"phases": len(phases), "worst_phase": worst.labels[0], **_numbers(worst.estimate)}
    if _six(worst.estimate.lower) >= -tolerance:
        outcome, means = GateOutcome.ACCEPT, f"the lower bound clears −{gate.tolerance} in all {len(phases)} phases"
    elif surely:
        numbers["rejecting_phase"] = surely
        outcome = GateOutcome.REJECT
        means = (
            f"at phase {surely} even the upper bound, corrected for {len(phases)} phases, is below −{gate.tolerance}"
        )
    else:
        reject = plan.decision.crossing is Crossing.REJECT
        outcome = GateOutcome.REJECT if reject else GateOutcome.COLLECT_MORE
        means = f"the interval there crosses −{gate.tolerance}, which the plan reads as {plan.decision.crossing}"
    reason = f"Lowest bound at phase {worst.labels[0]}, {_MEASURED[gate.kind]}: {_interval(worst.estimate)}; {means}."
    return GateReading(gate.name, text, numbers, outcome, reason, behind)


def _surely_below(
    gate: Gate, arms: tuple[PhaseMatrix, PhaseMatrix], rule: UncertaintyRule, phases: int, tolerance: Decimal
) -> str:
    """Return a phase whose upper bound is below −tolerance after Bonferroni over phases, or ""."""
    shared = replace(rule, comparisons=rule.comparisons * phases)
    for found in paired_phases(*arms, shared):
        upper = _gain(gate, found.estimate).upper
        if upper is not None and _six(upper) < -tolerance:
            return found.labels[0]
    return ""


def read_resources(plan: Plan, use: ResourceUse) -> tuple[GateReading, ...]:
    """Read the plan's cost limits from measured values; they are counts of what was run, not samples of it."""
    limits = plan.resources
    rows: Sequence[tuple[str, str | int | None, Decimal | None, str]] = (
        (
            "evidence-tokens",
            limits.evidence_tokens_increase,
            _decimal(use.evidence_increase),
            "relative increase of mean evidence tokens",
        ),
        ("index-expansion", limits.index_expansion, _decimal(use.expansion), "indexed ÷ source tokens"),
        (
            "latency",
            limits.latency_ms,
            _decimal(use.latency_ms),
            f"median query latency in ms, {limits.latency_state}",
        ),
    )
    readings = []
    for name, limit, found, noun in rows:
        if limit is None:
            continue
        text = f"At most {limit}: {noun}."
        if found is None:
            reason = f"The {noun} was not measured."
            readings.append(GateReading(name, text, {"limit": str(limit)}, _insufficient(plan), reason))
            continue
        within = found <= Decimal(limit)
        readings.append(
            GateReading(
                name,
                text,
                {"limit": str(limit), "measured": _text(found)}
                | ({"cells": use.latency_cells} if name == "latency" else {}),
                GateOutcome.ACCEPT if within else GateOutcome.REJECT,
                f"Measured {_text(found)}, {'within' if within else 'above'} the limit {limit}.",
            )
        )
    return tuple(readings)


def _failure_block(plan: Plan, baseline: PhaseMatrix, candidate: PhaseMatrix, numbers: dict[str, Number]) -> str:
    """Note the failure rate; return the reason why the gate cannot be read, or ""."""
    failed = int((baseline.failed > 0).sum() + (candidate.failed > 0).sum())
    runs = baseline.failed.size + candidate.failed.size
    numbers |= {"failed_runs": failed, "runs": runs}
    if runs and Decimal(failed) > Decimal(plan.decision.maximum_failure_rate) * runs:
        allowed = plan.decision.maximum_failure_rate
        return f"{failed} of {runs} runs failed, above the allowed rate {allowed}; rerun them as new attempts."
    return ""


def _shortage(plan: Plan, gate: Gate, estimate: Estimate) -> str:
    """Return why an estimate is too little to read, or ""."""
    signature, clusters = estimate.signature, plan.statistics.minimum_clusters
    if not signature.questions:
        return f"{estimate.reason.capitalize()}."
    if signature.questions < gate.minimum_questions:
        return f"{signature.questions} questions were counted; the gate asks for {gate.minimum_questions}."
    if signature.clusters < clusters:
        return f"The questions fall into {signature.clusters} clusters; the plan asks for {clusters}."
    if estimate.lower is None or estimate.upper is None:
        return f"There is no interval: {estimate.reason}."
    return ""


def _insufficient(plan: Plan) -> GateOutcome:
    reject = plan.decision.insufficient_evidence is InsufficientEvidence.REJECT
    return GateOutcome.REJECT if reject else GateOutcome.COLLECT_MORE


def _gain(gate: Gate, estimate: Estimate) -> Estimate:
    """Turn a difference so that more is better: errors that rise are a negative gain."""
    return estimate if gate.kind is GateKind.SUPPORT_LOSS else _mirrored(estimate, 0.0)


def _complement(estimate: Estimate) -> Estimate:
    return _mirrored(estimate, 1.0)


def _mirrored(estimate: Estimate, around: float) -> Estimate:
    point, lower, upper = (
        None if value is None else round(around - value, 6) + 0.0
        for value in (estimate.point, estimate.upper, estimate.lower)
    )
    return replace(estimate, point=point, lower=lower, upper=upper)


def _behind(gate: Gate, baseline: PhaseMatrix, candidate: PhaseMatrix) -> tuple[str, ...]:
    """Return the questions that got worse, or, for attribution, those with an unresolved answer."""
    if gate.kind is GateKind.ATTRIBUTION:
        worse = (candidate.denominator - candidate.numerator).sum(axis=1) > 0
    else:
        change = candidate.numerator.sum(axis=1) - baseline.numerator.sum(axis=1)
        worse = change < 0 if gate.kind is GateKind.SUPPORT_LOSS else change > 0
    return tuple(name for name, bad in zip(candidate.questions, worse.tolist(), strict=True) if bad)


def _failed(baseline: PhaseMatrix, candidate: PhaseMatrix) -> tuple[str, ...]:
    failed = (baseline.failed + candidate.failed).sum(axis=1) > 0
    return tuple(name for name, bad in zip(candidate.questions, failed.tolist(), strict=True) if bad)


def _numbers(estimate: Estimate) -> dict[str, Number]:
    found: dict[str, Number] = {
        "questions": estimate.signature.questions,
        "clusters": estimate.signature.clusters,
        "signature": estimate.signature.text(),
    }
    for name in ("point", "lower", "upper"):
        value = getattr(estimate, name)
        if value is not None:
            found[name] = _text(_six(value))
    return found


def _interval(estimate: Estimate) -> str:
    bounds = f"{_text(_six(estimate.lower))} to {_text(_six(estimate.upper))}"
    why = f"; {estimate.reason or estimate.note}" if estimate.reason or estimate.note else ""
    return f"{_text(_six(estimate.point))}, bounds {bounds} ({estimate.signature.text()}{why})"


def _six(value: float | None) -> Decimal:
    """Read a number at the six places its record keeps."""
    if value is None:
        raise ValueError("an estimate without bounds cannot be read as a number")
    return Decimal(f"{value:.6f}")


def _decimal(value: object) -> Decimal | None:
    return None if value is None else Decimal(f"{float(value):.6f}")  # type: ignore[arg-type]


def _text(value: Decimal) -> str:
    return format(value, "f")

"""Rules of a plan that look at more than one setting: what can be read can still be no experiment."""

from __future__ import annotations

from collections.abc import Iterator

from annotate.domain.vocabulary import Segment
from evaluation.domain.plan import Plan
from evaluation.domain.plan_factors import factor_problems
from evaluation.domain.plan_release import Gate
from evaluation.domain.plan_schema import KnownNames, PlanProblem
from evaluation.domain.plan_uses import use_problems
from evaluation.domain.plan_words import (
    ArmRole,
    GateKind,
    GateStatistic,
    MetricName,
    Multiplicity,
    PlanPartition,
    VerdictSource,
)

MAX_RUNS = 20_000
"""Index builds × repeats of one sweep, at most: a week of computing, and far beyond what any comparison needs."""

ANSWER_METRICS = frozenset(MetricName) - {MetricName.COMPLETE_SUPPORT, MetricName.SINGLE_UNIT_SUPPORT}
"""Metrics that need a generator."""


def plan_problems(plan: Plan, known: KnownNames | None = None) -> tuple[PlanProblem, ...]:
    """Return every cross-setting fault of a plan whose settings are sound one by one; empty when it can be locked.

    `known` says which settings each plug-in of this installation reads.
    """
    if too_much := tuple(_size(plan)):
        # The other rules walk the phases, which is what there are too many of.
        return too_much
    checks = (_arms, factor_problems, _phases, _budget, _answers, _gates, _decision)
    found = [problem for check in checks for problem in check(plan)]
    return (*found, *use_problems(plan, known or KnownNames()))


def _size(plan: Plan) -> Iterator[PlanProblem]:
    labels = plan.phases.grid + len(plan.phases.labels)
    strides = [max(plan.stride_of(arm), 1) for arm in plan.arms]
    phases = sum(stride if plan.phases.every else min(labels, stride) for stride in strides)
    runs = phases * plan.generation.repeats
    if runs > MAX_RUNS:
        yield PlanProblem(
            "phases",
            f"ask for up to {runs:,} runs over all arms, phases and repeats; at most {MAX_RUNS:,} are started.",
            "Ask for a grid instead of every phase, for fewer repeats, or write several plans.",
        )


def _arms(plan: Plan) -> Iterator[PlanProblem]:
    names: dict[str, int] = {}
    for index, arm in enumerate(plan.arms):
        where = f"arms[{index}]"
        if names.setdefault(arm.name, index) != index:
            yield PlanProblem(f"{where}.name", f"repeats “{arm.name}” of arms[{names[arm.name]}].", "Rename one.")
    baselines = [index for index, arm in enumerate(plan.arms) if arm.role is ArmRole.BASELINE]
    if len(baselines) != 1:
        what = "has no baseline" if not baselines else f"has {len(baselines)} baselines"
        yield PlanProblem("arms", f"{what}, so no difference is defined.", 'Give exactly one arm role = "baseline".')
        return
    if not plan.candidates:
        yield PlanProblem("arms", "has no candidate.", 'Give at least one arm role = "candidate".')


def _phases(plan: Plan) -> Iterator[PlanProblem]:
    strides = {plan.stride_of(arm) for arm in plan.arms} - {0}
    if plan.phase_labels:
        if MetricName.REVERSAL in plan.metrics and len(plan.phase_labels) < 2:
            yield PlanProblem(
                "phases", "hold one label, so no answer can reverse between phases.", "Ask for a grid of 2 or more."
            )
        for index, arm in enumerate(plan.arms):
            stride = plan.stride_of(arm)
            if stride > 0 and len({label.phase(stride) for label in plan.phase_labels}) < 2 <= len(plan.phase_labels):
                yield PlanProblem(
                    f"arms[{index}].overlap",
                    f"leaves a stride of {stride}, on which all {len(plan.phase_labels)} phase labels are one cut.",
                    "Lower the overlap or raise the capacity.",
                )
        return
    what = "name no phase at all."
    if plan.phases.every and strides:
        what = f"ask for every phase, but the arms' strides differ ({', '.join(map(str, sorted(strides)))})."
    elif plan.phases.targeted:
        what = "are targeted only, and targeted phases never enter a comparison."
    yield PlanProblem(
        "phases", f"{what} The arms share no phase.", "Add grid = 8 or labels like “3/8”, which every arm can map."
    )


def _budget(plan: Plan) -> Iterator[PlanProblem]:
    for place, depth in _depths(plan):
        if plan.budget.top_k > depth:
            yield PlanProblem(
                "budget.top_k",
                f"is {plan.budget.top_k}, deeper than the {depth} candidates retrieved.",
                f"Raise {place}.candidates or lower top_k.",
            )
            return


def _depths(plan: Plan) -> Iterator[tuple[str, int]]:
    """Yield where a retrieval stands and how many candidates it takes: the plan's, then those of arms."""
    yield "retrieval", plan.retrieval.candidates
    for index, arm in enumerate(plan.arms):
        if arm.retrieval is not None:
            yield f"arms[{index}].retrieval", arm.retrieval.candidates


def _answers(plan: Plan) -> Iterator[PlanProblem]:
    if plan.generation.answers:
        return
    for index, metric in enumerate(plan.metrics):
        if metric in ANSWER_METRICS:
            yield PlanProblem(
                f"metrics[{index}]",
                f"“{metric}” judges answers, but generation.generator is “none”.",
                "Remove it, or name a generator.",
            )
    for index, gate in enumerate(plan.gates):
        if gate.kind is not GateKind.SUPPORT_LOSS:
            yield PlanProblem(
                f"gates[{index}].kind",
                f"“{gate.kind}” judges answers, but generation.generator is “none”.",
                "Gate support only, or name a generator.",
            )
    if plan.vetoes.unresolved_attribution is not None:
        yield PlanProblem(
            "vetoes.unresolved_attribution", "needs answers, but generation.generator is “none”.", "Remove it."
        )


def _gates(plan: Plan) -> Iterator[PlanProblem]:
    names: dict[str, int] = {}
    for index, gate in enumerate(plan.gates):
        where = f"gates[{index}]"
        if names.setdefault(gate.name, index) != index:
            yield PlanProblem(f"{where}.name", f"repeats “{gate.name}” of gates[{names[gate.name]}].", "Rename one.")
        if gate.segment is not None and gate.segment not in plan.population.segments:
            yield PlanProblem(
                f"{where}.segment",
                f"reads “{gate.segment}”, which is not in the population.",
                "Add it to population.segments or drop the gate.",
            )
        if gate.verdict_source is not VerdictSource.RUBRIC:
            yield PlanProblem(
                f"{where}.verdict_source",
                f"asks for verdicts by “{gate.verdict_source}”: in this version the evidence rubric alone gives any, "
                "so such a gate could never be read.",
                f'Write "{VerdictSource.RUBRIC}", or leave the gate out until a judge or people give verdicts.',
            )
        yield from _gate_reach(plan, gate, where)


def _gate_reach(plan: Plan, gate: Gate, where: str) -> Iterator[PlanProblem]:
    """Refuse gates that could never read a number."""
    needs_controls = gate.kind is GateKind.FALSE_ASSERTION_INCREASE
    if needs_controls and gate.segment not in {None, Segment.UNANSWERABLE_CONTROL}:
        yield PlanProblem(
            f"{where}.segment",
            f"counts false assertions in “{gate.segment}”, whose questions have an answer.",
            'Read "unanswerable-control" or "overall".',
        )
    if gate.segment is Segment.UNANSWERABLE_CONTROL and gate.kind in {
        GateKind.SUPPORT_LOSS,
        GateKind.CONDITION_ERROR_INCREASE,
    }:
        yield PlanProblem(
            f"{where}.kind",
            f"“{gate.kind}” counts answerable questions, and this segment has none.",
            'Use "false-assertion-increase" for unanswerable controls.',
        )
    if gate.statistic is GateStatistic.WORST_PHASE:
        if len(plan.phase_labels) < 2:
            yield PlanProblem(
                f"{where}.statistic", "is worst-phase, but the arms share fewer than two labels.", "Add grid = 8."
            )
        if gate.kind is GateKind.ATTRIBUTION:
            yield PlanProblem(f"{where}.statistic", "is worst-phase, which attribution does not offer.", 'Use "mean".')


def _decision(plan: Plan) -> Iterator[PlanProblem]:
    candidates = [arm.name for arm in plan.candidates]
    if candidates and plan.decision.candidate not in candidates:
        yield PlanProblem(
            "decision.candidate",
            f"is “{plan.decision.candidate}”, which is no candidate arm.",
            f"Use one of: {', '.join(candidates)}.",
        )
    if len(candidates) > 1 and plan.statistics.multiplicity is Multiplicity.NONE:
        yield PlanProblem(
            "statistics.multiplicity",
            f"is none, but one of {len(candidates)} candidates would be chosen on the same questions.",
            'Write "bonferroni".',
        )
    if plan.population.partition is not PlanPartition.DEVELOPMENT and plan.population.held_out_openings < 1:
        yield PlanProblem(
            "population.held_out_openings",
            f"is 0, but the partition “{plan.population.partition}” opens the held-out questions.",
            'Write how often they may be opened, or use partition = "development".',
        )

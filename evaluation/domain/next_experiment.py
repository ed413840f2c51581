"""From a lost question to the plan of the experiment its diagnosis asks for: the arm it was lost in, and one change.

The arm becomes the baseline and a copy with one factor changed the candidate, on development questions only. What
nothing in a plan can vary (a label, the annotation, the generator's prompt) gives no plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evaluation.domain.diagnosis import Diagnosis, Trouble
from evaluation.domain.plan import Plan
from evaluation.domain.plan_factors import changed_factors
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.plan_words import (
    UNSHIFTED_SEGMENTERS,
    ArmRole,
    Factor,
    PlanPartition,
    RecoveryMoment,
    RecoveryPolicy,
    UnitUnderTest,
)

type Change = tuple[Factor, dict[str, Any]]
"""A factor with the settings of an arm that it changes."""

NAME_LENGTH = 64
_COSTS = {
    Factor.OVERLAP: "Another overlap changes the index's size and how much the evidence repeats itself.",
    Factor.CAPACITY: "Smaller chunks separate more of what belongs together.",
    Factor.RETRIEVAL: "A deeper list costs time and brings more that is not asked for.",
    Factor.RERANKING: "Another order may lose questions that this one holds.",
    Factor.RECOVERY: "Widened hits take evidence tokens from other hits.",
}
_BEYOND_THE_SPLITTER = {Factor.RETRIEVAL, Factor.RERANKING, Factor.RECOVERY}


def next_plan(plan: Plan, arm_name: str, found: Diagnosis, question_id: str, phase: str) -> Plan | None:
    """Return the plan of the experiment that `found` asks for, or None where no setting of a plan would be it.

    Raises KeyError for an arm the plan does not have.
    """
    arm = plan.arm(arm_name)
    changed = _CHANGES[found.trouble](plan, arm) if found.trouble in _CHANGES else None
    if changed is None:
        return None
    factor, settings = changed
    baseline = replace(arm, role=ArmRole.BASELINE, factor=Factor.NONE)
    candidate = replace(baseline, name=_short(arm.name, str(factor)), role=ArmRole.CANDIDATE, factor=factor, **settings)
    if not _differs(plan, baseline, candidate):
        return None
    where = f"{question_id} lost its support in {arm.name} at phase {phase}"
    unit = UnitUnderTest.INDEXING_POLICY if factor in _BEYOND_THE_SPLITTER else plan.hypothesis.unit_under_test
    return replace(
        plan,
        name=_short(plan.name, f"{found.trouble}"),
        hypothesis=replace(
            plan.hypothesis,
            boundary_hypothesis=f"{where}: {found.because}",
            expected_benefit=f"{found.experiment.words} Questions lost for this reason come back.",
            counter_cost=_COSTS[factor],
            unit_under_test=unit,
        ),
        # One lost question is no reason to look at held-out ones again.
        population=replace(plan.population, partition=PlanPartition.DEVELOPMENT, held_out_openings=0),
        arms=(baseline, candidate),
        decision=replace(plan.decision, candidate=candidate.name),
    )


def _differs(plan: Plan, baseline: Arm, candidate: Arm) -> bool:
    """Whether the change is one: an arm that is not reranked cannot lose its reranker."""
    pair = replace(plan, arms=(baseline, candidate))
    return bool(changed_factors(pair, candidate))


def _more_overlap(_: Plan, arm: Arm) -> Change | None:
    if not _sized(arm):
        return _neighbours(_, arm)
    overlap = max(arm.overlap * 2, arm.capacity // 4, 1)
    if overlap >= arm.capacity:
        return _neighbours(_, arm)
    return Factor.OVERLAP, {"overlap": overlap}


def _less_overlap(plan: Plan, arm: Arm) -> Change | None:
    if _sized(arm) and arm.overlap:
        return Factor.OVERLAP, {"overlap": arm.overlap // 2}
    return _novelty(plan, arm)


def _smaller(_: Plan, arm: Arm) -> Change | None:
    capacity = arm.capacity // 2
    return (Factor.CAPACITY, {"capacity": capacity}) if _sized(arm) and capacity > arm.overlap else None


def _deeper(plan: Plan, arm: Arm) -> Change | None:
    retrieval = plan.retrieval_of(arm)
    return Factor.RETRIEVAL, {"retrieval": replace(retrieval, candidates=retrieval.candidates * 2)}


def _neighbours(plan: Plan, arm: Arm) -> Change | None:
    recovery = plan.recovery_of(arm)
    if recovery.policy is RecoveryPolicy.NEIGHBOURS:
        return Factor.RECOVERY, {"recovery": replace(recovery, reach=recovery.reach + 1)}
    return Factor.RECOVERY, {"recovery": replace(recovery, policy=RecoveryPolicy.NEIGHBOURS, reach=1)}


def _not_widened(plan: Plan, arm: Arm) -> Change | None:
    recovery = plan.recovery_of(arm)
    if recovery.moment is RecoveryMoment.BEFORE_RERANKING:
        return Factor.RECOVERY, {"recovery": replace(recovery, moment=RecoveryMoment.AFTER_RERANKING)}
    return Factor.RECOVERY, {"recovery": replace(recovery, policy=RecoveryPolicy.NONE)}


def _not_reranked(plan: Plan, arm: Arm) -> Change | None:
    return Factor.RERANKING, {"reranking": replace(plan.reranking_of(arm), reranker="none")}


def _novelty(plan: Plan, arm: Arm) -> Change | None:
    reranking = plan.reranking_of(arm)
    if reranking.reranker == "mmr":
        return None
    return Factor.RERANKING, {"reranking": replace(reranking, reranker="mmr")}


_CHANGES: dict[Trouble, Callable[[Plan, Arm], Change | None]] = {
    Trouble.SEVERED: _more_overlap,
    Trouble.NOT_FOUND: _deeper,
    Trouble.SET_APART: _neighbours,
    Trouble.RERANKED_AWAY: _not_reranked,
    Trouble.REPLACED: _not_widened,
    Trouble.CROWDED_OUT: _less_overlap,
    Trouble.BEYOND_THE_LIMIT: _novelty,
    Trouble.BURIED: _smaller,
}


def _sized(arm: Arm) -> bool:
    """Whether the arm's sizes are cuts of ours that a plan may change."""
    return arm.segmenter not in UNSHIFTED_SEGMENTERS and arm.capacity > 0


def _short(name: str, tail: str) -> str:
    return f"{name[: NAME_LENGTH - len(tail) - 1]}-{tail}"

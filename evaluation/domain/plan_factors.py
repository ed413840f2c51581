"""What an arm changes against the baseline, and whether the study may draw a conclusion from such a change."""

from __future__ import annotations

from collections.abc import Iterator

from evaluation.domain.plan import Plan
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.plan_schema import PlanProblem
from evaluation.domain.plan_words import UNSHIFTED_SEGMENTERS, ArmRole, Factor, UnitUnderTest

#: Settings that belong to one segmenter's own way of cutting; a change of any is a change of the segmenter.
_OWN = ("segmenter", "separators", "language", "splitter", "options", "chunks", "chunks_digest", "uncovered")
#: What lies beyond the splitter, by the words of the plan.
_BEYOND = (Factor.RETRIEVAL, Factor.RERANKING, Factor.RECOVERY)


def changed_factors(plan: Plan, arm: Arm) -> tuple[Factor, ...]:
    """Return what `arm` changes against the plan's baseline, one factor per thing that differs.

    Sizes of a foreign splitter or of a dump are part of the segmenter, which has none of our cuts: they are no factors
    of their own.
    """
    baseline = plan.baseline
    sized = not {arm.segmenter, baseline.segmenter} & UNSHIFTED_SEGMENTERS
    pairs = (
        (Factor.SEGMENTER, any(getattr(arm, name) != getattr(baseline, name) for name in _OWN)),
        (Factor.CAPACITY, sized and arm.capacity != baseline.capacity),
        (Factor.OVERLAP, sized and arm.overlap != baseline.overlap),
        (Factor.TAILS, sized and arm.tails is not baseline.tails),
        (Factor.UNIT, sized and arm.unit != baseline.unit),
        (Factor.RETRIEVAL, plan.retrieval_of(arm) != plan.retrieval_of(baseline)),
        (Factor.RERANKING, plan.reranking_of(arm) != plan.reranking_of(baseline)),
        (Factor.RECOVERY, plan.recovery_of(arm) != plan.recovery_of(baseline)),
    )
    return tuple(factor for factor, differs in pairs if differs)


def factor_problems(plan: Plan) -> Iterator[PlanProblem]:
    """Yield candidates that change nothing, that change something else than they say, or more than the splitter in a
    study of the splitter alone. Nothing for a plan without exactly one baseline, where no difference is defined."""
    if sum(arm.role is ArmRole.BASELINE for arm in plan.arms) != 1:
        return
    for index, arm in enumerate(plan.arms):
        if arm.role is ArmRole.CANDIDATE:
            yield from _candidate(plan, arm, f"arms[{index}]")


def _candidate(plan: Plan, arm: Arm, where: str) -> Iterator[PlanProblem]:
    changed = changed_factors(plan, arm)
    if not changed:
        what = f"is the same as the baseline “{plan.baseline.name}”."
        yield PlanProblem(where, what, "Change a factor or drop the arm.")
        return
    actual = changed[0] if len(changed) == 1 else Factor.COMBINED
    if arm.factor is not actual:
        yield PlanProblem(
            f"{where}.factor",
            f"says “{arm.factor}”, but the arm changes {', '.join(changed)}.",
            f'Write "{actual}", or change one thing only.',
        )
    beyond = [str(factor) for factor in changed if factor in _BEYOND]
    if beyond and plan.hypothesis.unit_under_test is UnitUnderTest.SPLITTER:
        yield PlanProblem(
            f"{where}.{beyond[0]}",
            f"changes {' and '.join(beyond)}, but the unit under test is the splitter alone: a difference could not be "
            "blamed on it.",
            'Write hypothesis.unit_under_test = "indexing-policy", or give every arm the same.',
        )

"""Which phases each arm of a plan runs, and under which shared labels its results stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.phases import PhaseMapping, TargetedPhase, every, map_labels, targeted
from evaluation.domain.pipeline import ArmSettings, PreparedCorpus
from evaluation.domain.plan import Plan

#: Stands in a cell for an arm that has no phases.
CONTROL = 0


@dataclass(frozen=True)
class ArmPhases:
    """`shared` maps a phase label to the arm's first cut, in the labels' order; an unshifted control maps all to
    CONTROL, or to its whole stride where only its retriever cannot follow a shift. `stride` is 0 for both.

    `every` holds every phase of the arm where the plan asks for them; `targeted` the phases aimed at annotated spans.
    The three are listed apart; a phase in several is run once.
    """

    arm: str
    stride: int
    shared: Mapping[str, int]
    every: tuple[int, ...] = ()
    targeted: tuple[TargetedPhase, ...] = ()

    @property
    def collapsed(self) -> Mapping[int, tuple[str, ...]]:
        """First cuts on which several shared labels fall, with those labels: one phase, and one observation."""
        return PhaseMapping(self.stride, self.shared).collapsed

    @property
    def runs(self) -> tuple[int, ...]:
        """The distinct phases to run, increasing."""
        return tuple(sorted({*self.shared.values(), *self.every, *(one.phase for one in self.targeted)}))


def arm_phases(
    plan: Plan, arm: ArmSettings, prepared: PreparedCorpus, questions: Sequence[FrozenQuestion]
) -> ArmPhases:
    """Return the phases of one arm; targeted ones are computed from the frozen marks of `questions`."""
    stride = arm.segmenter.stride
    labels = [str(label) for label in plan.phase_labels] or ["1/1"]
    if not stride:
        return ArmPhases(arm.name, 0, dict.fromkeys(labels, CONTROL))
    if not plan.stride_of(plan.arm(arm.name)):
        # Whoever retrieves never sees our cuts: the chunks are the unshifted ones, whatever label they stand under.
        return ArmPhases(arm.name, 0, dict.fromkeys(labels, stride))
    aimed: tuple[TargetedPhase, ...] = ()
    if plan.phases.targeted:
        aimed = targeted(questions, dict(zip(prepared.by_version, prepared.tokenized, strict=True)), stride)
    return ArmPhases(
        arm.name,
        stride,
        map_labels(plan.phase_labels, stride).by_label,
        every(stride) if plan.phases.every else (),
        aimed,
    )

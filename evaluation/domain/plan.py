# ruff: noqa: RUF009 - `setting` is dataclasses.field with rules; it makes no shared value
"""A plan: everything a sweep and a release depend on, written down before the first number is seen.

The types are plain values; those of what is run are in `plan_pipeline`, those of how it is read in `plan_release`.
`plan_toml` reads and writes them, `plan_checks` holds the rules that look at more than one
setting, `plan_schema` turns them into payloads of dicts, lists, strings, integers, booleans and None. Numbers that are
not integers are decimal strings of shortest form ("0.1", never "0.10"), so that equal plans have equal digests.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from annotate.domain.vocabulary import Segment
from evaluation.domain.phases import PhaseLabel, grid
from evaluation.domain.plan_pipeline import Arm, Budget, Generation, PhaseRule, Recovery, Reranking, Retrieval
from evaluation.domain.plan_release import DecisionRule, Gate, Resources, StatisticsRule, Vetoes
from evaluation.domain.plan_schema import setting
from evaluation.domain.plan_words import (
    ArmRole,
    EdgePolicy,
    MetricName,
    PlanPartition,
    UnitUnderTest,
    sees_no_cut,
)


@dataclass(frozen=True)
class Hypothesis:
    """What is suspected, what good it would do, what it may cost, and what the study can speak about."""

    boundary_hypothesis: str = setting(filled=True)
    expected_benefit: str = setting(filled=True)
    counter_cost: str = setting(filled=True)
    unit_under_test: UnitUnderTest = setting()


@dataclass(frozen=True)
class Population:
    """The questions and documents the decision is about. `held_out_openings` is how often they may be opened."""

    description: str = setting(filled=True)
    reader_clearance: str = setting(filled=True)
    question_distribution: str = setting(filled=True)
    partition: PlanPartition = setting()
    segments: tuple[Segment, ...] = setting(filled=True)
    held_out_openings: int = setting(default=0, at_least=0)


@dataclass(frozen=True)
class Plan:
    """A whole preregistration; `plan_payload` of it is what is digested and locked."""

    name: str = setting(name=True)
    hypothesis: Hypothesis = setting()
    population: Population = setting()
    budget: Budget = setting()
    retrieval: Retrieval = setting()
    generation: Generation = setting()
    phases: PhaseRule = setting()
    arms: tuple[Arm, ...] = setting(filled=True, most=50)
    metrics: tuple[MetricName, ...] = setting(filled=True)
    statistics: StatisticsRule = setting()
    decision: DecisionRule = setting()
    reranking: Reranking = setting(default=Reranking())
    recovery: Recovery = setting(default=Recovery())
    edge_policy: EdgePolicy = setting(default=EdgePolicy.KEEP_SHORTER)
    gates: tuple[Gate, ...] = setting(default=(), most=200)
    vetoes: Vetoes = setting(default=Vetoes())
    resources: Resources = setting(default=Resources())

    def retrieval_of(self, arm: Arm) -> Retrieval:
        """Return the retrieval `arm` runs with: its own, or the plan's."""
        return arm.retrieval or self.retrieval

    def reranking_of(self, arm: Arm) -> Reranking:
        """Return the reranking `arm` runs with: its own, or the plan's."""
        return arm.reranking or self.reranking

    def recovery_of(self, arm: Arm) -> Recovery:
        """Return the recovery `arm` runs with: its own, or the plan's."""
        return arm.recovery or self.recovery

    def stride_of(self, arm: Arm) -> int:
        """Return how many phases `arm` has in this plan; 0 for an unshifted control.

        A retriever we do not own sees no cut of ours unless it offers a hook to index them, so its arm (a fusion with
        its list as well) cannot shift, whatever its segmenter could do.
        """
        retrieval = self.retrieval_of(arm)
        return 0 if sees_no_cut(retrieval.retriever, retrieval.fuse, retrieval.reindex_hook) else arm.stride

    @property
    def baseline(self) -> Arm:
        """The arm every candidate is compared with; a checked plan has exactly one."""
        return next(arm for arm in self.arms if arm.role is ArmRole.BASELINE)

    @property
    def candidates(self) -> tuple[Arm, ...]:
        """The arms that change something, in the plan's order."""
        return tuple(arm for arm in self.arms if arm.role is ArmRole.CANDIDATE)

    @property
    def phase_labels(self) -> tuple[PhaseLabel, ...]:
        """The shared labels, increasing; every p/S is one where every phase is asked for and all arms have one stride.

        Empty when the arms share no label: targeted phases only, or every phase of arms with different strides.
        """
        asked = set(grid(self.phases.grid)) if self.phases.grid else set()
        strides = {self.stride_of(arm) for arm in self.arms} - {0}
        if self.phases.every and len(strides) == 1:
            stride = strides.pop()
            asked |= {PhaseLabel(Fraction(phase, stride)) for phase in range(1, stride + 1)}
        return tuple(sorted(asked | {PhaseLabel(label) for label in self.phases.labels}))

    def arm(self, name: str) -> Arm:
        """Return the arm called `name`; raises KeyError when the plan has none."""
        return {arm.name: arm for arm in reversed(self.arms)}[name]

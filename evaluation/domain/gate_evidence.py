"""What gates and vetoes read: both arms' matrices for one view and one sample, and the counts no average may hide."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from annotate.domain.vocabulary import Sample, Segment
from evaluation.domain.metrics import Figure, Run, Usage, figure, usage
from evaluation.domain.outcomes import Stage, View
from evaluation.domain.phase_matrix import PhaseMatrix, phase_matrix
from evaluation.domain.plan_words import MetricName

type PhaseRuns = Mapping[str, Sequence[Run]]
"""Phase label → runs of one arm in one view, the same questions in each; repeats stand one after another."""

GATE_METRICS = (
    MetricName.COMPLETE_SUPPORT,
    MetricName.CONDITION_ERROR,
    MetricName.FALSE_ASSERTION,
    MetricName.ATTRIBUTION,
)


@dataclass(frozen=True)
class PairedEvidence:
    """Baseline and candidate over the same questions of one sample in one view."""

    view: View
    sample: Sample
    segments: Mapping[str, Segment]
    baseline: Mapping[MetricName, PhaseMatrix]
    candidate: Mapping[MetricName, PhaseMatrix]

    def pair(self, metric: MetricName, segment: Segment | None) -> tuple[PhaseMatrix, PhaseMatrix]:
        """Return both arms' matrices for the questions of `segment` (None: all)."""
        names = {name for name, own in self.segments.items() if segment is None or own is segment}
        return self.baseline[metric].rows(names), self.candidate[metric].rows(names)


def paired_evidence(
    view: View,
    sample: Sample,
    baseline: PhaseRuns,
    candidate: PhaseRuns,
    baseline_cuts: Mapping[str, int] | None = None,
    candidate_cuts: Mapping[str, int] | None = None,
) -> PairedEvidence:
    """Select `sample` from both arms' runs of one view and tally what gates read.

    Raises ValueError when the arms were run on different phase labels or different questions.
    """
    if list(baseline) != list(candidate):
        raise ValueError(f"the arms hold different phases: {list(baseline)} and {list(candidate)}")
    arms = [
        {label: [run for run in runs if run[0].sample is sample] for label, runs in arm.items()}
        for arm in (baseline, candidate)
    ]
    segments = [
        {question.question_id: question.segment for runs in arm.values() for question, _ in runs} for arm in arms
    ]
    if segments[0] != segments[1]:
        odd = sorted(set(segments[0]) ^ set(segments[1]))[:5]
        raise ValueError(f"the arms were asked different questions: {', '.join(odd)}")
    matrices = [
        {metric: phase_matrix(metric, arm, cuts) for metric in GATE_METRICS}
        for arm, cuts in zip(arms, (baseline_cuts, candidate_cuts), strict=True)
    ]
    return PairedEvidence(view, sample, segments[1], *matrices)


@dataclass(frozen=True)
class ResourceUse:
    """Measured costs. Token volumes are in the plan's tokenizer.

    `latency_ms` is the candidate's median query latency in the plan's latency state, over `latency_cells` cells; None
    when not measured.
    """

    baseline: Usage
    candidate: Usage
    indexed_tokens: int
    source_tokens: int
    latency_ms: float | None = None
    latency_cells: int = 0

    @property
    def evidence_increase(self) -> Fraction | None:
        """Relative change of mean evidence tokens; None when the baseline packed nothing."""
        before, after = self.baseline.mean_evidence_tokens, self.candidate.mean_evidence_tokens
        return after / before - 1 if before and after is not None else None

    @property
    def expansion(self) -> Fraction | None:
        """Indexed ÷ source tokens of the candidate, averaged over its phases by their sums."""
        return Fraction(self.indexed_tokens, self.source_tokens) if self.source_tokens else None


def total_usage(runs: PhaseRuns) -> Usage:
    """Return an arm's usage over all phases of one view."""
    return usage([run for column in runs.values() for run in column])


@dataclass(frozen=True)
class VetoEvidence:
    """Counts over every run of the candidate, both samples; ids of the questions behind each.

    `leaks` counts restricted bytes' arrivals at any consumer, `superseded` units there that were not in force.
    `missed_mandatory` are mandatory questions the baseline supported at a shared phase and the candidate did not.
    `clusters` are the independent observations behind an observed zero, `mandatory_clusters` those among mandatory
    questions.
    """

    leaks: int
    leak_questions: tuple[str, ...]
    superseded: int
    superseded_questions: tuple[str, ...]
    missed_mandatory: tuple[str, ...]
    attribution: Figure
    clusters: int
    mandatory_clusters: int


def veto_evidence(baseline: PhaseRuns, candidate: PhaseRuns) -> VetoEvidence:
    """Count what vetoes read, from the runs of the primary view in every shared phase."""
    runs = [run for column in candidate.values() for run in column]
    leaks = [(question.question_id, sum(outcome.leaks.values())) for question, outcome in runs]
    stale = [(question.question_id, sum(outcome.superseded.values())) for question, outcome in runs]
    missed: set[str] = set()
    for label in candidate:
        before = _mandatory_support(baseline.get(label, ()))
        after = _mandatory_support(candidate[label])
        missed |= {name for name, supported in after.items() if not supported and before.get(name, False)}
    return VetoEvidence(
        sum(count for _, count in leaks),
        _ids(leaks),
        sum(count for _, count in stale),
        _ids(stale),
        tuple(sorted(missed)),
        figure(MetricName.ATTRIBUTION, runs),
        len({question.cluster for question, _ in runs}),
        len({question.cluster for question, _ in runs if question.mandatory}),
    )


def _mandatory_support(runs: Sequence[Run]) -> dict[str, bool]:
    """Map mandatory answerable questions to whether every repeat kept their support; a failed run did not."""
    supported: dict[str, bool] = {}
    for question, outcome in runs:
        if question.mandatory and question.answerable:
            complete = not outcome.failed and outcome.complete.get(Stage.PACKED, False)
            supported[question.question_id] = supported.get(question.question_id, True) and complete
    return supported


def _ids(counts: Collection[tuple[str, int]]) -> tuple[str, ...]:
    return tuple(sorted({name for name, count in counts if count}))

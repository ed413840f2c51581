# ruff: noqa: RUF009 - `setting` is dataclasses.field with rules; it makes no shared value
"""What a plan says of reading the numbers: statistics, gates, vetoes, resource limits, the rule of the decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from annotate.domain.vocabulary import Sample, Segment
from evaluation.domain.outcomes import View
from evaluation.domain.plan_schema import setting
from evaluation.domain.plan_words import (
    Crossing,
    DecimalText,
    FrontierCost,
    GateKind,
    GateStatistic,
    InsufficientEvidence,
    IntervalMethod,
    LatencyState,
    Multiplicity,
    ResamplingUnit,
    Sidedness,
    VerdictSource,
)


@dataclass(frozen=True)
class StatisticsRule:
    """How uncertainty is estimated. `confidence` is read as `sidedness` says."""

    seed: int = setting(at_least=0, at_most=2**63 - 1)
    interval: IntervalMethod = setting(default=IntervalMethod.STUDENTISED_SCORE)
    confidence: DecimalText = setting(default=DecimalText("0.95"), at_least="0.5", below=1)
    sidedness: Sidedness = setting(default=Sidedness.ONE_SIDED)
    replicates: int = setting(default=4000, at_least=200, at_most=200_000)
    unit: ResamplingUnit = setting(default=ResamplingUnit.CLUSTER)
    minimum_clusters: int = setting(default=10, at_least=2)
    multiplicity: Multiplicity = setting(default=Multiplicity.NONE)


@dataclass(frozen=True)
class Gate:
    """One condition of the release. `segment` None reads every segment of the population together.

    `tolerance` is the largest acceptable loss of support, increase of the condition-error rate, or share of
    asserted answers without resolvable attribution, as `kind` says. The two samples are never pooled: a gate reads one.
    """

    name: str = setting(name=True)
    kind: GateKind = setting()
    tolerance: DecimalText = setting(at_least=0, at_most=1)
    sample: Sample = setting()
    minimum_questions: int = setting(at_least=1)
    segment: Segment | None = setting(default=None, none="overall")
    statistic: GateStatistic = setting(default=GateStatistic.MEAN)
    view: View = setting(default=View.BUDGET)
    verdict_source: VerdictSource = setting(default=VerdictSource.RUBRIC)


@dataclass(frozen=True)
class Vetoes:
    """Hard limits no average can buy back: counts, and the observed share of unresolved attribution (None: no veto)."""

    permission_leaks: int = setting(default=0, at_least=0)
    superseded_evidence: int = setting(default=0, at_least=0)
    newly_missed_mandatory: int = setting(default=0, at_least=0)
    unresolved_attribution: DecimalText | None = setting(default=None, at_least=0, at_most=1)


@dataclass(frozen=True)
class Resources:
    """Cost limits of a candidate; None sets no limit.

    `evidence_tokens_increase` is relative to the baseline's mean evidence tokens ("0.15" allows 15 % more);
    `index_expansion` is indexed ÷ source tokens; `latency_ms` is the median query latency in `latency_state`.
    """

    evidence_tokens_increase: DecimalText | None = setting(default=None, at_least=0)
    index_expansion: DecimalText | None = setting(default=None, at_least=1)
    latency_ms: int | None = setting(default=None, at_least=1)
    latency_state: LatencyState | None = setting(default=None)

    def faults(self) -> Iterator[tuple[str, str, str]]:
        """Yield (setting, what, mend) for what is wrong between settings of this table."""
        if (self.latency_ms is None) != (self.latency_state is None):
            missing = "latency_ms" if self.latency_ms is None else "latency_state"
            yield (missing, "is missing beside its partner.", "A latency allowance says its state: cold or warm.")


@dataclass(frozen=True)
class DecisionRule:
    """How readings become a disposition. `candidate` would be released; floor and cost speak of the frontier only."""

    candidate: str = setting(name=True)
    crossing: Crossing = setting(default=Crossing.COLLECT_MORE)
    insufficient_evidence: InsufficientEvidence = setting(default=InsufficientEvidence.COLLECT_MORE)
    maximum_failure_rate: DecimalText = setting(default=DecimalText("0.01"), at_least=0, at_most=1)
    support_floor: DecimalText | None = setting(default=None, at_least=0, at_most=1)
    floor_cost: FrontierCost = setting(default=FrontierCost.EVIDENCE_TOKENS)

# ruff: noqa: RUF009 - `setting` is dataclasses.field with rules; it makes no shared value
"""A plan: everything a sweep and a release depend on, written down before the first number is seen.

The types are plain values. `plan_toml` reads and writes them, `plan_checks` holds the rules that look at more than one
setting, `plan_schema` turns them into payloads of dicts, lists, strings, integers, booleans and None. Numbers that are
not integers are decimal strings of shortest form ("0.1", never "0.10"), so that equal plans have equal digests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NewType

from annotate.domain.vocabulary import Sample, Segment
from evaluation.domain.outcomes import View
from evaluation.domain.phases import PhaseLabel, grid
from evaluation.domain.plan_schema import setting
from evaluation.domain.plan_words import (
    UNSHIFTED_SEGMENTERS,
    ArmRole,
    Counting,
    Crossing,
    Dedup,
    EdgePolicy,
    Factor,
    FrontierCost,
    GateKind,
    GateStatistic,
    InsufficientEvidence,
    IntervalMethod,
    LatencyState,
    MetadataFilter,
    MetricName,
    Multiplicity,
    Overflow,
    ParentKind,
    PlanPartition,
    RecoveryMoment,
    RecoveryPolicy,
    ResamplingUnit,
    Sidedness,
    Tails,
    TieRule,
    TopKUnit,
    Uncovered,
    UnitUnderTest,
    VerdictSource,
    sees_no_cut,
)

LABEL_PARTS = frozenset({"rank", "title", "citation"})
"""What a unit's label in the prompt may be made of."""

_BRACES = re.compile(r"\{[^{}]*\}|[{}]")

DecimalText = NewType("DecimalText", str)
"""A decimal number in its shortest plain notation, e.g. "0.1", "12", "-0.05"."""


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
class Budget:
    """Token ceilings of the two views, and the packing rule.

    Token counts are in `tokenizer`, a registered name or the path of a tokenizer file. `label_format` may hold
    `{rank}`, `{title}` and `{citation}`. Two units of one document whose shared part is at least
    `duplicate_threshold` of the smaller one are a duplicate pair. `merge_overlaps` joins overlapping units of one
    version into one, after identical ones were merged. A span counts as covered in the threshold variant when at least
    `coverage_threshold` of its bytes are visible.
    """

    tokenizer: str = setting(filled=True)
    evidence_tokens: tuple[int, ...] = setting(at_least=1, filled=True, most=50)
    primary_evidence_tokens: int = setting(at_least=1)
    instruction_tokens: int = setting(at_least=0)
    output_tokens: int = setting(at_least=0)
    top_k: int = setting(at_least=1)
    top_k_unit: TopKUnit = setting(default=TopKUnit.PROMPT_UNITS)
    label_format: str = setting(default="[{rank}] ")
    separator: str = setting(default="\n\n")
    overflow: Overflow = setting(default=Overflow.SKIP)
    duplicate_threshold: DecimalText = setting(default=DecimalText("0.7"), above=0, at_most=1)
    coverage_threshold: DecimalText = setting(default=DecimalText("0.8"), above=0, at_most=1)
    counting: Counting = setting(default=Counting.PARTS)
    deduplicate: Dedup = setting(default=Dedup.IDENTICAL)
    merge_overlaps: bool = setting(default=False)

    def faults(self) -> Iterator[tuple[str, str, str]]:
        """Yield (setting, what, mend) for what is wrong between settings of this table."""
        if self.primary_evidence_tokens not in self.evidence_tokens:
            yield (
                "primary_evidence_tokens",
                f"is {self.primary_evidence_tokens}, which is none of the ceilings.",
                f"Use one of {', '.join(map(str, self.evidence_tokens))}.",
            )
        known = {f"{{{name}}}" for name in LABEL_PARTS}
        # Not str.format's language: a label is filled in by plain replacement, so `{rank:>3}` would stand as it is.
        for part in _BRACES.findall(self.label_format):
            if part not in known:
                what = f"asks for the unknown part {part}." if len(part) > 1 else f"has a “{part}” outside a part."
                yield ("label_format", what, f"A label may hold {', '.join(sorted(known))} and no other braces.")
                return


@dataclass(frozen=True)
class Retrieval:
    """The frozen retriever. `candidates` is the depth of its ranked list; `stop_words` are the words themselves.

    `dimensions` belongs to "lsa"; `fuse` and `rrf_k` to "hybrid" (reciprocal rank fusion of the named retrievers);
    `endpoint`, `reindex_hook`, `timeout_ms`, `attempts` and `full_lists` to "http".
    """

    retriever: str = setting(known="retrievers")
    candidates: int = setting(at_least=1)
    k1: DecimalText = setting(default=DecimalText("1.5"), at_least=0)
    b: DecimalText = setting(default=DecimalText("0.75"), at_least=0, at_most=1)
    analyser: str = setting(default="words", known="analysers")
    stop_words: tuple[str, ...] = setting(default=(), most=10_000)
    tie_rule: TieRule = setting(default=TieRule.SCORE_SOURCE_START)
    filters: tuple[MetadataFilter, ...] = setting(default=(MetadataFilter.LABELS, MetadataFilter.DATES))
    dimensions: int = setting(default=128, at_least=2, at_most=1024)
    fuse: tuple[str, ...] = setting(default=(), known="retrievers", most=8)
    rrf_k: int = setting(default=60, at_least=1, at_most=1_000)
    endpoint: str = setting(default="")
    reindex_hook: str = setting(default="")
    timeout_ms: int = setting(default=10_000, at_least=1, at_most=600_000)
    attempts: int = setting(default=3, at_least=1, at_most=10)
    full_lists: bool = setting(default=False)


@dataclass(frozen=True)
class Reranking:
    """What orders the hits anew. `relevance` is MMR's λ: 1 keeps the retriever's order, 0 looks at novelty alone."""

    reranker: str = setting(default="none", known="rerankers")
    relevance: DecimalText = setting(default=DecimalText("0.7"), at_least=0, at_most=1)


@dataclass(frozen=True)
class Recovery:
    """How hits are widened. `reach` counts sentences or neighbouring chunks on each side.

    `parent_capacity` is the size in tokens of a "larger-chunk" parent and of an auto-merge's parents, `merge_share` the
    share of a parent's chunks that must be hits before they are merged into it.
    """

    policy: RecoveryPolicy = setting(default=RecoveryPolicy.NONE)
    moment: RecoveryMoment = setting(default=RecoveryMoment.AFTER_RERANKING)
    reach: int = setting(default=1, at_least=1, at_most=1000)
    parent: ParentKind = setting(default=ParentKind.SECTION)
    parent_capacity: int = setting(default=0, at_least=0)
    merge_share: DecimalText = setting(default=DecimalText("0.5"), above=0, at_most=1)


@dataclass(frozen=True)
class Generation:
    """The frozen generator; "none" makes a retrieval-only study. `repeats` are real runs, never cached copies."""

    generator: str = setting(known="generators")
    abstention_threshold: DecimalText = setting(default=DecimalText("0.5"), at_least=0, at_most=1)
    repeats: int = setting(default=1, at_least=1, at_most=1000)

    @property
    def answers(self) -> bool:
        """Whether anything is generated at all."""
        return self.generator != "none"


@dataclass(frozen=True)
class PhaseRule:
    """Where the first interior cut may fall.

    `grid` K stands for the labels 1/K … K/K; `labels` are exact fractions in (0, 1]; `targeted` adds first cuts around
    the annotated spans (listed apart, never in averages or minima); `every` takes every phase of an arm.
    """

    grid: int = setting(default=0, at_least=0, at_most=1000)
    labels: tuple[Fraction, ...] = setting(default=(), most=1000)
    targeted: bool = setting(default=False)
    every: bool = setting(default=False)


@dataclass(frozen=True)
class Arm:
    """One indexing configuration. `capacity` and `overlap` count `unit`s; the stride is their difference.

    `separators` belong to "recursive", `language` to sentence and code-aware segmenters ("" lets them find out).
    `splitter` is the class an adapter builds, as `package.module:Class`, and `options` its settings as a JSON object;
    `chunks` names a chunk dump and `chunks_digest` the hex SHA-256 of its bytes. `retrieval`, `reranking` and
    `recovery` replace the plan's own for this arm.
    """

    name: str = setting(name=True)
    role: ArmRole = setting()
    segmenter: str = setting(known="segmenters")
    capacity: int = setting(default=0, at_least=0)
    overlap: int = setting(default=0, at_least=0)
    tails: Tails = setting(default=Tails.KEEP)
    unit: str = setting(default="tokens", known="units")
    factor: Factor = setting(default=Factor.NONE)
    separators: tuple[str, ...] = setting(default=(), most=100)
    language: str = setting(default="")
    splitter: str = setting(default="")
    options: str = setting(default="{}")
    chunks: str = setting(default="")
    chunks_digest: str = setting(default="")
    uncovered: Uncovered = setting(default=Uncovered.REFUSE)
    retrieval: Retrieval | None = setting(default=None)
    reranking: Reranking | None = setting(default=None)
    recovery: Recovery | None = setting(default=None)

    @property
    def stride(self) -> int:
        """Distance between two cuts, in `unit`s; 0 for a segmenter without phases."""
        return 0 if self.segmenter in UNSHIFTED_SEGMENTERS else self.capacity - self.overlap

    def faults(self) -> Iterator[tuple[str, str, str]]:
        """Yield (setting, what, mend) for what is wrong between settings of this arm."""
        shifted = self.segmenter not in UNSHIFTED_SEGMENTERS
        if shifted and self.capacity < 1:
            yield ("capacity", f"is {self.capacity}.", "Say how many units a chunk holds: at least 1.")
        elif shifted and self.overlap >= self.capacity:
            yield (
                "overlap",
                f"is {self.overlap}, not below the capacity {self.capacity}: the cuts would never advance.",
                f"Use an overlap from 0 to {self.capacity - 1}.",
            )
        if self.role is ArmRole.BASELINE and self.factor is not Factor.NONE:
            yield ("factor", "is set on the baseline, which changes nothing.", 'Write "none" or drop it.')


@dataclass(frozen=True)
class StatisticsRule:
    """How uncertainty is estimated. `confidence` is read as `sidedness` says."""

    seed: int = setting(at_least=0, at_most=2**63 - 1)
    interval: IntervalMethod = setting(default=IntervalMethod.STUDENTISED)
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

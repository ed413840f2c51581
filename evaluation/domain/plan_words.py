"""The closed word lists of a plan, and how it writes decimals. The values stand in locked plans and in the ledger."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import NewType

DecimalText = NewType("DecimalText", str)
"""A decimal number in its shortest plain notation, e.g. "0.1", "12", "-0.05"."""


class UnitUnderTest(StrEnum):
    """What the study may blame or praise: the splitter alone, or the whole indexing policy around it."""

    SPLITTER = "splitter"
    INDEXING_POLICY = "indexing-policy"


class PlanPartition(StrEnum):
    """Which frozen questions a sweep reads."""

    DEVELOPMENT = "development"
    HELD_OUT = "held-out"
    ALL = "all"


class TopKUnit(StrEnum):
    """What the k of the secondary view counts."""

    RAW_CANDIDATES = "raw-candidates"
    RERANKED_CHILDREN = "reranked-children"
    UNIQUE_PARENTS = "unique-parents"
    PROMPT_UNITS = "prompt-units"


class Overflow(StrEnum):
    """What the packer does with a unit that does not fit under the ceiling."""

    SKIP = "skip"
    TRUNCATE = "truncate"
    STOP = "stop"


class TieRule(StrEnum):
    """The total order of hits; the only one that makes ranks repeatable without an index's internals."""

    SCORE_SOURCE_START = "score-source-start"


class EdgePolicy(StrEnum):
    """What becomes of the shorter chunks at a source's edges; dropping them would lose source text."""

    KEEP_SHORTER = "keep-shorter"


class ArmRole(StrEnum):
    """A plan compares candidates with exactly one baseline."""

    BASELINE = "baseline"
    CANDIDATE = "candidate"


class Tails(StrEnum):
    """Whether last chunks wholly inside the one before are kept."""

    KEEP = "keep"
    DROP = "drop"


class Factor(StrEnum):
    """The one thing an arm changes against the baseline; several are COMBINED."""

    NONE = "none"
    CAPACITY = "capacity"
    OVERLAP = "overlap"
    TAILS = "tails"
    UNIT = "unit"
    SEGMENTER = "segmenter"
    RETRIEVAL = "retrieval"
    RERANKING = "reranking"
    RECOVERY = "recovery"
    COMBINED = "combined"


#: Segmenters without a shift of their own: one observation however often it is shown.
UNSHIFTED_SEGMENTERS = frozenset({"langchain", "llama-index", "chonkie", "chunk-dump"})


#: The retriever that asks a system we do not own.
FOREIGN_RETRIEVER = "http"
#: The retriever that fuses the lists of others.
FUSING_RETRIEVER = "hybrid"


def sees_no_cut(retriever: str, fuse: Collection[str], reindex_hook: str) -> bool:
    """Whether a system we do not own, asked alone or as one of the fused, keeps its own index: no shift of ours reaches
    it, so that what it finds is one observation at every phase."""
    asked = fuse if retriever == FUSING_RETRIEVER else (retriever,)
    return FOREIGN_RETRIEVER in asked and not reindex_hook


class MetadataFilter(StrEnum):
    """What retrieval filters by before ranking; checked again on everything an expansion brings."""

    LABELS = "labels"
    DATES = "dates"
    LOCALE = "locale"


class RecoveryPolicy(StrEnum):
    """How hits are widened after retrieval."""

    NONE = "none"
    SENTENCE_WINDOW = "sentence-window"
    NEIGHBOURS = "neighbours"
    PARENT = "parent"
    AUTO_MERGE = "auto-merge"


class RecoveryMoment(StrEnum):
    """Whether hits are widened before or after reranking."""

    BEFORE_RERANKING = "before-reranking"
    AFTER_RERANKING = "after-reranking"


class ParentKind(StrEnum):
    """What a parent is: the heading's section, the larger window that holds the hit, or the whole document."""

    SECTION = "section"
    LARGER_CHUNK = "larger-chunk"
    DOCUMENT = "document"


class Dedup(StrEnum):
    """What packing does with identical intervals. A treatment, never silent: the raw list is recorded first."""

    IDENTICAL = "identical"
    NONE = "none"


class Counting(StrEnum):
    """How packed evidence is counted: the sum of its parts (label, source tokens, separator) or rendered and whole."""

    PARTS = "parts"
    WHOLE = "whole"


class Uncovered(StrEnum):
    """What bytes in no chunk of a foreign splitter or dump mean; white space alone is always only reported."""

    REFUSE = "refuse"
    REPORT = "report"


class MetricName(StrEnum):
    """The rows of the metric table (design, section 9)."""

    COMPLETE_SUPPORT = "complete-support"
    SINGLE_UNIT_SUPPORT = "single-unit-support"
    CONDITION_ERROR = "critical-condition-error"
    CONDITION_USE = "condition-use-given-support"
    CORRECTNESS = "answer-correctness"
    ANSWER_COVERAGE = "answer-coverage"
    ABSTENTION_RIGHT = "abstention-right"
    ABSTENTION_WRONG = "abstention-wrong"
    FALSE_ASSERTION = "false-assertion"
    CITATION_RESOLUTION = "citation-resolution"
    ATTRIBUTION = "attribution"
    REVERSAL = "answer-reversal"


class IntervalMethod(StrEnum):
    """Bootstrap interval for means and differences of means; what each covers is measured in bench/coverage.md."""

    STUDENTISED_SCORE = "studentised-score"
    STUDENTISED = "studentised"
    PERCENTILE = "percentile"
    BASIC = "basic"
    BCA = "bca"

    @property
    def studentises(self) -> bool:
        """Whether replicates are divided by their own standard errors."""
        return self in {IntervalMethod.STUDENTISED_SCORE, IntervalMethod.STUDENTISED}


class Sidedness(StrEnum):
    """Whether `confidence` belongs to each bound (one-sided) or to the interval between the two (two-sided)."""

    ONE_SIDED = "one-sided"
    TWO_SIDED = "two-sided"


class ResamplingUnit(StrEnum):
    """What is drawn again: whole connected components of shared documents."""

    CLUSTER = "cluster"


class Multiplicity(StrEnum):
    """Correction where one candidate is chosen among several; gates that must all hold need none."""

    NONE = "none"
    BONFERRONI = "bonferroni"


class GateKind(StrEnum):
    """What a gate reads."""

    SUPPORT_LOSS = "support-loss"
    CONDITION_ERROR_INCREASE = "condition-error-increase"
    FALSE_ASSERTION_INCREASE = "false-assertion-increase"
    ATTRIBUTION = "attribution"


class GateStatistic(StrEnum):
    """MEAN reads one interval over the phase average; WORST_PHASE demands the bound in every shared phase."""

    MEAN = "mean"
    WORST_PHASE = "worst-phase"


class VerdictSource(StrEnum):
    """Who said what an answer is worth; one per gate, never mixed."""

    RUBRIC = "rubric"
    JUDGE = "judge"
    PEOPLE = "people"


class Crossing(StrEnum):
    """How a gate reads an interval that holds its tolerance inside."""

    COLLECT_MORE = "collect-more"
    REJECT = "reject"


class InsufficientEvidence(StrEnum):
    """What too few questions, too few clusters or no interval at all mean. Never a pass."""

    COLLECT_MORE = "collect-more"
    REJECT = "reject"


class FrontierCost(StrEnum):
    """What an arm pays for its support, and what the cheapest arm above a floor is cheapest in."""

    EVIDENCE_TOKENS = "evidence-tokens"
    DUPLICATION = "duplication"
    INDEX_TOKENS = "index-tokens"
    LATENCY = "latency"


class LatencyState(StrEnum):
    """Cold and warm latencies are different numbers."""

    COLD = "cold"
    WARM = "warm"

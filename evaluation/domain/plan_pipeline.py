# ruff: noqa: RUF009 - `setting` is dataclasses.field with rules; it makes no shared value
"""What a plan says is run: budgets, retrieval and what follows it, generation, phases, and the arms under test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from evaluation.domain.plan_schema import setting
from evaluation.domain.plan_words import (
    UNSHIFTED_SEGMENTERS,
    ArmRole,
    Counting,
    DecimalText,
    Dedup,
    Factor,
    MetadataFilter,
    Overflow,
    ParentKind,
    RecoveryMoment,
    RecoveryPolicy,
    Tails,
    TieRule,
    TopKUnit,
    Uncovered,
)

LABEL_PARTS = frozenset({"rank", "title", "citation"})
"""What a unit's label in the prompt may be made of."""

_BRACES = re.compile(r"\{[^{}]*\}|[{}]")


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

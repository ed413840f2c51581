"""What goes into a cell and what comes out: settings, prepared corpus, index build, block result.

An index build is (arm, phase); a cell runs one block of questions through it. The stages a plan can exchange are the
protocols of `stage_protocols`; a generator answers from packed evidence only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evaluation.domain.chunks import CorpusChunks, Segmenter
from evaluation.domain.frozen import Document, Interval
from evaluation.domain.outcomes import STAGES, QuestionOutcome, Stage
from evaluation.domain.plan_pipeline import Budget, Retrieval
from evaluation.domain.plan_words import RecoveryMoment
from evaluation.domain.stage_protocols import Expansion, Reranker, Retriever
from evaluation.domain.tokens import TokenizedText, Tokenizer

if TYPE_CHECKING:
    from evaluation.domain.analysis import Analyser, PositionalTable
    from evaluation.domain.bm25 import ChunkWords
    from evaluation.domain.generation import Generator
    from evaluation.domain.outcome_payload import OutcomeColumns

#: A canonical-ready value: strings, integers, lists and dicts of them; never a float, never None.
type Payload = dict[str, Any]


@dataclass(frozen=True)
class ArmSettings:
    """One arm: a named segmenter. `factor` says what it changes against the baseline (words of the plan)."""

    name: str
    segmenter: Segmenter


@dataclass(frozen=True)
class PipelineSettings:
    """Everything after the index that a plan fixes. `instructions` opens every prompt.

    `record_depth` is how many ranks of the raw list a retrieval record keeps: with 8, the records of a study of two
    arms stay below 2 kB per question and arm over 16 phases; what stands deeper can be computed again.
    """

    budget: Budget
    retrieval: Retrieval
    abstention_threshold: str = "0.5"
    instructions: str = (
        "Answer the question from the numbered evidence only. Cite every statement as [n]. "
        "If the evidence does not settle the question, say that it does not."
    )
    record_depth: int = 8

    @property
    def views(self) -> tuple[str, ...]:
        """Names of the views, in the order of the plan: `budget:N` per ceiling, then `top-k:K`."""
        return (*(f"budget:{n}" for n in self.budget.evidence_tokens), f"top-k:{self.budget.top_k}")


@dataclass(frozen=True)
class PreparedCorpus:
    """Documents in corpus order (document id, then digest), tokenised and analysed once for every arm and phase."""

    documents: tuple[Document, ...]
    digest: str
    tokenizer: Tokenizer
    tokenized: tuple[TokenizedText, ...]
    analyser: Analyser
    words: PositionalTable
    by_version: Mapping[str, int] = field(repr=False)

    @property
    def source_tokens(self) -> int:
        """Tokens of all documents, in the plan's tokenizer."""
        return sum(text.n for text in self.tokenized)


@dataclass(frozen=True)
class IndexBuild:
    """One (arm, phase): cuts, chunks, their word statistics, and the manifest (canonical-ready).

    `documents` are the corpus' own, in its order; the cuts and chunks are written by `boundary.boundary_documents`.
    """

    arm: ArmSettings
    phase: int | None
    chunks: CorpusChunks
    words: ChunkWords
    manifest: Payload
    digest: str
    documents: tuple[Document, ...] = field(repr=False)


@dataclass(frozen=True)
class Unit:
    """A piece of evidence on its way to the prompt: an interval with the hits it came from.

    `lineage` lists the chunk indices that led to it, best first; `rank` is the 1-based rank of the best of them;
    `token_start`, `token_end` are source-token indices of the interval.
    """

    document: int
    start: int
    end: int
    token_start: int
    token_end: int
    rank: int
    lineage: tuple[int, ...]


def stage_order(moment: RecoveryMoment, *, expands: bool) -> tuple[Stage, ...]:
    """Return the stages in the order a pipeline runs them: what is widened before reranking is checked before it."""
    if not expands or moment is RecoveryMoment.AFTER_RERANKING:
        return STAGES
    early = (Stage.CHUNKED, Stage.CANDIDATES, Stage.EXPANDED, Stage.AUTHORISED, Stage.RERANKED)
    return (*early, Stage.DEDUPLICATED, Stage.PACKED)


@dataclass(frozen=True)
class Policies:
    """The replaceable steps of a pipeline; None is the identity, recorded as "none"."""

    retriever: Retriever
    reranker: Reranker | None = None
    expansion: Expansion | None = None
    moment: RecoveryMoment = RecoveryMoment.AFTER_RERANKING
    generator: Generator | None = None

    @property
    def order(self) -> tuple[Stage, ...]:
        """The stages in the order this pipeline runs them."""
        return stage_order(self.moment, expands=self.expansion is not None)


@dataclass(frozen=True)
class PackedEvidence:
    """What the model is shown in one view: units in order, the rendered context and its size.

    `tokens` is its size as the plan counts it (the sum of its parts, or the rendered context in one piece); `refused`
    lists (rank, reason) of what stayed out; `spans` are the byte ranges each unit's text takes inside `context`.
    """

    units: tuple[Unit, ...]
    context: bytes
    tokens: int
    spans: tuple[tuple[int, int], ...]
    refused: tuple[tuple[int, str], ...]
    unique_tokens: int
    repeated_tokens: int
    duplicate_pairs: int
    compared_pairs: int


@dataclass(frozen=True)
class BlockResult:
    """Outcomes of a block in columns and the payloads of its ledger records, (kind, payload) in a fixed order.

    `evidence` gives the packed evidence per view and question, rendered when somebody asks for it.
    """

    columns: OutcomeColumns
    payloads: tuple[tuple[str, Payload], ...]
    evidence: Mapping[str, Sequence[PackedEvidence]] = field(repr=False)

    @property
    def outcomes(self) -> Mapping[str, tuple[QuestionOutcome, ...]]:
        """Outcomes per view, one object per question."""
        return {view: self.columns.outcomes(view) for view in self.columns.views}


def intervals(units: Sequence[Unit], documents: Sequence[Document]) -> tuple[Interval, ...]:
    """The units as byte intervals of named versions."""
    return tuple(Interval(documents[unit.document].digest, unit.start, unit.end) for unit in units)

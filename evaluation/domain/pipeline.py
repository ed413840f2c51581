"""What goes into a cell and what comes out: settings, prepared corpus, index build, block result.

These are the stage interfaces. An index build is (arm, phase); a cell runs one block of questions through it.
Rerankers and expansions find their place between retrieval and authorisation (`Pipeline.reranker`,
`Pipeline.expansion`); a generator answers from packed evidence only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from evaluation.domain.chunks import CorpusChunks, Segmenter
from evaluation.domain.frozen import Document, FrozenQuestion, Interval
from evaluation.domain.outcomes import QuestionOutcome
from evaluation.domain.plan import Budget, Retrieval
from evaluation.domain.tokens import IntArray, TokenizedText, Tokenizer

if TYPE_CHECKING:
    from evaluation.domain.analysis import Analyser, PositionalTable
    from evaluation.domain.bm25 import ChunkWords
    from evaluation.domain.generation import Generator

#: A canonical-ready value: strings, integers, lists and dicts of them; never a float, never None.
type Payload = dict[str, Any]


@dataclass(frozen=True)
class ArmSettings:
    """One arm: a named segmenter. `factor` says what it changes against the baseline (words of the plan)."""

    name: str
    segmenter: Segmenter


@dataclass(frozen=True)
class PipelineSettings:
    """Everything after the index that a plan fixes, equal for all arms.

    `instructions` opens every prompt; `filter_labels` and `filter_dates` are the metadata filters of retrieval
    (switched off only to show that the checks behind them count what gets through). `record_depth` is how many ranks
    of the raw list a retrieval record keeps.
    """

    budget: Budget
    retrieval: Retrieval
    abstention_threshold: str = "0.5"
    instructions: str = (
        "Answer the question from the numbered evidence only. Cite every statement as [n]. "
        "If the evidence does not settle the question, say that it does not."
    )
    filter_labels: bool = True
    filter_dates: bool = True
    record_depth: int = 20

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
    """One (arm, phase): cuts, chunks, their word statistics, and the manifest (canonical-ready)."""

    arm: ArmSettings
    phase: int | None
    chunks: CorpusChunks
    words: ChunkWords
    manifest: Payload
    digest: str


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


class Reranker(Protocol):
    """Orders hits anew; returns positions into `hits`, each at most once."""

    def rerank(self, question: FrozenQuestion, hits: Sequence[Unit], prepared: PreparedCorpus) -> Sequence[int]:
        """Positions of `hits` in their new order."""


class Expansion(Protocol):
    """Replaces hits by wider units. Labels and versions of what it returns are checked again by the engine."""

    def expand(self, question: FrozenQuestion, hits: Sequence[Unit], build: IndexBuild) -> Sequence[Unit]:
        """Units in rank order, with the lineage of each."""


@dataclass(frozen=True)
class Policies:
    """The replaceable steps of a pipeline; None is the identity, recorded as "none"."""

    reranker: Reranker | None = None
    expansion: Expansion | None = None
    generator: Generator | None = None


@dataclass(frozen=True)
class PackedEvidence:
    """What the model is shown in one view: units in order, the rendered context and its size.

    `tokens` counts the whole rendered context again, in one piece; `refused` lists (rank, reason) of what stayed out;
    `spans` are the byte ranges each unit's text takes inside `context`.
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
    """Outcomes per view (in the order of the questions) and the payloads of this block's ledger records.

    `payloads` are (kind, payload) in a fixed order; `evidence` the packed evidence per view and question, for pages.
    """

    outcomes: Mapping[str, tuple[QuestionOutcome, ...]]
    payloads: tuple[tuple[str, Payload], ...]
    evidence: Mapping[str, tuple[PackedEvidence, ...]] = field(repr=False)


def intervals(units: Sequence[Unit], documents: Sequence[Document]) -> tuple[Interval, ...]:
    """The units as byte intervals of named versions."""
    return tuple(Interval(documents[unit.document].digest, unit.start, unit.end) for unit in units)


def spans_of(starts: IntArray, ends: IntArray) -> list[list[int]]:
    """Two arrays as `[[start, end], …]` for a payload."""
    return [list(pair) for pair in zip(starts.tolist(), ends.tolist(), strict=True)]

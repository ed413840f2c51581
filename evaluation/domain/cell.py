"""One cell as a pure function: a block of questions through one index build, every stage kept as arrays.

`prepare_corpus` and `build_index` (re-exported here) come first and are worth caching per corpus and per (arm, phase),
as is the retriever's index of a build. What `run_block` returns depends only on its arguments: not on the block's other
questions, on workers, order or time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluation.domain import payloads
from evaluation.domain.answers import Answered, answers
from evaluation.domain.bm25 import Bm25
from evaluation.domain.evidence import LazyEvidence
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.hits import Hits, Ranked, StageError, arranged, candidates_of, first
from evaluation.domain.index_build import build_index, preflight, prepare_corpus
from evaluation.domain.measure import Counted, Meter, view_columns
from evaluation.domain.outcome_payload import OutcomeColumns, ViewColumns
from evaluation.domain.outcomes import Stage
from evaluation.domain.packed import Packed
from evaluation.domain.packing import Packer, Ready
from evaluation.domain.pipeline import BlockResult, IndexBuild, Payload, PipelineSettings, Policies, PreparedCorpus
from evaluation.domain.plan_words import Dedup, RecoveryMoment, TopKUnit
from evaluation.domain.retrieval.lexical import Bm25Retriever
from evaluation.domain.stage_protocols import RetrievalIndex
from evaluation.domain.tokens import IntArray
from evaluation.domain.treatments import authorise, checked_expansion, deduplicated, first_different, overlaps_merged

__all__ = ["build_index", "plain_bm25", "preflight", "prepare_corpus", "run_block"]


@dataclass(frozen=True)
class Staged:
    """The lists of a block from the candidates to the one that is packed, by stage, in the order they ran.

    `refused` counts units the second check of labels or version denied, `fallbacks` those a readable hit replaced.
    """

    lists: Mapping[Stage, Hits]
    chain: tuple[Hits, ...]
    refused: IntArray
    fallbacks: IntArray

    @property
    def last(self) -> Hits:
        """What the packer is given."""
        return self.chain[-1]


@dataclass(frozen=True)
class View:
    """One view of a block: its lists, what was packed of them, and what came of it."""

    name: str
    staged: Staged
    packed: Packed
    evidence: LazyEvidence
    answered: tuple[Answered, ...] | None
    columns: ViewColumns


def plain_bm25(settings: PipelineSettings) -> Policies:
    """The lexical pipeline of the settings' parameters: BM25 and nothing after it."""
    return Policies(Bm25Retriever(Bm25(float(settings.retrieval.k1), float(settings.retrieval.b))))


def run_block(
    prepared: PreparedCorpus,
    build: IndexBuild,
    questions: Sequence[FrozenQuestion],
    settings: PipelineSettings,
    policies: Policies | None = None,
    packer: Packer | None = None,
    index: RetrievalIndex | None = None,
) -> BlockResult:
    """Retrieve, recover, authorise, pack and answer each question; outcomes per view and the block's records.

    `policies` defaults to `plain_bm25`. `packer` may be shared between cells of one corpus and budget, `index` (the
    retriever's index of `build`) between blocks; they change no result. Raises `SupportError` for a question whose
    support is not in the corpus and `StageError` for a stage that breaks its protocol.
    """
    steps = policies or plain_bm25(settings)
    packer = packer or Packer(prepared, settings.budget)
    ready = packer.ready(questions, settings)
    block, retrieval = ready.block, settings.retrieval
    queries = block.queries(prepared, build.chunks, retrieval.filters)
    ranked = (index or steps.retriever.index(prepared, build)).search(queries, retrieval.candidates)
    _check(ranked, len(block))
    candidates = candidates_of(ranked, build.chunks)
    run = _Run(prepared, build, settings, steps, packer, ready, ranked, candidates, Meter(block))
    whole = run.stages()
    views = [run.view(name, whole) for name in settings.views]
    rows: list[tuple[str, Payload]] = [
        ("retrieval", payloads.retrieval_payload(build, settings, steps, ready, ranked, whole)),
        ("budget", payloads.budget_payload(build, settings, views)),
    ]
    if steps.generator is not None:
        for view in views:
            rows.append(("answer", payloads.answer_payload(prepared, build, steps.generator, view, block.question_ids)))
            rows.append(("citation", payloads.citation_payload(prepared, build, view, block.question_ids)))
    return BlockResult(
        OutcomeColumns(block.question_ids, {view.name: view.columns for view in views}),
        tuple(rows),
        {view.name: view.evidence for view in views},
    )


def _check(ranked: Ranked, size: int) -> None:
    columns = (ranked.count, ranked.candidates, ranked.denied, ranked.outdated, ranked.foreign)
    if any(column.shape != (size,) for column in columns) or len(ranked.failed) != size:
        raise StageError("the retriever did not answer every question of the block")
    if ranked.chunk.shape != ranked.score.shape or ranked.chunk.shape[0] != size:
        raise StageError("the retriever's chunks and scores do not belong together")
    if any(problem and count for problem, count in zip(ranked.failed, ranked.count.tolist(), strict=True)):
        raise StageError("the retriever returned hits for a question it says it failed")


@dataclass(frozen=True)
class _Run:
    """What all stages of one block share."""

    prepared: PreparedCorpus
    build: IndexBuild
    settings: PipelineSettings
    steps: Policies
    packer: Packer
    ready: Ready
    ranked: Ranked
    candidates: Hits
    meter: Meter

    def stages(self, k: int | None = None, unit: TopKUnit | None = None) -> Staged:
        """Rerank, expand, check again and merge; a step the pipeline does not have passes the same list on.

        With `k` the list is cut where `unit` says; the candidates stay whole, so the rank of completion does too.
        """
        chain = [self.candidates]
        nothing = np.zeros(len(self.ready.block), dtype=np.int64)
        lists = {Stage.CANDIDATES: self.candidates}
        refused = fallbacks = nothing

        def cut(here: TopKUnit) -> None:
            if k is not None and unit is here:
                chain.append(first(chain[-1], k))

        def widen_and_check() -> None:
            nonlocal refused, fallbacks
            before = chain[-1]
            chain.append(self._expanded(before))
            lists[Stage.EXPANDED] = chain[-1]
            found = authorise(self.ready.block, self.build.chunks, before, chain[-1])
            refused, fallbacks = found.refused, found.fallbacks
            chain.append(found.hits)
            lists[Stage.AUTHORISED] = found.hits

        def rerank() -> None:
            chain.append(self._reranked(chain[-1]))
            lists[Stage.RERANKED] = chain[-1]
            cut(TopKUnit.RERANKED_CHILDREN)

        cut(TopKUnit.RAW_CANDIDATES)
        early = self.steps.moment is RecoveryMoment.BEFORE_RERANKING and self.steps.expansion is not None
        for step in (widen_and_check, rerank) if early else (rerank, widen_and_check):
            step()
        base = self.ready.block.base
        if k is not None and unit is TopKUnit.UNIQUE_PARENTS:
            chain.append(first_different(chain[-1], k, base))
        # Chunks that all begin elsewhere are never identical, unless something widened them.
        if self.settings.budget.deduplicate is Dedup.IDENTICAL and (self.steps.expansion or not self._distinct):
            chain.append(deduplicated(chain[-1], base))
        if self.settings.budget.merge_overlaps:
            chain.append(overlaps_merged(chain[-1], base))
        lists[Stage.DEDUPLICATED] = chain[-1]
        return Staged(lists, tuple(chain), refused, fallbacks)

    @cached_property
    def _distinct(self) -> bool:
        return bool(np.all(np.diff(self.build.chunks.global_start) > 0))

    def _reranked(self, hits: Hits) -> Hits:
        if self.steps.reranker is None:
            return hits
        texts = [one.question.text for one in self.ready.block.asked]
        columns = self.steps.reranker.rerank(texts, hits, self.ranked.score, self.prepared, self.build)
        return arranged(hits, columns, "reranking")

    def _expanded(self, hits: Hits) -> Hits:
        if self.steps.expansion is None:
            return hits
        sizes = np.array([len(doc.content) for doc in self.prepared.documents], dtype=np.int64)
        return checked_expansion(hits, self.steps.expansion.expand(hits, self.prepared, self.build), sizes)

    def view(self, name: str, whole: Staged) -> View:
        """Pack, answer and measure one view."""
        budget, staged = self.settings.budget, whole
        feasible = np.ones(len(self.ready.block), dtype=np.bool_)
        if name.startswith("budget:"):
            ceiling = int(name.removeprefix("budget:"))
            packed = self.packer.under_ceiling(staged.last, ceiling)
            feasible = self.ready.feasible(ceiling)
        elif budget.top_k_unit is TopKUnit.PROMPT_UNITS:
            packed = self.packer.first_units(staged.last, budget.top_k)
        else:
            staged = self.stages(budget.top_k, budget.top_k_unit)
            packed = self.packer.first_units(staged.last, staged.last.document.shape[1])
        evidence = LazyEvidence(self.packer, staged.chain, packed)
        answered = None
        if self.steps.generator is not None:
            answered = answers(
                self.prepared,
                self.steps.generator,
                self.ready.block.asked,
                self.ready.heads,
                evidence,
                self.ranked.failed,
            )
        counted = Counted(
            self.ranked.denied + staged.refused,
            staged.fallbacks,
            self.ranked.outdated,
            self.ranked.foreign,
            np.where(self.ranked.count > 0, self.ranked.score[:, 0], 0)
            if self.ranked.score.shape[1]
            else np.zeros(len(self.ready.block), dtype=np.int64),
        )
        columns = view_columns(
            self.meter,
            self.build,
            staged.lists,
            self.steps.order,
            packed,
            budget,
            self.packer.token_base,
            self.ready.head_tokens,
            feasible,
            counted,
            self.ranked.failed,
            answered,
            self.packer.structure,
        )
        return View(name, staged, packed, evidence, answered, columns)

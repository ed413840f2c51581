"""One cell as a pure function: a block of questions through one index build, every stage kept.

`prepare_corpus` and `build_index` (re-exported here) come first and are worth caching per corpus and per (arm,
phase). What `run_block` returns depends only on its arguments: not on the block's other questions, on workers, order
or time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.bm25 import Bm25, Ranking, query_terms, rank, score
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.index_build import build_index, preflight, prepare_corpus
from evaluation.domain.measure import (
    Answered,
    Asked,
    Meter,
    Readers,
    Support,
    answer,
    outcome,
    prompt_head,
    smallest_set,
)
from evaluation.domain.outcomes import QuestionOutcome, Stage
from evaluation.domain.packing import Packer, deduplicate
from evaluation.domain.payloads import answer_payload, budget_payload, citation_payload, retrieval_payload
from evaluation.domain.pipeline import (
    BlockResult,
    IndexBuild,
    PackedEvidence,
    Payload,
    PipelineSettings,
    Policies,
    PreparedCorpus,
    Unit,
)
from evaluation.domain.plan_words import TopKUnit
from evaluation.domain.tokens import IntArray

__all__ = ["build_index", "preflight", "prepare_corpus", "run_block"]


@dataclass(frozen=True)
class Retrieved:
    """Stages up to packing of one question. `rechecked` counts units the second check of labels or version refused."""

    ranking: Ranking
    candidates: tuple[Unit, ...]
    reranked: tuple[Unit, ...]
    expanded: tuple[Unit, ...]
    authorised: tuple[Unit, ...]
    deduplicated: tuple[Unit, ...]
    rechecked: int


@dataclass(frozen=True)
class ViewResult:
    """One view of a block, question by question."""

    name: str
    stages: tuple[Retrieved, ...]
    packed: tuple[PackedEvidence, ...]
    supports: tuple[Support, ...]
    answers: tuple[Answered | None, ...]
    prompts: tuple[bytes, ...]
    prompt_tokens: tuple[int, ...]
    feasible: tuple[bool, ...]
    outcomes: tuple[QuestionOutcome, ...]


def run_block(
    prepared: PreparedCorpus,
    build: IndexBuild,
    questions: Sequence[FrozenQuestion],
    settings: PipelineSettings,
    policies: Policies | None = None,
    packer: Packer | None = None,
) -> BlockResult:
    """Retrieve, recover, authorise, pack and answer each question; outcomes per view and the block's records.

    `packer` may be shared between cells of one corpus and budget to reuse its token counts; it changes no result.
    Raises `SupportError` for a question whose support is not in the corpus.
    """
    steps = policies or Policies()
    packer = packer or Packer(prepared, settings.budget)
    readers = Readers(prepared)
    asked = [readers.asked(question) for question in questions]
    rankings = _rankings(prepared, build, asked, settings)
    raw = [_units(build, ranking) for ranking in rankings]
    meters = [Meter(one) for one in asked]
    smallest = [smallest_set(packer, one) for one in asked]
    whole = [_stages(prepared, build, steps, *row) for row in zip(asked, rankings, raw, strict=True)]

    outcomes: dict[str, tuple[QuestionOutcome, ...]] = {}
    evidence: dict[str, tuple[PackedEvidence, ...]] = {}
    payloads: list[tuple[str, Payload]] = [
        ("retrieval", retrieval_payload(build, settings, steps, [one.question for one in asked], whole))
    ]
    budget = settings.budget
    for name in settings.views:
        stages = whole
        if name.startswith("budget:"):
            ceiling = int(name.removeprefix("budget:"))
            packed = packer.under_ceiling([one.deduplicated for one in stages], ceiling)
            feasible = [index < 0 or size <= ceiling for _, size, index in smallest]
        else:
            if budget.top_k_unit in (TopKUnit.RAW_CANDIDATES, TopKUnit.RERANKED_CHILDREN):
                stages = [
                    _stages(prepared, build, steps, *row, limit=budget.top_k, limit_unit=budget.top_k_unit)
                    for row in zip(asked, rankings, raw, strict=True)
                ]
                packed = packer.first_units([one.deduplicated for one in stages], settings.retrieval.candidates)
            else:
                packed = packer.first_units([one.deduplicated for one in stages], budget.top_k)
            feasible = [True] * len(asked)
        view = view_result(name, packer, build, settings, steps, asked, meters, stages, packed, feasible)
        outcomes[name] = view.outcomes
        evidence[name] = view.packed
        ids = [one.question.question_id for one in asked]
        payloads.append(("budget", budget_payload(build, settings, view, ids)))
        if steps.generator is not None:
            payloads.append(("answer", answer_payload(prepared, build, steps.generator, view, ids)))
            payloads.append(("citation", citation_payload(prepared, build, view, ids)))
    return BlockResult(outcomes, tuple(payloads), evidence)


def _rankings(
    prepared: PreparedCorpus, build: IndexBuild, asked: Sequence[Asked], settings: PipelineSettings
) -> list[Ranking]:
    """Score every chunk on the shared index, then filter by the reader's labels and date, then rank."""
    retrieval = settings.retrieval
    model = Bm25(float(retrieval.k1), float(retrieval.b))
    queries = query_terms([one.question.text for one in asked], prepared.analyser, prepared.words)
    masks: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    found: list[Ranking] = []
    for one, (chunks, scores) in zip(asked, score(model, prepared.words, build.words, queries), strict=True):
        rights = one.access
        if id(rights) not in masks:
            masks[id(rights)] = (rights.readable_chunks(build.chunks), rights.current_chunks(build.chunks))
        readable, current = (mask[chunks] for mask in masks[id(rights)])
        allowed = np.ones(chunks.size, dtype=np.bool_)
        if settings.filter_labels:
            allowed &= readable
        if settings.filter_dates:
            allowed &= current
        ranked, values = rank(chunks[allowed], scores[allowed], retrieval.candidates)
        before = ~allowed & _ahead(chunks, scores, ranked, values, retrieval.candidates)
        denied = int(np.count_nonzero(before & ~readable))
        found.append(
            Ranking(ranked, values, int(np.count_nonzero(allowed)), denied, int(np.count_nonzero(before)) - denied)
        )
    return found


def _ahead(chunks: IntArray, scores: IntArray, ranked: IntArray, values: IntArray, depth: int) -> np.ndarray:
    """Which scored chunks would stand before the last ranked one; all of them when the list is not full."""
    if ranked.size < depth:
        return np.ones(chunks.size, dtype=np.bool_)
    last, bar = ranked[-1], values[-1]
    ahead: np.ndarray = (scores > bar) | ((scores == bar) & (chunks < last))
    return ahead


def _units(build: IndexBuild, ranking: Ranking) -> tuple[Unit, ...]:
    chunks = build.chunks
    at = ranking.chunks
    columns = zip(
        chunks.document[at].tolist(),
        chunks.start[at].tolist(),
        chunks.end[at].tolist(),
        chunks.token_start[at].tolist(),
        chunks.token_end[at].tolist(),
        at.tolist(),
        strict=True,
    )
    return tuple(
        Unit(document, start, end, first, last, position, (chunk,))
        for position, (document, start, end, first, last, chunk) in enumerate(columns, 1)
    )


def _stages(
    prepared: PreparedCorpus,
    build: IndexBuild,
    steps: Policies,
    asked: Asked,
    ranking: Ranking,
    hits: tuple[Unit, ...],
    limit: int | None = None,
    limit_unit: TopKUnit | None = None,
) -> Retrieved:
    """Rerank, expand, check again, deduplicate; a step the pipeline does not have passes the same tuple on."""
    if limit_unit is TopKUnit.RAW_CANDIDATES:
        hits = hits[:limit]
    reranked = hits
    if steps.reranker is not None:
        reranked = tuple(hits[i] for i in steps.reranker.rerank(asked.question, hits, prepared))
    if limit_unit is TopKUnit.RERANKED_CHILDREN:
        reranked = reranked[:limit]
    expanded = reranked
    if steps.expansion is not None:
        expanded = tuple(steps.expansion.expand(asked.question, reranked, build))
    rights = asked.access
    authorised = expanded
    allowed = [bool(rights.current[u.document]) and rights.readable(u.document, u.start, u.end) for u in expanded]
    if not all(allowed):
        authorised = tuple(unit for unit, ok in zip(expanded, allowed, strict=True) if ok)
    deduplicated = deduplicate(authorised)
    if len(deduplicated) == len(authorised):
        deduplicated = authorised
    return Retrieved(
        ranking, hits, reranked, expanded, authorised, deduplicated, rechecked=len(expanded) - len(authorised)
    )


def view_result(
    name: str,
    packer: Packer,
    build: IndexBuild | None,
    settings: PipelineSettings,
    steps: Policies,
    asked: Sequence[Asked],
    meters: Sequence[Meter],
    stages: Sequence[Retrieved],
    packed: Sequence[PackedEvidence],
    feasible: Sequence[bool],
) -> ViewResult:
    """Measure, answer and judge what was packed for each question; `build` is None for an oracle."""
    heads = [prompt_head(settings, one.question) for one in asked]
    prompts = tuple(head + evidence.context for head, evidence in zip(heads, packed, strict=True))
    prompt_tokens = tuple(packer.head(head) + evidence.tokens for head, evidence in zip(heads, packed, strict=True))
    supports: list[Support] = []
    answers: list[Answered | None] = []
    outcomes: list[QuestionOutcome] = []
    for i, one in enumerate(asked):
        kept = stages[i]
        support = meters[i].support(
            build,
            {
                Stage.CANDIDATES: kept.candidates,
                Stage.RERANKED: kept.reranked,
                Stage.EXPANDED: kept.expanded,
                Stage.AUTHORISED: kept.authorised,
                Stage.DEDUPLICATED: kept.deduplicated,
                Stage.PACKED: packed[i].units,
            },
        )
        answered = answer(packer.prepared, steps, one, packed[i], prompts[i])
        supports.append(support)
        answers.append(answered)
        outcomes.append(
            outcome(
                one,
                support,
                packed[i],
                answered,
                feasible=feasible[i],
                prompt_tokens=prompt_tokens[i],
                denials=kept.ranking.denied + kept.rechecked,
            )
        )
    return ViewResult(
        name,
        tuple(stages),
        tuple(packed),
        tuple(supports),
        tuple(answers),
        prompts,
        prompt_tokens,
        tuple(feasible),
        tuple(outcomes),
    )

"""Canonical-ready payloads of the ledger's records: strings, integers, lists and dicts only.

Blocks are kept as columns, one entry per question in the order of `questions`; documents are named by their index in
the boundary record of the build (`build` is its digest), chunks by their index in that record's chunk lists, counted
through all documents. Together with the rendering's version and each prompt's digest this reconstructs the literal
evidence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evaluation.domain.bm25 import straddles
from evaluation.domain.citations import Citation
from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.domain.generation import Generator
from evaluation.domain.outcomes import STAGES, Stage
from evaluation.domain.packing import RENDERING
from evaluation.domain.pipeline import IndexBuild, Payload, PipelineSettings, Policies, PreparedCorpus, Unit
from evaluation.domain.verdicts import SOURCE

if TYPE_CHECKING:
    from evaluation.domain.cell import Retrieved, ViewResult


def boundary_payload(build: IndexBuild) -> Payload:
    """Boundary record of an index build: its manifest and its digest."""
    return {"build": build.digest, **build.manifest}


def query_payload(question: FrozenQuestion) -> Payload:
    """Query record: the question, its reader, and its answer contract."""
    return {
        "question": question.question_id,
        "text": question.text,
        "answerable": int(question.answerable),
        "segment": str(question.segment),
        "sample": str(question.sample),
        "partition": str(question.partition),
        "cluster": question.cluster,
        "group": question.group,
        "reader_labels": sorted(question.reader_labels),
        "as_of": question.as_of.isoformat(),
        "locale": question.locale,
        "expected_answer": question.expected_answer,
        "scope": question.scope,
        "qualification": question.qualification,
        "dependency": str(question.dependency),
        "missing_behaviour": str(question.missing_behaviour),
        "missing_text": question.missing_text,
        "mandatory": int(question.mandatory),
        "slice_tags": list(question.slice_tags),
    }


def source_payload(document: Document) -> Payload:
    """Source record: identity, dates and access rules of a version; its text stays in the sources."""
    return {
        "document": document.document_id,
        "version_label": document.version_label,
        "version": document.digest,
        "bytes": len(document.content),
        "observation_date": document.observation_date.isoformat(),
        "effective_from": document.effective_from.isoformat() if document.effective_from else "",
        "effective_to": document.effective_to.isoformat() if document.effective_to else "",
        "media_type": document.media_type,
        "locale": document.locale,
        "tenant": document.tenant,
        "supersedes": document.supersedes or "",
        "access_labels": sorted(document.access_labels),
        "access_ranges": [[r.start, r.end, sorted(r.labels)] for r in document.access_ranges],
    }


def support_payload(question: FrozenQuestion) -> Payload:
    """Support record: every alternative set with its spans, and the forbidden intervals."""
    return {
        "question": question.question_id,
        "sets": [
            [
                {
                    "span": span.name,
                    "version": span.interval.version,
                    "start": span.interval.start,
                    "end": span.interval.end,
                    "label": span.label,
                    "necessary": int(span.necessary),
                }
                for span in support
            ]
            for support in question.support_sets
        ],
        "forbidden": [[i.version, i.start, i.end] for i in question.forbidden],
    }


def retrieval_payload(
    build: IndexBuild,
    settings: PipelineSettings,
    steps: Policies,
    questions: Sequence[FrozenQuestion],
    found: Sequence[Retrieved],
) -> Payload:
    """Retrieval record: ranked chunks, integer scores (1e-6) to `record_depth`, what later steps made of them."""
    depth = settings.record_depth
    retrieval = settings.retrieval
    record: Payload = {
        **_head(build),
        "retriever": retrieval.retriever,
        "k1": str(retrieval.k1),
        "b": str(retrieval.b),
        "tie_rule": str(retrieval.tie_rule),
        "filters": [name for name, on in (("labels", settings.filter_labels), ("dates", settings.filter_dates)) if on],
        "denial": "whole unit",
        "reranker": "none" if steps.reranker is None else type(steps.reranker).__name__,
        "expansion": "none" if steps.expansion is None else type(steps.expansion).__name__,
        "depth": retrieval.candidates,
        "questions": [question.question_id for question in questions],
        "candidates": [one.ranking.candidates for one in found],
        "denied": [one.ranking.denied for one in found],
        "outdated": [one.ranking.outdated for one in found],
        "rechecked": [one.rechecked for one in found],
        "tie_at_k": [int(straddles(one.ranking.scores, settings.budget.top_k)) for one in found],
        "hits": [one.ranking.chunks[:depth].tolist() for one in found],
        "scores": [one.ranking.scores[:depth].tolist() for one in found],
    }
    if steps.reranker is not None:
        record["reranked"] = [[unit.lineage[0] for unit in one.reranked[:depth]] for one in found]
    if steps.expansion is not None:
        record["expanded"] = [[_unit(unit) for unit in one.expanded[:depth]] for one in found]
    return record


def budget_payload(
    build: IndexBuild, settings: PipelineSettings, view: ViewResult, questions: Sequence[str]
) -> Payload:
    """Budget record of one view: ceiling or k, tokens, packed intervals, what was refused, support per stage."""
    budget = settings.budget
    in_budget = view.name.startswith("budget:")
    return {
        **_head(build),
        "view": view.name,
        "ceiling": int(view.name.removeprefix("budget:")) if in_budget else 0,
        "k": 0 if in_budget else budget.top_k,
        "k_unit": "" if in_budget else str(budget.top_k_unit),
        "overflow": str(budget.overflow) if in_budget else "none",
        "rendering": RENDERING,
        "label_format": budget.label_format,
        "separator": budget.separator,
        "instruction_allowance": budget.instruction_tokens,
        "output_allowance": budget.output_tokens,
        "duplicate_threshold": str(budget.duplicate_threshold),
        "questions": list(questions),
        "feasible": [int(flag) for flag in view.feasible],
        "evidence_tokens": [packed.tokens for packed in view.packed],
        "prompt_tokens": list(view.prompt_tokens),
        "unique_tokens": [packed.unique_tokens for packed in view.packed],
        "repeated_tokens": [packed.repeated_tokens for packed in view.packed],
        "duplicate_pairs": [packed.duplicate_pairs for packed in view.packed],
        "compared_pairs": [packed.compared_pairs for packed in view.packed],
        "units": [[_unit(unit) for unit in packed.units] for packed in view.packed],
        "refused": [_refused(packed.refused) for packed in view.packed],
        "prompts": [hashlib.sha256(text).hexdigest() for text in view.prompts],
        "stages": [str(stage) for stage in STAGES],
        "complete": [_flags(support.complete) for support in view.supports],
        "single_unit": [_flags(support.single) for support in view.supports],
        "lost_after": [str(one.lost_after or "") for one in view.outcomes],
        "completed_at": [support.rank for support in view.supports],
        "severed": [support.severed for support in view.supports],
        "leaks": [_counts(support.leaks) for support in view.supports],
        "superseded": [_counts(support.superseded) for support in view.supports],
        "forbidden": [_counts(support.forbidden) for support in view.supports],
    }


def answer_payload(
    prepared: PreparedCorpus, build: IndexBuild, generator: Generator, view: ViewResult, questions: Sequence[str]
) -> Payload:
    """Answer record of one view: complete texts, substantive verdicts, use of the condition, quoted bytes."""
    given = [one for one in view.answers if one is not None]
    return {
        **_head(build),
        "view": view.name,
        "generator": generator.describe(),
        "verdict_source": SOURCE,
        "questions": list(questions),
        "text": [one.answer.text for one in given],
        "failed": [one.answer.failed for one in given],
        "class": [str(one.answer_class) for one in given],
        "condition": [one.condition for one in given],
        "extracts": [
            [[e.number, prepared.by_version[e.version], e.start, e.end] for e in one.answer.extracts] for one in given
        ],
    }


def citation_payload(
    prepared: PreparedCorpus, build: IndexBuild, view: ViewResult, questions: Sequence[str]
) -> Payload:
    """Citation record of one view: number, place, document (−1 when unresolved), span and verdict of each citation."""
    given = [one for one in view.answers if one is not None]
    return {
        **_head(build),
        "view": view.name,
        "questions": list(questions),
        "citations": [
            [_citation(prepared, c, verdict) for c, verdict in zip(one.citations, one.verdicts, strict=True)]
            for one in given
        ],
        "attributed": [int(one.attributed) for one in given],
    }


def oracle_payload(
    prepared: PreparedCorpus, view: ViewResult, questions: Sequence[str], chosen: Sequence[int]
) -> Payload:
    """Oracle record of one view: the readable set given (−1: none), its packed units, answers and verdicts."""
    kind, _, ceiling = view.name.partition(":")
    given = [one for one in view.answers if one is not None]
    return {
        "view": view.name,
        "room": "production" if kind == "oracle" else "diagnostic",
        "ceiling": int(ceiling),
        "corpus": prepared.digest,
        "documents": [document.digest for document in prepared.documents],
        "questions": list(questions),
        "set": list(chosen),
        "feasible": [int(flag) for flag in view.feasible],
        "evidence_tokens": [packed.tokens for packed in view.packed],
        "units": [[_unit(unit) for unit in packed.units] for packed in view.packed],
        "complete": [_flags(support.complete) for support in view.supports],
        "verdict_source": SOURCE,
        "text": [one.answer.text for one in given],
        "class": [str(one.answer_class) for one in given],
        "prompts": [hashlib.sha256(text).hexdigest() for text in view.prompts],
    }


def _head(build: IndexBuild) -> Payload:
    return {"build": build.digest, "arm": build.arm.name, "phase": 0 if build.phase is None else build.phase}


def _unit(unit: Unit) -> list[int | list[int]]:
    """[document, start, end, rank]; the lineage follows when it is more than the hit of that rank."""
    place: list[int | list[int]] = [unit.document, unit.start, unit.end, unit.rank]
    return place if len(unit.lineage) <= 1 else [*place, list(unit.lineage)]


def _citation(prepared: PreparedCorpus, citation: Citation, verdict: str) -> list[int | str]:
    where = citation.interval
    place = [-1, 0, 0] if where is None else [prepared.by_version[where.version], where.start, where.end]
    return [citation.number, citation.position, *place, verdict]


def _refused(refused: Sequence[tuple[int, str]]) -> dict[str, list[list[int]]]:
    """Refused ranks by reason, runs of consecutive ranks as [first, last]."""
    runs: dict[str, list[list[int]]] = {}
    for rank, reason in sorted(refused):
        known = runs.setdefault(reason, [])
        if known and known[-1][1] == rank - 1:
            known[-1][1] = rank
        else:
            known.append([rank, rank])
    return runs


def _flags(by_stage: Mapping[Stage, bool]) -> str:
    """One digit per stage, in the order of `stages`."""
    return "".join(str(int(by_stage.get(stage, False))) for stage in STAGES)


def _counts(by_stage: Mapping[Stage, int]) -> dict[str, int]:
    return {str(stage): count for stage, count in by_stage.items()}

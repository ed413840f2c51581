"""Canonical-ready payloads of the ledger's records: strings, integers, lists and dicts only.

Blocks are kept as columns, one entry per question in the order of the cell's outcome record, which names them. Lists
of several numbers per question (hits, packed units) stand one after the other in one flat list, with a column that says
how many belong to each. Documents are named by their index in the boundary record of the build (`build` is its digest),
chunks by their number through all of its documents. `evaluation.domain.recorded` reads what is written here; together
with the rendering's version this reconstructs the literal evidence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.domain.boundary import boundary_documents
from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.citations import Citation
from evaluation.domain.generation import Generator
from evaluation.domain.hits import BoolArray, Hits, Ranked
from evaluation.domain.packed import Packed
from evaluation.domain.packing import Ready
from evaluation.domain.pipeline import IndexBuild, Payload, PipelineSettings, Policies, PreparedCorpus
from evaluation.domain.rendering import RENDERING
from evaluation.domain.tokens import IntArray
from evaluation.domain.verdicts import SOURCE

if TYPE_CHECKING:
    from evaluation.domain.cell import Staged, View


def boundary_payload(prepared: PreparedCorpus, build: IndexBuild) -> Payload:
    """Boundary record of an index build: its manifest, its digest, and every cut and chunk."""
    return {"build": build.digest, **build.manifest, "documents": boundary_documents(prepared, build.chunks)}


def retrieval_payload(
    build: IndexBuild, settings: PipelineSettings, steps: Policies, ready: Ready, ranked: Ranked, staged: Staged
) -> Payload:
    """Retrieval record: ranked chunks and scores to `recorded` ranks, and what later steps made of them.

    `scores` are in units of 1e-6: of each question the first one, then by how much every next one lies lower.
    `ties_at_k` is `ties_at` of the plan's k.
    """
    depth, count = settings.record_depth, np.minimum(ranked.count, settings.record_depth)
    falls = np.diff(ranked.score, axis=1, prepend=0)
    falls[:, 1:] *= -1
    record: Payload = {
        **_head(build),
        "retriever": steps.retriever.describe(),
        "tie_rule": str(settings.retrieval.tie_rule),
        "filters": [str(name) for name in settings.retrieval.filters],
        "denial": "whole unit",
        "reranker": "none" if steps.reranker is None else steps.reranker.describe(),
        "expansion": "none" if steps.expansion is None else steps.expansion.describe(),
        "moment": "none" if steps.expansion is None else str(steps.moment),
        "deduplicate": str(settings.budget.deduplicate),
        "merge_overlaps": int(settings.budget.merge_overlaps),
        "depth": settings.retrieval.candidates,
        "recorded": depth,
        "count": ranked.count.tolist(),
        "candidates": ranked.candidates.tolist(),
        "denied": ranked.denied.tolist(),
        "outdated": ranked.outdated.tolist(),
        "foreign": ranked.foreign.tolist(),
        "refused": staged.refused.tolist(),
        "fallbacks": staged.fallbacks.tolist(),
        "ties_at_k": ties_at(ranked, settings.budget.top_k),
        "failed": [[index, text] for index, text in enumerate(ranked.failed) if text],
        "hits": _flat(ranked.chunk, count),
        "scores": _flat(falls, count),
    }
    lists = {str(stage): hits for stage, hits in staged.lists.items()}
    if steps.reranker is not None:
        record["reranked"] = _flat(lists["reranked"].rank, np.minimum(lists["reranked"].count, depth))
    if steps.expansion is not None:
        widened = lists["expanded"]
        kept = np.minimum(widened.count, depth)
        record["expanded_count"] = widened.count.tolist()
        record["expanded"] = [
            list(unit)
            for unit in zip(
                *(_flat(column, kept) for column in (widened.document, widened.start, widened.end, widened.rank)),
                strict=True,
            )
        ]
    return record


def budget_payload(build: IndexBuild, settings: PipelineSettings, views: Sequence[View]) -> Payload:
    """Budget record of a block: per view its ceiling or k and the packed units; the rule they were packed by.

    `units` says how many units each question has in its prompt and `ranks` the retriever's rank of each. Where the
    packed list is the retriever's own (`plain`), that names the chunk: of the recorded hits, or, deeper, the next of
    `deeper`. Otherwise `intervals` has document, start and end of every unit, `columns` its place in the list that was
    packed, and `listing` the ranks of that list. `cut` lists (question, end, end token) of units that were shortened.
    Refused units follow from `listed` and `ended` (see `packed.refusals`); `taken_back` lists (question, column) of
    those a whole count took back.
    """
    budget = settings.budget
    written: list[dict[str, Any]] = []
    for view in views:
        in_budget = view.name.startswith("budget:")
        packed = view.packed
        row: dict[str, Any] = {
            "view": view.name,
            "ceiling": int(view.name.removeprefix("budget:")) if in_budget else 0,
            "k": 0 if in_budget else budget.top_k,
            "k_unit": "" if in_budget else str(budget.top_k_unit),
            "overflow": str(budget.overflow) if in_budget else "none",
            "evidence_tokens": packed.tokens.tolist(),
            "repeated_tokens": view.columns.numbers["repeated_tokens"].tolist(),
            "units": packed.units.count.tolist(),
            "ranks": _flat(packed.units.rank, packed.units.count),
            "listed": packed.listed.tolist(),
            "ended": packed.ended.tolist(),
            "taken_back": [list(pair) for pair in packed.taken_back],
            "cut": _cuts(packed),
            **_places(view.staged.last, packed, build.chunks, settings.record_depth),
        }
        for name in ("listed", "ended"):
            earlier = next((n for n, known in enumerate(written) if known[name] == row[name]), None)
            row[name] = row[name] if earlier is None else earlier
        written.append(row)
    return {
        **_head(build),
        "rendering": RENDERING,
        "label_format": budget.label_format,
        "separator": budget.separator,
        "counting": str(budget.counting),
        "instruction_allowance": budget.instruction_tokens,
        "output_allowance": budget.output_tokens,
        "duplicate_threshold": str(budget.duplicate_threshold),
        "coverage_threshold": str(budget.coverage_threshold),
        "views": written,
    }


def _places(listed: Hits, packed: Packed, chunks: CorpusChunks, depth: int) -> dict[str, Any]:
    valid = listed.valid
    chunk = listed.chunk[valid]
    plain = bool(
        np.all(listed.rank[valid] == np.nonzero(valid)[1] + 1)
        and np.array_equal(listed.start[valid], chunks.start[chunk])
        and np.array_equal(listed.end[valid], chunks.end[chunk])
    )
    units = packed.units
    if plain:
        return {"plain": 1, "deeper": units.chunk[units.valid & (units.rank > depth)].tolist()}
    columns = (units.document, units.start, units.end)
    return {
        "plain": 0,
        "columns": _flat(packed.column, units.count),
        "intervals": [n for unit in zip(*(_flat(c, units.count) for c in columns), strict=True) for n in unit],
        "listing": _flat(listed.rank, listed.count),
    }


def _cuts(packed: Packed) -> list[list[int]]:
    rows = np.flatnonzero(packed.cut)
    last = packed.units.count[rows] - 1
    ends, tokens = packed.units.end[rows, last], packed.units.token_end[rows, last]
    return [list(cut) for cut in zip(rows.tolist(), ends.tolist(), tokens.tolist(), strict=True)]


def answer_payload(
    prepared: PreparedCorpus, build: IndexBuild, generator: Generator, view: View, questions: Sequence[str]
) -> Payload:
    """Answer record of one view: complete texts, substantive verdicts, use of the condition, quoted bytes.

    `prompts` are the digests of the rendered prompts ("" where retrieval failed and none was made).
    """
    given = view.answered or ()
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
        "prompts": [hashlib.sha256(one.prompt).hexdigest() if one.prompt else "" for one in given],
        "rendered_tokens": [one.tokens for one in given],
    }


def citation_payload(prepared: PreparedCorpus, build: IndexBuild, view: View, questions: Sequence[str]) -> Payload:
    """Citation record of one view: number, place, document (−1 when unresolved), span and verdict of each citation."""
    given = view.answered or ()
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


def _head(build: IndexBuild) -> Payload:
    return {"build": build.digest, "arm": build.arm.name, "phase": 0 if build.phase is None else build.phase}


def _flat(values: IntArray, count: IntArray) -> list[int]:
    """The first `count[q]` entries of every row, one row after the other."""
    inside = np.arange(values.shape[1])[None, :] < count[:, None]
    flat: list[int] = values[inside].tolist()
    return flat


def ties_at(ranked: Ranked, k: int) -> list[list[int]]:
    """(question, first rank, last rank) of every group of equal scores that holds the ranks k and k + 1.

    The tie rule alone decides who of the group is among the first k. The last rank is at most the list's depth.
    """
    if k >= ranked.score.shape[1]:
        return []
    rows = np.flatnonzero((ranked.count > k) & (ranked.score[:, k - 1] == ranked.score[:, k]))
    inside = np.arange(ranked.score.shape[1]) < ranked.count[rows, None]
    equal: BoolArray = inside & (ranked.score[rows] == ranked.score[rows, k, None])
    first = np.argmax(equal, axis=1) + 1
    groups: list[list[int]] = np.stack((rows, first, first + np.count_nonzero(equal, axis=1) - 1), axis=1).tolist()
    return groups


def _citation(prepared: PreparedCorpus, citation: Citation, verdict: str) -> list[int | str]:
    where = citation.interval
    place = [-1, 0, 0] if where is None else [prepared.by_version[where.version], where.start, where.end]
    return [citation.number, citation.position, *place, verdict]

"""What an artefact bundle holds beside the ledger's lines, and how the visible context is read back from records.

`contexts.jsonl` has every distinct context once, `shown.jsonl` says per cell and view which of them each question's
prompt held. Both are rebuilt from recorded intervals and the sources' bytes, never from a cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.domain.frozen import Document
from evaluation.domain.pipeline import Unit
from evaluation.domain.plan import Plan
from evaluation.domain.recorded import RecordedChunks, budget_view, recorded_units
from evaluation.domain.rendering import RENDERING, Rendering

PLAN, TOML, DECISION, SET = "plan.json", "plan.toml", "decision.json", "set.json"
CONTEXTS, SHOWN, SPANS = "contexts.jsonl", "shown.jsonl", "spans.jsonl"
CANONICAL, SOURCES = "canonical", "sources"


@dataclass(frozen=True)
class Shown:
    """One question's visible context: the units in prompt order as (version, start, end), and the text around them."""

    units: tuple[tuple[str, int, int], ...]
    context: bytes


@dataclass(frozen=True)
class Corpus:
    """Documents in corpus order, as boundary records number them."""

    documents: tuple[Document, ...]


def shown_in(
    plan: Plan, corpus: Corpus, boundary: Mapping[str, Any], retrieval: Mapping[str, Any], budget: Mapping[str, Any]
) -> Iterator[tuple[str, list[Shown]]]:
    """Yield (view, what each question of the cell was shown) from the records of one cell and its build.

    Raises ValueError for records of another rendering, KeyError or IndexError for records that do not fit together.
    """
    if budget["rendering"] != RENDERING:
        raise ValueError(f"the context was rendered by {budget['rendering']!r}; this version reads {RENDERING!r}")
    rendering, chunks = Rendering(corpus, plan.budget), RecordedChunks(boundary)
    versions = [one["version"] for one in boundary["documents"]]
    if versions != [one.digest for one in corpus.documents]:
        raise ValueError("the boundary record names other documents")
    for row in budget["views"]:
        view = budget_view(budget, row["view"])
        found = []
        for index in range(len(view["units"])):
            units = recorded_units(chunks, retrieval, view, index)
            text, _ = rendering.context([Unit(one.document, one.start, one.end, 0, 0, one.rank, ()) for one in units])
            places = tuple((versions[one.document], one.start, one.end) for one in units)
            found.append(Shown(places, text))
        yield row["view"], found


def corpus_order(documents: Sequence[Document]) -> Corpus:
    """Return documents in the order of every record: document id, then digest."""
    return Corpus(tuple(sorted(documents, key=lambda one: (one.document_id, one.digest))))

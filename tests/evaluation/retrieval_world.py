"""Queries, readers and small indexes for tests of retrievers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.domain.bm25 import BlockScores, Bm25, query_terms
from evaluation.domain.hits import Hits, Ranked
from evaluation.domain.index_build import build_index
from evaluation.domain.pipeline import ArmSettings, IndexBuild, PreparedCorpus
from evaluation.domain.retrieval.lexical import Bm25Retriever
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.stage_protocols import Queries, ReaderMask
from evaluation.domain.tokens import IntArray
from tests.evaluation.engine_world import corpus, document


def build(prepared: PreparedCorpus, window: TokenWindow, phase: int) -> IndexBuild:
    """One index build of an arm called "a"."""
    return build_index(prepared, ArmSettings("a", window), phase)


def lines(*texts: str) -> tuple[PreparedCorpus, IndexBuild]:
    """An index with one chunk per text: each is a document that fits into one window."""
    prepared = corpus(*(document(f"d{i:03}", text) for i, text in enumerate(texts)))
    return prepared, build(prepared, TokenWindow(4096), 4096)


def everything(chunks: int) -> ReaderMask:
    """A reader who may use every chunk."""
    ones = np.ones(chunks, dtype=np.bool_)
    return ReaderMask(ones, ones, ones, ones)


def queries(texts: Sequence[str], masks: Sequence[ReaderMask], group: Sequence[int] | None = None) -> Queries:
    """A block of questions q0, q1, …; all in the first group unless said otherwise."""
    n = len(texts)
    of = np.array(group if group is not None else [0] * n, dtype=np.int64)
    ids = tuple(f"q{i}" for i in range(n))
    return Queries(tuple(texts), of, tuple(masks), (("staff",),) * n, ("2026-06-01",) * n, ("en",) * n, ids)


def bm25_scores(
    prepared: PreparedCorpus, build: IndexBuild, texts: Sequence[str], model: Bm25 | None = None
) -> IntArray:
    """Quantised scores of every chunk, shape (questions, chunks)."""
    terms = query_terms(texts, prepared.analyser, prepared.words)
    return BlockScores(model or Bm25(), prepared.words, build.words, terms)(slice(0, len(texts)))


def bm25_ranks(
    prepared: PreparedCorpus, build: IndexBuild, texts: Sequence[str], depth: int, model: Bm25 | None = None
) -> Ranked:
    """The first `depth` chunks of each question, for a reader who may use every chunk."""
    asked = queries(texts, [everything(len(build.chunks))])
    return Bm25Retriever(model or Bm25()).index(prepared, build).search(asked, depth)


def listed(found: Ranked, question: int = 0) -> list[int]:
    """Chunks of one question in rank order."""
    return found.chunk[question, : found.count[question]].tolist()


def hits_of(found: Ranked, of: IndexBuild) -> Hits:
    """A ranked list as units, the way the engine makes them."""
    at = np.maximum(found.chunk, 0)
    chunks = of.chunks
    valid = found.chunk >= 0
    rank = np.where(valid, np.arange(1, at.shape[1] + 1), 0)
    start, end = np.where(valid, chunks.start[at], 0), np.where(valid, chunks.end[at], 0)
    first, last = np.where(valid, chunks.token_start[at], 0), np.where(valid, chunks.token_end[at], 0)
    return Hits(found.count, np.where(valid, chunks.document[at], -1), start, end, first, last, rank, found.chunk)

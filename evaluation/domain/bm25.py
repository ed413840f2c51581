"""BM25 of any (arm, phase) from one positional table, equal to an index rebuilt for that phase.

Formula (Lucene's, as classified by Kamphuis et al., ECIR 2020): score(q, d) = Σ_t w_t · idf_t · tf / (tf + k1 · (1 −
b + b · |d| / avg)), idf_t = ln(1 + (N − df + ½) / (df + ½)), w_t how often t stands in the question, |d| and avg in
terms. All of it in float64; the sum runs over a question's terms in the order of the corpus vocabulary, so it depends
neither on threads nor on which questions share a block. Scores are then quantised to integers in units of 1e-6,
*before* ranking; ranks follow score descending, then source (document id, digest), then start. Only chunks with a
score above zero are candidates.

A chunk's words are those wholly inside it, plus the fragments of words its two ends cut. Document frequency, N and
the average length come from the whole index, readable or not: filters are applied to scored chunks, as an index with
filters does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from evaluation.domain.analysis import Analyser, PositionalTable
from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.frozen import Document
from evaluation.domain.tokens import IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Integer scores count units of 1e-6.
QUANTUM = 1_000_000

#: Questions scored at once; bounds the dense block to this many rows of int64 per chunk.
SCORE_BLOCK = 64

type FloatArray = npt.NDArray[np.float64]


class Bm25ConfigError(ValueError):
    """Parameters outside their range."""


@dataclass(frozen=True)
class Bm25:
    """k1 ≥ 0 and b in [0, 1]."""

    k1: float = 1.5
    b: float = 0.75

    def __post_init__(self) -> None:
        for field_name, value, upper in (("k1", self.k1, np.inf), ("b", self.b, 1.0)):
            if isinstance(value, bool) or not np.isfinite(value) or not 0 <= value <= upper:
                raise Bm25ConfigError(f"bm25: {field_name} must be a number from 0 to {upper:g}, got {value!r}")


@dataclass(frozen=True)
class ChunkWords:
    """Word statistics of one index build.

    `low`, `high`: kept word i of the table lies wholly inside chunks low[i]…high[i] − 1. `length` is each chunk's
    number of terms, fragments included. `fragments` maps a term (as text: a fragment may be no word of the corpus) to
    the chunks that hold it as a fragment, repeated when both ends do.
    """

    low: IntArray
    high: IntArray
    length: IntArray
    fragments: dict[str, list[int]] = field(repr=False)


def chunk_words(
    table: PositionalTable, documents: Sequence[Document], analyser: Analyser, chunks: CorpusChunks
) -> ChunkWords:
    """Assign the table's words to the chunks of one build; two binary searches per word, fragments at cuts only."""
    start, end = chunks.global_start, chunks.global_end
    low = np.searchsorted(end, table.kept_end, side="left").astype(np.int64)
    high = np.maximum(low, np.searchsorted(start, table.kept_start, side="right")).astype(np.int64)
    inside = np.searchsorted(table.kept_end, end, side="right") - np.searchsorted(table.kept_start, start, side="left")
    length = np.maximum(inside, 0).astype(np.int64)
    fragments: dict[str, list[int]] = {}
    if table.start.size and len(chunks):
        for chunk, first, last in _cut_words(table, start, end):
            document = int(chunks.document[chunk])
            base = int(table.base[document])
            word = documents[document].content[first - base : last - base].decode("utf-8")
            term = analyser.term(word)
            if term is not None:
                fragments.setdefault(term, []).append(chunk)
                length[chunk] += 1
    return ChunkWords(low, high, length, fragments)


def _cut_words(table: PositionalTable, start: IntArray, end: IntArray) -> list[tuple[int, int, int]]:
    """(chunk, first byte, last byte) of every fragment: what is left in a chunk of the words its ends cut."""
    last = table.start.size - 1
    # The last word that starts before the edge; it is cut when it ends after it.
    at_start = np.clip(np.searchsorted(table.start, start, side="left") - 1, 0, last)
    at_end = np.clip(np.searchsorted(table.start, end, side="left") - 1, 0, last)
    cut_start = (table.start[at_start] < start) & (table.end[at_start] > start)
    cut_end = (table.start[at_end] < end) & (table.end[at_end] > end)
    found: list[tuple[int, int, int]] = []
    for chunk in np.flatnonzero(cut_start | cut_end).tolist():
        if cut_start[chunk]:
            found.append((chunk, int(start[chunk]), min(int(table.end[at_start[chunk]]), int(end[chunk]))))
        # A word longer than the chunk is cut at both ends and leaves one fragment, not two.
        if cut_end[chunk] and table.start[at_end[chunk]] >= start[chunk]:
            found.append((chunk, int(table.start[at_end[chunk]]), int(end[chunk])))
    return found


@dataclass(frozen=True)
class QueryTerms:
    """A block of questions as terms: per question (term, how often), in the order of summation."""

    per_question: tuple[tuple[tuple[str, int], ...], ...]


def query_terms(questions: Sequence[str], analyser: Analyser, table: PositionalTable) -> QueryTerms:
    """Analyse questions. Terms are in vocabulary order; unknown ones (they may be fragments) follow by name."""
    unknown = table.terms
    blocks = []
    for text in questions:
        counted: dict[str, int] = {}
        for term in analyser.terms(text):
            counted[term] = counted.get(term, 0) + 1
        order = sorted(counted, key=lambda term: (table.vocabulary.get(term, unknown), term))
        blocks.append(tuple((term, counted[term]) for term in order))
    return QueryTerms(tuple(blocks))


def score(
    model: Bm25, table: PositionalTable, words: ChunkWords, queries: QueryTerms
) -> list[tuple[IntArray, IntArray]]:
    """Quantised scores: per question (chunk indices in no order, integer scores), chunks scoring above zero only.

    A question without a term the index knows gets two empty arrays.
    """
    chunk_count = words.length.size
    every = sorted(
        {term for question in queries.per_question for term, _ in question},
        key=lambda term: (table.vocabulary.get(term, table.terms), term),
    )
    number = {term: i for i, term in enumerate(every)}
    weights = _term_weights(model, table, words, every)
    rows = np.repeat(np.arange(len(queries.per_question)), [len(q) for q in queries.per_question])
    columns = np.array([number[term] for q in queries.per_question for term, _ in q], dtype=np.int64)
    times = np.array([count for q in queries.per_question for _, count in q], dtype=np.float64)
    # Imported here: SciPy takes longer to load than everything else a page or a command needs.
    from scipy.sparse import csr_array

    asked = csr_array((times, (rows, columns)), shape=(len(queries.per_question), len(every)))
    found: list[tuple[IntArray, IntArray]] = []
    for begin in range(0, len(queries.per_question), SCORE_BLOCK):
        block = (asked[begin : begin + SCORE_BLOCK] @ weights).tocsr()
        for row in range(block.shape[0]):
            span = slice(int(block.indptr[row]), int(block.indptr[row + 1]))
            quantised = np.rint(block.data[span] * QUANTUM).astype(np.int64)
            keep = quantised > 0
            found.append((block.indices[span][keep].astype(np.int64), quantised[keep]))
    if chunk_count == 0:
        return [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)) for _ in queries.per_question]
    return found


def _term_weights(model: Bm25, table: PositionalTable, words: ChunkWords, terms: Sequence[str]) -> csr_array:
    """Weight of each term in each chunk that holds it; sparse, shape (terms, chunks)."""
    chunk_count = words.length.size
    gathered: list[IntArray] = []
    owners: list[int] = []
    sizes: list[int] = []
    extra: list[int] = []
    for row, term in enumerate(terms):
        known = table.vocabulary.get(term)
        if known is not None:
            positions = table.occurrences(known)
            gathered.append(positions)
            owners.append(row)
            sizes.append(positions.size)
        extra += [row * chunk_count + chunk for chunk in words.fragments.get(term, ())]
    positions = np.concatenate(gathered) if gathered else np.zeros(0, dtype=np.int64)
    owner = np.repeat(np.array(owners, dtype=np.int64), np.array(sizes, dtype=np.int64))
    low, span = words.low[positions], words.high[positions] - words.low[positions]
    # Spread each occurrence over the chunks that contain it (one without overlap, ⌈C/S⌉ at most).
    within = np.arange(int(span.sum()), dtype=np.int64) - np.repeat(np.cumsum(span) - span, span)
    keys = np.repeat(owner * chunk_count + low, span) + within
    keys = np.sort(np.concatenate((keys, np.array(extra, dtype=np.int64))), kind="stable")
    pair, tf = np.unique(keys, return_counts=True)
    row_of, chunk_of = (pair // chunk_count, pair % chunk_count) if chunk_count else (pair, pair)
    df = np.bincount(row_of, minlength=len(terms)).astype(np.float64)
    idf = np.log(1.0 + (chunk_count - df + 0.5) / (df + 0.5))
    total = int(words.length.sum())
    average = total / chunk_count if total else 1.0
    norm = model.k1 * ((1.0 - model.b) + model.b * words.length / average)
    frequency = tf.astype(np.float64)
    data: FloatArray = idf[row_of] * (frequency / (norm[chunk_of] + frequency))
    # Imported here: SciPy takes longer to load than everything else a page or a command needs.
    from scipy.sparse import csr_array

    return csr_array((data, (row_of, chunk_of)), shape=(len(terms), chunk_count))


@dataclass(frozen=True)
class Ranking:
    """Ranked chunks of one question, best first, at most `depth`; `candidates` counts them before that limit.

    `denied` and `outdated` count scored chunks a filter removed that would have stood among the first `depth`.
    """

    chunks: IntArray
    scores: IntArray
    candidates: int
    denied: int = 0
    outdated: int = 0


def rank(chunks: IntArray, scores: IntArray, depth: int) -> tuple[IntArray, IntArray]:
    """The first `depth` by score descending, then chunk index (= source, then start); input in any order."""
    if scores.size > depth:
        # Everything that reaches the depth-th score, ties included; the sort below settles their order.
        bar = np.partition(scores, scores.size - depth)[scores.size - depth]
        keep = scores >= bar
        chunks, scores = chunks[keep], scores[keep]
    order = np.lexsort((chunks, -scores))[:depth]
    return chunks[order], scores[order]


def straddles(scores: IntArray, k: int) -> bool:
    """Whether the ranks k and k + 1 share a score, so that the tie rule decides who is in."""
    return 0 < k < scores.size and bool(scores[k - 1] == scores[k])

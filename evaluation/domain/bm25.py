"""BM25 of any (arm, phase) from one positional table, equal to an index rebuilt for that phase.

Formula (Lucene's, as classified by Kamphuis et al., ECIR 2020): score(q, d) = Σ_t w_t · idf_t · tf / (tf + k1 · (1 −
b + b · |d| / avg)), idf_t = ln(1 + (N − df + ½) / (df + ½)), w_t how often t stands in the question, |d| and avg in
terms. All of it in float64; the sum runs over a question's terms in an order fixed by corpus and build
(`BlockScores`), so it depends neither on threads nor on which questions share a block. Scores are then quantised to
integers in units of 1e-6, *before* ranking; ranks follow score descending, then source (document id, digest), then
start. Only chunks with a score above zero are candidates.

A chunk's words are those wholly inside it, plus the fragments of words its two ends cut. Document frequency, N and
the average length come from the whole index, readable or not: filters are applied to scored chunks, as an index with
filters does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.domain.analysis import Analyser, PositionalTable
from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.frozen import Document
from evaluation.domain.hits import BoolArray
from evaluation.domain.tokens import IntArray

#: Integer scores count units of 1e-6.
QUANTUM = 1_000_000

#: A term that stands in the corpus at least once per so many chunks has its weights in a dense row.
COMMON = 8

#: Most entries of all dense rows together (128 MB); beyond, the next common terms are held as sparse rows.
DENSE_ENTRIES = 16_000_000

type FloatArray = npt.NDArray[np.float64]
type IndexArray = npt.NDArray[np.int32]


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

    Chunk j holds the kept words first[j]…last[j] − 1 of the table whole; `low`, `high` say the same per word: word i
    lies wholly inside chunks low[i]…high[i] − 1. `length` is each chunk's number of terms, fragments included.
    `fragments` maps a term (as text: a fragment may be no word of the corpus) to the chunks that hold it as a fragment,
    repeated when both ends do.
    """

    low: IndexArray
    high: IndexArray
    length: IntArray
    fragments: Mapping[str, list[int]] = field(repr=False)


def chunk_words(
    table: PositionalTable, documents: Sequence[Document], analyser: Analyser, chunks: CorpusChunks
) -> ChunkWords:
    """Assign the table's words to the chunks of one build: binary searches at chunk ends, fragments at cuts only."""
    del documents  # their bytes stand in the table, in one piece
    start, end = chunks.global_start, chunks.global_end
    first = np.searchsorted(table.kept_start, start, side="left")
    last = np.searchsorted(table.kept_end, end, side="right")
    size = table.kept_start.size
    # Word i comes after every chunk whose words end at or before i, and no chunk that begins after i holds it.
    low = np.cumsum(np.bincount(last, minlength=size + 1)[:size], dtype=np.int32)
    high = np.maximum(low, np.cumsum(np.bincount(first, minlength=size + 1)[:size], dtype=np.int32))
    length = np.maximum(last - first, 0).astype(np.int64)
    fragments: defaultdict[str, list[int]] = defaultdict(list)
    if table.start.size and len(chunks):
        holders: list[int] = []
        content, known = table.content, table.fragment_terms
        for chunk, begin, stop in zip(*(part.tolist() for part in _cut_words(table, start, end)), strict=True):
            piece = content[begin:stop]
            # The same few thousand fragments come back at every phase; "" stands for one that is dropped.
            term = known.get(piece)
            if term is None:
                term = known[piece] = analyser.term(piece.decode("utf-8")) or ""
            if term:
                fragments[term].append(chunk)
                holders.append(chunk)
        length += np.bincount(np.array(holders, dtype=np.int64), minlength=length.size)
    return ChunkWords(low, high, length, fragments)


def _cut_words(table: PositionalTable, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Chunk, first byte and last byte of every fragment: what is left in a chunk of the words its ends cut."""
    final = table.start.size - 1
    # The last word that starts before the edge; it is cut when it ends after it.
    at_start = np.clip(np.searchsorted(table.start, start, side="left") - 1, 0, final)
    at_end = np.clip(np.searchsorted(table.start, end, side="left") - 1, 0, final)
    cut_start = (table.start[at_start] < start) & (table.end[at_start] > start)
    # A word longer than the chunk is cut at both ends and leaves one fragment, not two.
    cut_end = (table.start[at_end] < end) & (table.end[at_end] > end) & (table.start[at_end] >= start)
    head, tail = np.flatnonzero(cut_start), np.flatnonzero(cut_end)
    return (
        np.concatenate((head, tail)),
        np.concatenate((start[head], table.start[at_end[tail]])),
        np.concatenate((np.minimum(table.end[at_start[head]], end[head]), end[tail])),
    )


@dataclass(frozen=True)
class QueryTerms:
    """A block of questions against one table; worth keeping for all builds of a corpus.

    `terms` are the different terms of all questions in vocabulary order, unknown ones (they may be fragments) after
    them by name. `positions` and `owner` list every occurrence of them in the corpus, term after term: index into the
    table's kept words, and into `terms`. `frequency` counts them per term. `pointer`, `columns` and `times` say per
    question which terms it has and how often (compressed rows).
    """

    terms: tuple[str, ...]
    positions: IndexArray
    owner: IndexArray
    frequency: IntArray
    pointer: IntArray
    columns: IntArray
    times: FloatArray

    def __len__(self) -> int:
        return self.pointer.size - 1


def query_terms(questions: Sequence[str], analyser: Analyser, table: PositionalTable) -> QueryTerms:
    """Analyse questions and gather where their terms stand."""
    counted = [Counter(analyser.terms(text)) for text in questions]
    terms = sorted(set().union(*counted), key=lambda term: (table.vocabulary.get(term, table.terms), term))
    number = {term: i for i, term in enumerate(terms)}
    known = [table.vocabulary[term] for term in terms if term in table.vocabulary]  # they come first
    gathered = [table.occurrences(term) for term in known]
    frequency = np.zeros(len(terms), dtype=np.int64)
    frequency[: len(known)] = table.frequency[known]
    columns = [sorted((number[term], times) for term, times in one.items()) for one in counted]
    return QueryTerms(
        tuple(terms),
        np.concatenate([*gathered, np.zeros(0, dtype=np.int64)]).astype(np.int32),
        np.repeat(np.arange(len(terms), dtype=np.int32), frequency),
        frequency,
        np.concatenate(([0], np.cumsum([len(one) for one in columns]))).astype(np.int64),
        np.array([column for one in columns for column, _ in one], dtype=np.int64),
        np.array([times for one in columns for _, times in one], dtype=np.float64),
    )


class BlockScores:
    """Scores of a block of questions over one build, computed row by row as they are asked for.

    A question's sum runs over its *common* terms first (`_common`; their weights are held as dense rows), then over the
    others, each in vocabulary order. What is common follows from corpus and build alone.
    """

    def __init__(self, model: Bm25, table: PositionalTable, words: ChunkWords, block: QueryTerms) -> None:
        """Weigh the block's terms in the build: term counts, then weights where a count is above zero."""
        # Imported here: SciPy takes longer to load than everything else a page or a command needs.
        from scipy.sparse import csr_array

        self.chunks = words.length.size
        number = {term: i for i, term in enumerate(block.terms)}
        row_of, chunk_of, counts = term_counts(words, block.positions, block.owner, number)
        data = _weights(model, words, row_of, chunk_of, counts, len(block.terms))
        pointer = np.concatenate(([0], np.cumsum(np.bincount(row_of, minlength=len(block.terms)))))
        common = _common(table, block, self.chunks)
        place = np.cumsum(common) - 1
        dense = common[row_of]
        self._rows = np.zeros((int(np.count_nonzero(common)), self.chunks), dtype=np.float64)
        self._rows[place[row_of[dense]], chunk_of[dense]] = data[dense]
        self._common = csr_array(_part(block, common[block.columns], place), shape=(len(block), self._rows.shape[0]))
        self._rare = csr_array(
            _part(block, ~common[block.columns], np.arange(len(block.terms))), shape=(len(block), len(block.terms))
        )
        self._weights = csr_array((data, chunk_of, pointer), shape=(len(block.terms), self.chunks))

    def __call__(self, rows: slice) -> IntArray:
        """Scores in units of 1e-6 of some of the questions, shape (questions, chunks)."""
        scores: FloatArray = self._common[rows] @ self._rows
        rest = (self._rare[rows] @ self._weights).tocsr()
        at = np.repeat(np.arange(rest.shape[0]) * self.chunks, np.diff(rest.indptr)) + rest.indices
        scores.reshape(-1)[at] += rest.data
        scores *= QUANTUM
        return np.rint(scores, out=scores).astype(np.int64)


def _part(block: QueryTerms, chosen: BoolArray, place: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Compressed rows of the chosen entries of a block, their columns renumbered."""
    pointer = np.concatenate(([0], np.cumsum(chosen)))[block.pointer].astype(np.int64)
    return block.times[chosen], place[block.columns[chosen]], pointer


def term_counts(
    words: ChunkWords, positions: IndexArray, owner: IndexArray, number: Mapping[str, int]
) -> tuple[IntArray, IntArray, IntArray]:
    """(term, chunk, count) wherever a term stands in a chunk, by term and then chunk; fragments are counted too.

    `positions` are occurrences (indices into the table's kept words), term after term and rising within each; `owner`
    is the number of each one's term, and `number` numbers all terms by name.
    """
    chunks = words.length.size
    wide: type[np.signedinteger[Any]] = np.int64 if len(number) * chunks >= 2**31 else np.int32
    low, high = words.low[positions], words.high[positions]
    keys = np.multiply(owner, chunks, dtype=wide) + low
    # Without overlap a word is in one chunk or, cut, in none; with it, in up to ⌈C/S⌉: one layer for each.
    layers = [keys[high > low]]
    deepest = int((high - low).max(initial=0))
    layers += [keys[high - low > layer] + wide(layer) for layer in range(1, deepest)]
    pieces = [
        number[term] * chunks + chunk
        for term in words.fragments.keys() & number.keys()
        for chunk in words.fragments[term]
    ]
    every = np.concatenate((*layers, np.array(pieces, dtype=wide)))
    every.sort(kind="stable")  # merges the layers, each of which is in order already
    heads = np.flatnonzero(np.concatenate(([every.size > 0], every[1:] != every[:-1])))
    counts = np.diff(heads, append=every.size)
    row_of, chunk_of = np.divmod(every[heads], wide(max(1, chunks)))
    return row_of.astype(np.int64), chunk_of.astype(np.int64), counts.astype(np.int64)


def _weights(
    model: Bm25, words: ChunkWords, row_of: IntArray, chunk_of: IntArray, counts: IntArray, terms: int
) -> FloatArray:
    """BM25 weight of each (term, chunk) pair."""
    chunks = words.length.size
    df = np.bincount(row_of, minlength=terms).astype(np.float64)
    idf = np.log(1.0 + (chunks - df + 0.5) / (df + 0.5))
    total = int(words.length.sum())
    average = total / chunks if total else 1.0
    norm = model.k1 * ((1.0 - model.b) + model.b * words.length / average)
    frequency = counts.astype(np.float64)
    weights: FloatArray = idf[row_of] * (frequency / (norm[chunk_of] + frequency))
    return weights


def _common(table: PositionalTable, block: QueryTerms, chunks: int) -> BoolArray:
    """Which terms of the block stand in the corpus at least once per `COMMON` chunks, as far as dense rows may grow."""
    counts = np.sort(table.frequency)[::-1]
    most = min(int(np.searchsorted(-counts, -chunks / COMMON, side="right")), DENSE_ENTRIES // max(1, chunks))
    least = int(counts[most]) if most < counts.size else 0
    common: BoolArray = block.frequency > least
    return common

"""What an index build is made of: sizes, structure it broke, text it repeats. Integers, exact fractions and words only.

Every function works on arrays of a whole corpus's chunks; what belongs to a source alone (its structure, its n-grams)
is found once per source however many builds are measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.document_cache import DocumentCache
from evaluation.domain.frozen import Document
from evaluation.domain.segmenters.separators import word_pattern
from evaluation.domain.segmenters.structural import blanks_after
from evaluation.domain.structure import Structure, structure_of
from evaluation.domain.tokens import IntArray, TokenizedText, code_point_starts

#: Words of an n-gram, unless a caller says otherwise.
NGRAM = 5


def chunk_measures(
    documents: Sequence[Document], tokenized: Sequence[TokenizedText], chunks: CorpusChunks, ngram: int = NGRAM
) -> dict[str, Any]:
    """The measures of one index build, ready for a canonical record.

    `documents` and `tokenized` are the prepared corpus's, in its order. Quartiles are by nearest rank (the value at
    position ⌈q·n⌉ of the sorted sizes), so that they are sizes that occur; means and shares are fractions in lowest
    terms, like `513/2`, and "" where there is nothing to divide by.

    * `orphan_headings`: chunks that end with a heading (or in it) while the text below it starts in another chunk.
    * `fragmented_tables`: tables with rows of which no chunk holds all; `severed_rows`: rows that no chunk holds whole.
    * `repeated_ngrams`: of the n-grams (words as `separators.word_pattern` says, case kept) that lie whole inside a
      chunk, how many occur in the chunk before it in the same document, whether by overlap or by repetition.
    """
    structures = [structure_of(document) for document in documents]
    sizes = chunks.token_end - chunks.token_start
    indexed, source = int(sizes.sum()), sum(text.n for text in tokenized)
    inside, repeated = repeated_ngrams(documents, chunks, ngram)
    grams, again = int(inside.sum()), int(repeated.sum())
    remarks: Counter[str] = Counter()
    for table in chunks.tables:
        remarks.update(table.remarks)
    rows = [_table_counts(structure, *_of_document(chunks, at)) for at, structure in enumerate(structures)]
    return {
        "chunks": len(chunks),
        "bytes": int((chunks.end - chunks.start).sum()),
        "index_tokens": indexed,
        "source_tokens": source,
        "expansion": _fraction(indexed, source),
        "tokens": _distribution(sizes),
        "headings": sum(len(structure.headings) for structure in structures),
        "orphan_headings": sum(
            _orphans(document, structure, *_of_document(chunks, at))
            for at, (document, structure) in enumerate(zip(documents, structures, strict=True))
        ),
        "tables": sum(len(structure.tables) for structure in structures),
        "fragmented_tables": sum(fragmented for fragmented, _ in rows),
        "table_rows": sum(len(table.rows) for structure in structures for table in structure.tables),
        "severed_rows": sum(severed for _, severed in rows),
        "repeated_ngrams": {"n": ngram, "ngrams": grams, "repeated": again, "share": _fraction(again, grams)},
        "empty_cores": sum(int(table.empty_cores.size) for table in chunks.tables),
        "dropped_tails": sum(table.dropped_tails for table in chunks.tables),
        "inheriting": sum(int(np.count_nonzero(t.lineage[:, 0] >= 0)) for t in chunks.tables if t.lineage is not None),
        "remarks": dict(sorted(remarks.items())),
    }


def repeated_ngrams(
    documents: Sequence[Document], chunks: CorpusChunks, ngram: int = NGRAM
) -> tuple[IntArray, IntArray]:
    """Per chunk: n-grams that lie whole inside it, and how many of those occur in the chunk before it as well.

    Raises `ValueError` for an `ngram` below 1.
    """
    if isinstance(ngram, bool) or ngram < 1:
        raise ValueError(f"an n-gram has at least 1 word, got {ngram!r}")
    inside, repeated = np.zeros(len(chunks), dtype=np.int64), np.zeros(len(chunks), dtype=np.int64)
    for at, document in enumerate(documents):
        span = slice(int(chunks.first[at]), int(chunks.first[at + 1]))
        grams = _grams_of(document.content, ngram)
        inside[span], repeated[span] = _repeats(grams, chunks.start[span], chunks.end[span])
    return inside, repeated


def moved_cuts(chunks: CorpusChunks, usual: CorpusChunks) -> tuple[int, int]:
    """(cuts of `chunks` that are none of `usual`, cuts of `chunks`), over the documents of one corpus.

    A structural segmenter's phases can share most of their cuts; what did not move is no second observation.
    """
    moved = total = 0
    for mine, theirs in zip(chunks.tables, usual.tables, strict=True):
        cuts = np.unique(mine.cut_bytes)
        moved += int(np.count_nonzero(~np.isin(cuts, theirs.cut_bytes)))
        total += int(cuts.size)
    return moved, total


@dataclass(frozen=True)
class _Grams:
    """The n-grams of a source in order: bytes each takes, and a number that equal n-grams share."""

    starts: IntArray
    ends: IntArray
    ids: IntArray
    keys: IntArray


_GRAMS: DocumentCache[_Grams] = DocumentCache()


def _grams_of(content: bytes, ngram: int) -> _Grams:
    def make() -> _Grams:
        text = content.decode("utf-8")
        spans: list[tuple[int, int]] = []
        words: dict[str, int] = {}
        numbers: list[int] = []
        for match in word_pattern().finditer(text):
            spans.append(match.span())
            numbers.append(words.setdefault(match.group(), len(words)))
        count = max(0, len(spans) - ngram + 1)
        places = np.array(spans, dtype=np.int64).reshape(-1, 2)
        if not text.isascii():
            places = code_point_starts(content)[places]
        word = np.array(numbers, dtype=np.int64)
        ids = word[:count]
        for step in range(1, ngram):
            # Numbers of pairs (n-gram so far, next word) made dense again: exact, where a hash could collide.
            pairs = ids * max(len(words), 1) + word[step : step + count]
            ids = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        keys = np.sort(ids * (count + 1) + np.arange(count, dtype=np.int64))
        return _Grams(places[:count, 0], places[len(spans) - count :, 1], ids, keys)

    return _GRAMS.get(content, ngram, make)


def _repeats(grams: _Grams, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Per chunk of one document: n-grams inside, and those that occur in the chunk before."""
    first = np.searchsorted(grams.starts, starts, side="left").astype(np.int64)
    after = np.maximum(np.searchsorted(grams.ends, ends, side="right").astype(np.int64), first)
    inside = after - first
    if starts.size < 2:
        return inside, np.zeros(starts.size, dtype=np.int64)
    # An n-gram the two chunks share by overlap is in both; only those beyond the chunk before must be looked up.
    shared = np.clip(after[:-1] - first[1:], 0, inside[1:])
    begin, count = first[1:] + shared, inside[1:] - shared
    chunk = np.repeat(np.arange(1, starts.size, dtype=np.int64), count)
    gram = np.arange(int(count.sum()), dtype=np.int64) + np.repeat(begin - (np.cumsum(count) - count), count)
    row = grams.ids[gram] * (grams.ids.size + 1)
    latest = np.searchsorted(grams.keys, row + after[chunk - 1], side="left") - 1
    found = (latest >= 0) & (grams.keys[np.maximum(latest, 0)] >= row + first[chunk - 1])
    repeated = np.bincount(chunk[found], minlength=starts.size).astype(np.int64)
    repeated[1:] += shared
    return inside, repeated


def _of_document(chunks: CorpusChunks, at: int) -> tuple[IntArray, IntArray]:
    span = slice(int(chunks.first[at]), int(chunks.first[at + 1]))
    return chunks.start[span], chunks.end[span]


def _orphans(document: Document, structure: Structure, starts: IntArray, ends: IntArray) -> int:
    del starts
    if not structure.headings:
        return 0
    heads = np.array([heading.start for heading in structure.headings], dtype=np.int64)
    texts = np.array([blanks_after(document.content, heading.end) for heading in structure.headings], dtype=np.int64)
    last = np.searchsorted(heads, ends, side="left") - 1
    at = np.maximum(last, 0)
    return int(np.count_nonzero((last >= 0) & (ends <= texts[at]) & (texts[at] < structure.size)))


def _table_counts(structure: Structure, starts: IntArray, ends: IntArray) -> tuple[int, int]:
    """Fragmented tables and severed rows. Starts increase and ends never decrease, so the last chunk that starts at or
    before a row reaches furthest of those that could hold it.
    """
    fragmented = severed = 0
    for table in structure.tables:
        if not table.rows or not starts.size:
            continue
        rows = np.array(table.rows, dtype=np.int64)
        # The line end behind a row is no part of what it says.
        texts = np.array(
            [cells[-1][1] if cells else row[0] for cells, row in zip(table.cells[1:], table.rows, strict=True)]
        )
        reach = ends[np.searchsorted(starts, rows[:, 0], side="right") - 1]
        severed += int(np.count_nonzero(reach < texts))
        fragmented += int(reach[0] < texts[-1])
    return fragmented, severed


def _distribution(sizes: IntArray) -> dict[str, int | str]:
    if not sizes.size:
        return {"min": 0, "first_quartile": 0, "median": 0, "third_quartile": 0, "max": 0, "mean": ""}
    ordered = np.sort(sizes)
    n = int(ordered.size)

    def rank(quarters: int) -> int:
        return int(ordered[max(0, -(-quarters * n // 4) - 1)])

    return {
        "min": rank(0),
        "first_quartile": rank(1),
        "median": rank(2),
        "third_quartile": rank(3),
        "max": rank(4),
        "mean": _fraction(int(ordered.sum()), n),
    }


def _fraction(numerator: int, denominator: int) -> str:
    if denominator == 0:
        return ""
    exact = Fraction(numerator, denominator)
    return f"{exact.numerator}/{exact.denominator}"

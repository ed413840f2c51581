"""The declared word analyser, and one table of word positions per corpus.

A *word* is a maximal run of letters, digits, underscores and combining marks (Unicode as Python knows it; its version
is in the manifest). Because a word is a maximal run, analysing any slice of a source gives the whole words inside the
slice plus, where its edges fall inside a word, the fragments left there: exactly what an index of that slice would
hold. Words are lower-cased to make terms; the source is never changed. A term shorter than `min_length` code points,
or in the stop list, is dropped, words and fragments alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from evaluation.domain.chunk_id import digest_of
from evaluation.domain.frozen import Document
from evaluation.domain.tokens import IntArray, code_point_starts

if TYPE_CHECKING:
    from evaluation.domain.bm25 import QueryTerms


class AnalyserError(ValueError):
    """An analyser configuration that cannot be used."""


@cache
def word_pattern() -> re.Pattern[str]:
    """Runs of `\\w` and combining marks; `\\w` alone leaves marks out and breaks Devanagari and NFD words."""
    # Planes 4 to 13 are unassigned and 15 and 16 private: no marks there, and four fifths of all code points.
    points = (*range(0x300, 0x40000), *range(0xE0000, 0xE1000))
    ranges: list[str] = []
    start = previous = -2
    for point, category in zip(points, map(unicodedata.category, map(chr, points)), strict=True):
        if category[0] != "M":
            continue
        if point != previous + 1:
            if start >= 0:
                ranges.append(f"{chr(start)}-{chr(previous)}")
            start = point
        previous = point
    ranges.append(f"{chr(start)}-{chr(previous)}")
    return re.compile(rf"[\w{''.join(ranges)}]+")


def word_edges(text: str) -> tuple[IntArray, IntArray]:
    """Start and end of every word of `text` in code points; the runs `word_pattern` finds, found all at once."""
    codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    if not codes.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    pattern = word_pattern()
    # Only the code points that occur are looked at: some hundred, of more than a million.
    table = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
    table[codes] = True
    present = np.flatnonzero(table)
    table[present] = [pattern.fullmatch(chr(point)) is not None for point in present.tolist()]
    inside = np.zeros(codes.size + 2, dtype=np.int8)
    inside[1:-1] = table[codes]
    edges = np.diff(inside)
    return np.flatnonzero(edges == 1).astype(np.int64), np.flatnonzero(edges == -1).astype(np.int64)


@dataclass(frozen=True)
class Analyser:
    """Turns text into terms. `stop_words` are compared after lower-casing."""

    stop_words: frozenset[str] = frozenset()
    min_length: int = 2

    def __post_init__(self) -> None:
        if isinstance(self.min_length, bool) or self.min_length < 1:
            raise AnalyserError(f"analyser: min_length must be at least 1, got {self.min_length!r}")
        folded = {word for word in self.stop_words if word != word.lower()}
        if folded:
            raise AnalyserError(f"analyser: write stop words in lower case, got {sorted(folded)}")

    @property
    def description(self) -> dict[str, str | int]:
        """What it is, in canonical values; the stop words by digest and number."""
        return {
            "analyser": "words",
            "version": "1",
            "unicode": unicodedata.unidata_version,
            "min_length": self.min_length,
            "stop_words": len(self.stop_words),
            "stop_words_digest": digest_of("stop-words", sorted(self.stop_words)),
        }

    def term(self, word: str) -> str | None:
        """The term of a word or fragment, None when it is dropped."""
        folded = word.lower()
        if len(folded) < self.min_length or folded in self.stop_words:
            return None
        return folded

    def terms(self, text: str) -> list[str]:
        """Terms of `text` in order, repetitions kept."""
        return [term for match in word_pattern().finditer(text) if (term := self.term(match.group())) is not None]


@dataclass(frozen=True)
class PositionalTable:
    """All words of a corpus on one byte axis (documents one after the other), words in order of position.

    `start`, `end` (bytes) have one entry per word, `kept_*` the same for the words that are terms;
    `postings[pointer[t]:pointer[t+1]]` are positions into `kept_*` of term t. `vocabulary` numbers terms in order of
    first occurrence. `content` is all documents in one piece, so that a fragment is a slice of it. The last two are
    memories that change no result: terms of fragments, and blocks of questions met before.
    """

    base: IntArray
    start: IntArray
    end: IntArray
    kept_start: IntArray
    kept_end: IntArray
    postings: IntArray
    pointer: IntArray
    vocabulary: Mapping[str, int] = field(repr=False)
    content: bytes = field(repr=False)
    fragment_terms: dict[bytes, str] = field(repr=False, compare=False, default_factory=dict)
    query_blocks: dict[tuple[str, ...], QueryTerms] = field(repr=False, compare=False, default_factory=dict)

    @property
    def terms(self) -> int:
        """Number of different terms."""
        return len(self.vocabulary)

    @cached_property
    def frequency(self) -> IntArray:
        """How often each term stands in the corpus, fragments apart."""
        return np.diff(self.pointer)

    @cached_property
    def kept_terms(self) -> IntArray:
        """The term of each kept word."""
        terms = np.empty(self.postings.size, dtype=np.int64)
        terms[self.postings] = np.repeat(np.arange(self.terms, dtype=np.int64), self.frequency)
        return terms

    def occurrences(self, term: int) -> IntArray:
        """Positions into `kept_start` and `kept_end` where a term stands."""
        return self.postings[int(self.pointer[term]) : int(self.pointer[term + 1])]


def positional_table(documents: Sequence[Document], analyser: Analyser) -> PositionalTable:
    """Analyse every document once. Linear in the text; nothing in it depends on an arm or a phase."""
    sizes = np.array([len(document.content) for document in documents], dtype=np.int64)
    base = np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.int64) if sizes.size else np.zeros(0, dtype=np.int64)
    surfaces: defaultdict[str, int] = defaultdict(count().__next__)  # so that each is lower-cased and looked up once
    starts: list[IntArray] = []
    ends: list[IntArray] = []
    forms: list[IntArray] = []
    for document, offset in zip(documents, base.tolist(), strict=True):
        text = document.content.decode("utf-8")
        first, last = word_edges(text)
        words = [text[begin:end] for begin, end in zip(first.tolist(), last.tolist(), strict=True)]
        forms.append(np.fromiter(map(surfaces.__getitem__, words), dtype=np.int64, count=first.size))
        if not document.content.isascii():
            points = code_point_starts(document.content)
            first, last = points[first], points[last]
        starts.append(first + offset)
        ends.append(last + offset)
    vocabulary: dict[str, int] = {}
    # Surfaces come in order of first occurrence, so terms do too.
    term_of_form = np.array(
        [
            -1 if (term := analyser.term(word)) is None else vocabulary.setdefault(term, len(vocabulary))
            for word in surfaces
        ],
        dtype=np.int64,
    )
    none = [np.zeros(0, dtype=np.int64)]
    start, end, form = (np.concatenate(part or none) for part in (starts, ends, forms))
    term_of = term_of_form[form]
    kept = term_of >= 0
    order = np.argsort(term_of[kept], kind="stable").astype(np.int64)
    pointer = np.concatenate(([0], np.cumsum(np.bincount(term_of[kept], minlength=len(vocabulary))))).astype(np.int64)
    content = b"".join(document.content for document in documents)
    return PositionalTable(base, start, end, start[kept], end[kept], order, pointer, vocabulary, content)

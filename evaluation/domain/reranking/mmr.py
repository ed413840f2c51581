"""Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): each next hit adds something to those before it.

Hits are taken one by one: the next is the one with the largest λ · relevance − (1 − λ) · (largest similarity to a hit
already taken). A hit's relevance is its retriever's score, or 0 if that is negative, over the best of its list; the
similarity of two hits is the cosine of their word counts (terms of the plan's analyser wholly inside the interval,
fragments left out), 0 where one has no words. Both are whole numbers of 1e-6 and λ an exact decimal, so equal values
tie exactly; a tie goes to the better rank. It is a treatment: the order before it stays on record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from evaluation.domain.hits import Hits
from evaluation.domain.tokens import IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from evaluation.domain.pipeline import IndexBuild, PreparedCorpus

_UNIT = 1_000_000
#: Below every value a hit can have: weights have at most six decimals (`MmrConfigError` otherwise).
_TAKEN = -(2**62)


class MmrConfigError(ValueError):
    """A weight that is no decimal from 0 to 1."""


@dataclass(frozen=True)
class MaximalMarginalRelevance:
    """`relevance` is λ as decimal text: 1 keeps the retriever's order, 0 looks at novelty alone."""

    relevance: str = "0.7"

    def __post_init__(self) -> None:
        try:
            value = Decimal(self.relevance)
        except InvalidOperation:
            value = Decimal(-1)
        if not value.is_finite() or not 0 <= value <= 1 or Fraction(value).denominator > _UNIT:
            raise MmrConfigError(
                f"mmr: relevance must be a decimal from 0 to 1 with at most six places, got {self.relevance!r}"
            )

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "mmr"

    @property
    def version(self) -> str:
        """Changes whenever equal input would give another order."""
        return "1"

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            "reranker": self.name,
            "version": self.version,
            "relevance": self.relevance,
            "similarity": "cosine of term counts, in units of 1e-6",
        }

    def rerank(
        self, texts: Sequence[str], hits: Hits, scores: IntArray, prepared: PreparedCorpus, build: IndexBuild
    ) -> IntArray:
        """Columns of `hits` in their new order, shape (questions, depth), −1 beyond the end."""
        del texts, build
        total, depth = hits.document.shape
        order = np.full((total, depth), -1, dtype=np.int64)
        vectors, of_hit = _vectors(hits, prepared)
        weight = Fraction(Decimal(self.relevance))
        for q in range(total):
            columns = np.argsort(hits.rank[q, : hits.count[q]], kind="stable")
            if columns.size:
                mine = scores[q, hits.rank[q, columns] - 1].tolist()
                best = max(1, *mine)
                # Python's integers: a score times a million may not fit 64 bits.
                relevance = np.array([max(0, one) * _UNIT // best for one in mine], dtype=np.int64)
                similar = _similarity(vectors, of_hit[q, columns])
                order[q, : columns.size] = columns[_picked(relevance, similar, weight)]
        return order


def _vectors(hits: Hits, prepared: PreparedCorpus) -> tuple[csr_array, IntArray]:
    """Term counts of the different intervals, and which of them each hit is (−1 beyond the end)."""
    # Imported here: SciPy takes longer to load than everything else a page or a command needs.
    from scipy.sparse import csr_array

    table = prepared.words
    base = table.base[hits.document]
    pairs = np.stack((hits.start + base, hits.end + base), axis=-1)[hits.valid]
    different, which = np.unique(pairs, axis=0, return_inverse=True)
    of_hit = np.full(hits.document.shape, -1, dtype=np.int64)
    of_hit[hits.valid] = which.reshape(-1)
    first = np.searchsorted(table.kept_start, different[:, 0], side="left")
    last = np.maximum(first, np.searchsorted(table.kept_end, different[:, 1], side="right"))
    sizes = last - first
    pointer = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    within = np.arange(int(sizes.sum()), dtype=np.int64) - np.repeat(pointer[:-1] - first, sizes)
    terms = table.kept_terms[within]
    counts = csr_array((np.ones(terms.size, dtype=np.int64), terms, pointer), shape=(len(different), table.terms))
    counts.sum_duplicates()
    return counts, of_hit


def _similarity(vectors: csr_array, chosen: IntArray) -> IntArray:
    """Cosines of all pairs of the chosen intervals, in units of 1e-6; whole numbers until the one division."""
    mine = vectors[chosen]
    products = (mine @ mine.T).toarray().astype(np.float64)
    lengths = np.sqrt(np.outer(products.diagonal(), products.diagonal()))
    cosines: IntArray = np.rint(_UNIT * products / np.where(lengths > 0, lengths, 1.0)).astype(np.int64)
    return cosines


def _picked(relevance: IntArray, similar: IntArray, weight: Fraction) -> IntArray:
    """Positions in the order they are taken; equal values go to the lower position."""
    gain = weight.numerator * relevance
    loss = (weight.denominator - weight.numerator) * similar
    nearest = np.zeros(relevance.size, dtype=np.int64)
    taken = np.zeros(relevance.size, dtype=np.bool_)
    picked = np.zeros(relevance.size, dtype=np.int64)
    for place in range(relevance.size):
        best = int(np.argmax(np.where(taken, _TAKEN, gain - nearest)))
        picked[place] = best
        taken[best] = True
        nearest = np.maximum(nearest, loss[best])
    return picked

"""Latent semantic analysis: chunks and questions as points in the space of the largest singular vectors.

Terms are those of the index, fragments at cuts included, as an index of the chunk texts would hold them. A term that
stands tf times in one of N chunks, df of which hold it, weighs (1 + ln tf) · ln(1 + N / df); a chunk's weights are
scaled to length 1. The matrix is cut to its largest singular values (Deerwester et al., JASIS 1990); a question is
weighed like a chunk and projected alike, and the score is the cosine of the two projections. Only cosines above zero
are candidates.

What keeps ranks still: the search for singular vectors starts from a fixed vector; the cut never falls between
singular values that are equal to nine digits (fewer are kept then), and values below 1e-9 of the largest are dropped,
so more dimensions than the rank change nothing; a projection shorter than 1e-9 is no direction, but a question or chunk
without hits; cosines are rounded to 1e-5, far above what the number of BLAS threads moves them by.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evaluation.domain.bm25 import ChunkWords, FloatArray, QueryTerms, term_counts
from evaluation.domain.hits import Ranked
from evaluation.domain.retrieval.lexical import block_terms
from evaluation.domain.retrieval.selection import select
from evaluation.domain.stage_protocols import Queries
from evaluation.domain.tokens import IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from evaluation.domain.pipeline import IndexBuild, PreparedCorpus

#: Cosines are rounded to this many steps per 1 and kept in units of 1e-6.
STEPS = 100_000
UNITS_PER_STEP = 1_000_000 // STEPS

#: Relative size below which a singular value, a gap between two, or a projection counts as zero.
ZERO = 1e-9

#: Singular values computed beyond those wanted, to see whether the cut would split equal ones.
BEYOND = 8


class LatentConfigError(ValueError):
    """A number of dimensions that cannot be used."""


@dataclass(frozen=True)
class LatentRetriever:
    """LSA with at most `dimensions` dimensions."""

    name: ClassVar[str] = "lsa"
    """Name in the registry."""
    version: ClassVar[str] = "1"
    """Changes whenever equal input would give another list."""
    deterministic: ClassVar[bool] = True
    """Equal input always gives equal ranks."""

    dimensions: int = 128

    def __post_init__(self) -> None:
        if isinstance(self.dimensions, bool) or self.dimensions < 1:
            raise LatentConfigError(f"lsa: dimensions must be at least 1, got {self.dimensions!r}")

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values, score precision included."""
        return {
            "retriever": self.name,
            "version": self.version,
            "dimensions": self.dimensions,
            "weights": "(1 + ln tf) * ln(1 + N / df), chunks scaled to length 1",
            "score": "cosine in units of 1e-6, rounded to 1e-5 before ranking; above zero only",
        }

    def index(self, prepared: PreparedCorpus, build: IndexBuild) -> LatentIndex:
        """Index the chunks of `build`."""
        return LatentIndex(self.dimensions, prepared, build)


@dataclass(frozen=True)
class LatentIndex:
    """One build in its latent space."""

    dimensions: int
    prepared: PreparedCorpus
    build: IndexBuild

    def search(self, queries: Queries, depth: int) -> Ranked:
        """The first `depth` chunks of each question under its mask; ties by source, then start."""
        space = self.space
        asked = space.project(block_terms(self.prepared, queries.texts))

        def scores(rows: slice) -> IntArray:
            # einsum without BLAS: a cosine depends on its question and its chunk, not on the size of the block.
            cosines: FloatArray = np.einsum("qd,cd->qc", asked[rows], space.places, optimize=False)
            steps: IntArray = np.maximum(np.rint(cosines * STEPS), 0.0).astype(np.int64)
            return steps * UNITS_PER_STEP

        return select(queries, depth, len(self.build.chunks), scores)

    @cached_property
    def space(self) -> LatentSpace:
        """The latent space of the build; computed once."""
        return latent_space(self.prepared, self.build.words, self.dimensions)


@dataclass(frozen=True)
class LatentSpace:
    """`axes` (terms, dimensions), `places` of the chunks scaled to length 1 (chunks, dimensions), `idf` per term."""

    number: dict[str, int]
    idf: FloatArray
    axes: FloatArray
    places: FloatArray

    def project(self, queries: QueryTerms) -> FloatArray:
        """Questions as directions, shape (questions, dimensions); zero for one without a known term or direction."""
        rows = np.repeat(np.arange(len(queries)), np.diff(queries.pointer))
        terms = np.array([self.number.get(term, -1) for term in queries.terms], dtype=np.int64)[queries.columns]
        known = terms >= 0
        weights = (1.0 + np.log(queries.times[known])) * self.idf[terms[known]]
        # Imported here: SciPy takes longer to load than everything else a page or a command needs.
        from scipy.sparse import csr_array

        matrix = csr_array((weights, (rows[known], terms[known])), shape=(len(queries), len(self.number)))
        return _directions(_unit_rows(matrix) @ self.axes)


def latent_space(prepared: PreparedCorpus, words: ChunkWords, dimensions: int) -> LatentSpace:
    """Weigh all terms of a build and cut the matrix to at most `dimensions` dimensions."""
    from scipy.sparse import csr_array

    table = prepared.words
    number = dict(table.vocabulary)
    for term in sorted(words.fragments.keys() - number.keys()):
        number[term] = len(number)
    owner = np.repeat(np.arange(table.terms, dtype=np.int32), table.frequency)
    row_of, chunk_of, counts = term_counts(words, table.postings.astype(np.int32), owner, number)
    chunks = words.length.size
    df = np.bincount(row_of, minlength=len(number)).astype(np.float64)
    idf = np.log(1.0 + chunks / np.maximum(df, 1.0))
    weights = (1.0 + np.log(counts)) * idf[row_of]
    matrix = _unit_rows(csr_array((weights, (chunk_of, row_of)), shape=(chunks, len(number))))
    axes = _axes(matrix, dimensions)
    return LatentSpace(number, idf, axes, _directions(matrix @ axes))


def _axes(matrix: csr_array, dimensions: int) -> FloatArray:
    """Right singular vectors of the largest singular values, shape (terms, at most `dimensions`)."""
    smaller = min(matrix.shape)
    if smaller == 0 or matrix.nnz == 0:
        return np.zeros((matrix.shape[1], 0), dtype=np.float64)
    wanted = dimensions + BEYOND
    if smaller <= 2 * wanted:
        _, values, vectors = np.linalg.svd(matrix.toarray(), full_matrices=False)
    else:
        from scipy.sparse.linalg import svds

        start = np.full(smaller, 1.0 / np.sqrt(smaller))
        _, values, vectors = svds(matrix, k=wanted, v0=start, return_singular_vectors="vh", solver="arpack")
        values, vectors = values[::-1], vectors[::-1]
    small = ZERO * values[0]
    kept = min(dimensions, int(np.count_nonzero(values > small)))
    while 0 < kept < values.size and values[kept - 1] - values[kept] <= small:
        kept -= 1
    axes: FloatArray = vectors[:kept].T.copy()
    return axes


def _unit_rows(matrix: csr_array) -> csr_array:
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).reshape(-1))
    scaled = matrix.copy()
    scaled.data = matrix.data / np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(matrix.indptr))
    return scaled


def _directions(places: FloatArray) -> FloatArray:
    """Rows scaled to length 1; rows without a direction become zero."""
    lengths = np.sqrt(np.einsum("cd,cd->c", places, places))[:, None]
    some = lengths > ZERO
    directions: FloatArray = np.where(some, places / np.where(some, lengths, 1.0), 0.0)
    return directions

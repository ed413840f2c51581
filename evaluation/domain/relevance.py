"""Which chunks of an index are relevant to a question, for tools that judge ranked lists of chunks.

Support is a union of spans and no chunk needs to hold it alone, so relevance per chunk is a diagnostic under one
declared rule. It looks at the necessary spans of every sufficient set the question's reader may read; chunk and span
lie in the same version:

* *whole*: the chunk holds a span wholly (grade 1);
* *threshold*: at least the plan's `coverage_threshold` of a span's bytes lie in the chunk (grade 1);
* *graded*: 2 for a chunk that is relevant by *whole*, 1 for one that is by *threshold* alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction

import numpy as np

from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.coverage import Target


class Relevance(StrEnum):
    """The rules; see the module."""

    WHOLE = "whole"
    THRESHOLD = "threshold"
    GRADED = "graded"


def chunk_grades(chunks: CorpusChunks, sets: Sequence[Target], rule: Relevance, threshold: Fraction) -> dict[int, int]:
    """Return chunk index → grade (1 or 2) of every relevant chunk, in the order of the chunks."""
    whole: set[int] = set()
    enough: set[int] = set()
    for document, start, end in sorted({span for target in sets for span in target}):
        first, last = int(chunks.first[document]), int(chunks.first[document + 1])
        shared = np.minimum(chunks.end[first:last], end) - np.maximum(chunks.start[first:last], start)
        for at in np.flatnonzero(shared > 0).tolist():
            covered = int(shared[at])
            if covered == end - start:
                whole.add(first + at)
            if covered * threshold.denominator >= threshold.numerator * (end - start):
                enough.add(first + at)
    if rule is Relevance.WHOLE:
        return dict.fromkeys(sorted(whole), 1)
    if rule is Relevance.THRESHOLD:
        return dict.fromkeys(sorted(enough), 1)
    return {chunk: 2 if chunk in whole else 1 for chunk in sorted(whole | enough)}

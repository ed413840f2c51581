"""Where the sentences of a source begin, in bytes, for what packs or cuts them."""

from __future__ import annotations

import numpy as np

from annotate.domain.sentences import sentences
from evaluation.domain.document_cache import DocumentCache
from evaluation.domain.tokens import IntArray, code_point_starts

_BOUNDARIES: DocumentCache[IntArray] = DocumentCache()


def sentence_boundaries(content: bytes, language: str = "") -> IntArray:
    """Bytes where the sentences of UTF-8 `content` start, from 0, with its size at the end; strictly increasing.

    Blanks after a sentence stay with it, those before the first one with the first, so that the intervals between
    boundaries partition the bytes. Found once per source and language.
    """

    def make() -> IntArray:
        text = content.decode("utf-8")
        starts = np.array([start for start, _ in sentences(text, language)][1:], dtype=np.int64)
        places = starts if text.isascii() else code_point_starts(content)[starts]
        edges = np.concatenate((np.zeros(1, dtype=np.int64), places, np.array([len(content)], dtype=np.int64)))
        edges.flags.writeable = False
        return edges

    return _BOUNDARIES.get(content, language, make)

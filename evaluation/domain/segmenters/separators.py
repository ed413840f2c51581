"""Where a text may be cut, coarse to fine: boundaries behind paragraphs, lines, sentences, words, or a literal text.

Every function gives bytes, sorted and without repeats, from 0 to the source's size. A separator stays with the text
before it; runs of the same separator are one. Found once per source.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

import numpy as np

from evaluation.domain.document_cache import DocumentCache
from evaluation.domain.sentence_boundaries import sentence_boundaries
from evaluation.domain.structure_parts import line_starts
from evaluation.domain.tokens import IntArray, code_point_starts

#: Separators by name, coarse to fine; any other text is taken literally.
NAMED = ("paragraphs", "lines", "sentences", "words")

_PARAGRAPH = re.compile(rb"(?:\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))+")
_CACHE: DocumentCache[IntArray] = DocumentCache()
_WORDS: DocumentCache[IntArray] = DocumentCache()

#: Scripts written without blanks, whose letters stand for words of their own here.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003fffd"
)


def boundaries(content: bytes, separator: str, language: str = "") -> IntArray:
    """Boundaries of UTF-8 `content` behind one separator: a name in `NAMED`, or a literal text.

    `language` chooses the rules for sentences.
    """
    if separator == "sentences":
        return sentence_boundaries(content, language)
    if separator == "lines":
        return _CACHE.get(content, separator, lambda: line_starts(content))
    if separator == "words":
        return _CACHE.get(content, separator, lambda: _joined(word_starts(content)[1:-1], len(content)))
    pattern = _PARAGRAPH if separator == "paragraphs" else re.compile(rb"(?:%b)+" % re.escape(separator.encode()))
    return _CACHE.get(content, (separator,), lambda: _behind(pattern, content))


def word_starts(content: bytes) -> IntArray:
    """Byte where each word of UTF-8 `content` starts, with its size at the end; shape (words + 1,).

    A word is a maximal run of letters, digits, underscores, combining marks and joiners (Unicode as Python knows it);
    of scripts written without blanks (Chinese, Japanese, Thai, Lao, Khmer, Burmese), each letter with its marks.
    """

    def make() -> IntArray:
        text = content.decode("utf-8")
        starts = np.array([match.start() for match in word_pattern().finditer(text)], dtype=np.int64)
        places = starts if text.isascii() else code_point_starts(content)[starts]
        return np.append(places, np.int64(len(content)))

    return _WORDS.get(content, "", make)


def merged(*levels: IntArray) -> IntArray:
    """Boundaries of any level, sorted, each once. Sorting sorted stretches is fast; `np.unique` hashes them all."""
    together = np.sort(np.concatenate(levels), kind="stable")
    return together[np.append(True, np.diff(together) > 0)] if together.size else together


@cache
def word_pattern() -> re.Pattern[str]:
    """What a word is. `\\w` leaves combining marks out and breaks Devanagari and NFD words, so marks are looked up."""
    points = np.array(
        [point for point in range(0x300, sys.maxunicode + 1) if unicodedata.category(chr(point))[0] == "M"]
    )
    breaks = np.flatnonzero(np.diff(points) > 1)
    firsts, lasts = points[np.append(0, breaks + 1)].tolist(), points[np.append(breaks, points.size - 1)].tolist()
    marks = "\u200c\u200d" + "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(firsts, lasts, strict=True))
    return re.compile(rf"[{_UNSPACED}](?:[{marks}])*|(?:(?![{_UNSPACED}])[\w{marks}])+")


def _behind(pattern: re.Pattern[bytes], content: bytes) -> IntArray:
    found = np.array([match.end() for match in pattern.finditer(content)], dtype=np.int64)
    return _joined(found[found < len(content)], len(content))


def _joined(inner: IntArray, size: int) -> IntArray:
    return np.concatenate((np.zeros(1, dtype=np.int64), inner[inner > 0], np.array([size], dtype=np.int64)))

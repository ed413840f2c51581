"""White space of a UTF-8 text: what may lie between two chunks without any evidence being lost."""

from __future__ import annotations

import re

import numpy as np

from evaluation.domain.tokens import IntArray

_ASCII_BLANK = np.zeros(256, dtype=bool)
_ASCII_BLANK[[9, 10, 11, 12, 13, 28, 29, 30, 31, 32]] = True
# The characters of more than one byte that `str.isspace` knows, hence those that `str.strip` takes away.
_WIDE = "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_WIDE_BLANK = re.compile(b"|".join(sign.encode() for sign in _WIDE))


class BlankCount:
    """Counts the non-blank bytes between any two offsets of a text in constant time. Blank is what `str.isspace`
    says."""

    def __init__(self, text: bytes) -> None:
        """One vectorised pass over `text` (UTF-8 bytes)."""
        filled = ~_ASCII_BLANK[np.frombuffer(text, dtype=np.uint8)]
        if not text.isascii():
            for match in _WIDE_BLANK.finditer(text):
                filled[match.start() : match.end()] = False
        self.size = len(text)
        self._before: IntArray = np.concatenate(([0], np.cumsum(filled, dtype=np.int64)))

    def filled(self, start: int, end: int) -> int:
        """Non-blank bytes in `[start, end)`; 0 when the interval is empty or runs backwards."""
        return max(0, int(self._before[end]) - int(self._before[start])) if end > start else 0

    def end_of_blanks(self, start: int) -> int:
        """Offset of the first non-blank byte at or after `start` (the size of the text where there is none)."""
        return int(np.searchsorted(self._before, self._before[start], side="right")) - 1

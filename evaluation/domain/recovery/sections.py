"""Where the sections of a source begin, for parents by heading."""

from __future__ import annotations

import re

import numpy as np

from evaluation.domain.frozen import Document
from evaluation.domain.tokens import IntArray

_LINE = re.compile(rb"^(?:[ ]{0,3}(?P<fence>```|~~~)|(?P<heading>[ ]{0,3}#{1,6}(?=[ \t\r\n]|\Z)))", re.MULTILINE)


def section_starts(document: Document) -> IntArray:
    """Return where each section of a document starts, in bytes, increasing; the first is 0.

    A section runs from one heading, of whatever level, to the next; what stands before the first is one too.
    """
    found, fenced = [0], b""
    for match in _LINE.finditer(document.content):
        fence = match["fence"]
        if fence:
            fenced = b"" if fenced == fence else fenced or fence
        elif not fenced and match.start() > 0:
            found.append(match.start())
    return np.array(found, dtype=np.int64)

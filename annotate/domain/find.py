"""Find a phrase in a source, anywhere in it, as byte spans.

Case is ignored unless the phrase has a capital; a blank of the phrase matches any run of blanks and line ends, since a
line may break anywhere; an accented letter matches as one character and as letter and mark, since nobody sees which of
them a source holds or a keyboard writes (the bytes found are the source's own, never normalised). Each hidden range
ends a search and begins another, so that nothing hidden is found or bridged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from annotate.domain.errors import BadInput
from annotate.domain.spans import ByteSpan, between

MAX_PHRASE = 300


def phrase_pattern(phrase: str) -> re.Pattern[str]:
    """Return what finds `phrase` in a text; raises BadInput where it is blank or longer than `MAX_PHRASE`."""
    words = phrase.split()
    if not words:
        raise BadInput("find", "there is nothing to find", "Write a word of the source.")
    if len(phrase) > MAX_PHRASE:
        raise BadInput("find", f"it has {len(phrase)} characters", f"Write at most {MAX_PHRASE}.")
    flags = re.NOFLAG if any(character.isupper() for character in phrase) else re.IGNORECASE
    return re.compile(r"\s+".join(map(_either_form, words)), flags)


def _either_form(word: str) -> str:
    """Return a pattern for `word` in which each character may stand composed (NFC) or taken apart (NFD)."""
    made = []
    for character in unicodedata.normalize("NFC", word):
        apart = unicodedata.normalize("NFD", character)
        one = re.escape(character)
        made.append(one if apart == character else f"(?:{one}|{re.escape(apart)})")
    return "".join(made)


def find(content: bytes, phrase: str, hidden: Sequence[ByteSpan] = (), *, most: int = 1_000) -> list[ByteSpan]:
    """Return up to `most` places of `phrase` in `content` (UTF-8), outside the merged, ordered ranges `hidden`."""
    pattern = phrase_pattern(phrase)
    found: list[ByteSpan] = []
    for left, right in between(len(content), hidden):
        raw = content[left:right]
        matches = [match.span() for match in pattern.finditer(raw.decode())][: most - len(found)]
        if matches:
            starts = np.flatnonzero((np.frombuffer(raw, dtype=np.uint8) & 0xC0) != 0x80) + left
            edges = np.append(starts, right)
            found += [ByteSpan(int(edges[first]), int(edges[last])) for first, last in matches]
        if len(found) >= most:
            break
    return found


def around(content: bytes, span: ByteSpan, hidden: Sequence[ByteSpan], characters: int = 60) -> tuple[str, str, str]:
    """Return the text before, in and after a span, as much as may be shown of `characters` on either side."""
    left = max((item.end for item in hidden if item.end <= span.start), default=0)
    right = min((item.start for item in hidden if item.start >= span.end), default=len(content))
    before = content[max(left, span.start - 4 * characters) : span.start].decode("utf-8", "ignore")
    after = content[span.end : min(right, span.end + 4 * characters)].decode("utf-8", "ignore")
    return before[-characters:], content[span.start : span.end].decode(), after[:characters]

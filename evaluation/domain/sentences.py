"""Sentences of a text as code-point intervals, by one declared rule; used to quote, never to move a cut.

A *block* ends at a blank line, and before a line that starts a heading, a list item, a table row or a numbered
clause. Inside a block a sentence ends after `.`, `!`, `?`, `…` (with closing quotes or brackets) before a blank that
is followed by an upper-case letter, a digit, an opening mark or a letter without case; and after `。`, `！`, `？`, `।`,
`؟` in any position. Known abbreviations (`ABBREVIATIONS`) and single capitals do not end a sentence. Sentences carry
no blanks at their ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: Words before a full stop that do not end a sentence (compared in lower case, without the stop).
ABBREVIATIONS = frozenset(
    {
        "approx",
        "art",
        "bzw",
        "ca",
        "cf",
        "ch",
        "co",
        "dr",
        "e.g",
        "eds",
        "etc",
        "fig",
        "i.e",
        "inc",
        "jr",
        "mr",
        "mrs",
        "ms",
        "nr",
        "no",
        "p",
        "para",
        "pp",
        "prof",
        "resp",
        "sec",
        "sect",
        "st",
        "u.a",
        "vgl",
        "vol",
        "vs",
        "z.b",
    }
)

_NEW_BLOCK = re.compile(
    r"\n[ \t]*(?=\r?\n)|\n(?=[ \t]*(?:#{1,6}\s|[-*+•]\s|\||\d{1,3}[.)]\s|\d{1,3}(?:\.\d{1,3})+\s|```))"
)
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？।؟]+[」』”’»)]*")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]+$")


def sentences(text: str) -> list[tuple[int, int]]:
    """Intervals `[start, end)` of the sentences of `text` in code points, in order, without the blanks around them."""
    found: list[tuple[int, int]] = []
    for begin, end in _blocks(text):
        found += [pair for pair in _in_block(text, begin, end) if pair[0] < pair[1]]
    return found


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for match in _NEW_BLOCK.finditer(text):
        yield at, match.end()
        at = match.end()
    yield at, len(text)


def _in_block(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    at = begin
    for match in _END.finditer(text, begin, end):
        if _ends(text, at, match.start(), match.end(), end):
            yield _stripped(text, at, match.end())
            at = match.end()
    yield _stripped(text, at, end)


def _ends(text: str, at: int, mark: int, after: int, end: int) -> bool:
    if text[mark] in "。！？।؟!?…":
        return True
    word = _LAST_WORD.search(text[at:mark])
    last = word.group().lower() if word else ""
    if last in ABBREVIATIONS or (len(last) == 1 and last.isalpha() and text[mark - 1].isupper()):
        return False
    following = text[after:end].lstrip()
    # A letter of a script without case (Arabic, Japanese) is as good as a capital.
    return not following or not following[0].islower()


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end

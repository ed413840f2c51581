"""Citations of an answer, resolved one by one to what the reader was shown.

`[1]` cites unit 1; `[1, 2]` cites two units and `[1][1]` cites one unit twice, each counted as a citation of its own.
A number no visible unit has (`[0]`, `[-1]`, `[99]`) is a citation that does not resolve; it is reported and never
dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.domain.frozen import Interval

_CITATION = re.compile(r"\[\s*(-?[0-9]+(?:\s*,\s*-?[0-9]+)*)\s*\]")
_NUMBER = re.compile(r"-?[0-9]+")

#: A citation number longer than this is text that looks like one; it can resolve to nothing either way.
MAX_DIGITS = 9


@dataclass(frozen=True)
class Citation:
    """One cited number at code point `position` of the answer; `interval` is None when it does not resolve."""

    number: int
    position: int
    interval: Interval | None

    @property
    def resolved(self) -> bool:
        """Whether it leads to a visible interval."""
        return self.interval is not None


def numbers(text: str) -> list[tuple[int, int]]:
    """Every cited (number, position) in order of appearance; numbers of more than nine digits become −1."""
    found: list[tuple[int, int]] = []
    for bracket in _CITATION.finditer(text):
        for digits in _NUMBER.finditer(text, bracket.start(1), bracket.end(1)):
            number = int(digits.group()) if len(digits.group().lstrip("-")) <= MAX_DIGITS else -1
            found.append((number, digits.start()))
    return found


def resolve(text: str, visible: Sequence[Interval]) -> tuple[Citation, ...]:
    """Citations of `text` against the visible intervals, numbered from 1 in prompt order."""
    return tuple(
        Citation(number, position, visible[number - 1] if 1 <= number <= len(visible) else None)
        for number, position in numbers(text)
    )

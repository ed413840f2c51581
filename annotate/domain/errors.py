"""What Cutline says when it is given something it cannot use.

One family for the whole product: the site answers it with 422, the API with 422 and the three fields, a command with
exit code 2. Nothing has been written when one of these is raised.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence

_SHORT = reprlib.Repr(maxlevel=3, maxlist=4, maxdict=4, maxstring=120, maxother=120, maxlong=40)


def shown(value: object) -> str:
    """Return a value as a message names it: its repr, cut where it is long or deep, since what is wrong may be huge."""
    return _SHORT.repr(value)


class BadInput(ValueError):
    """Input that is refused: `where` it stands, `what` is wrong with it, how to `mend` it. Each is a full phrase."""

    def __init__(self, where: str, what: str, mend: str) -> None:
        self.where = where
        self.what = what
        self.mend = mend
        super().__init__(where, what, mend)

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.mend}"

    @property
    def problems(self) -> tuple[BadInput, ...]:
        """Return every single problem; more than one only for BadInputs."""
        return (self,)

    def as_dict(self) -> dict[str, str]:
        """Return the three fields, as the API shows them."""
        return {"where": self.where, "what": self.what, "mend": self.mend}

    def inside(self, place: str) -> BadInput:
        """Return the same problem with `place` (a file, a row) put before where it stands."""
        return type(self)(f"{place}, {self.where}" if self.where else place, self.what, self.mend)


class BadInputs(BadInput):
    """Several problems found in one go, so that a person mends a whole file or folder and not one line at a time."""

    def __init__(self, where: str, problems: Sequence[BadInput]) -> None:
        if not problems:
            raise ValueError("BadInputs needs at least one problem")
        self._problems = tuple(single for problem in problems for single in problem.problems)
        count = len(self._problems)
        super().__init__(
            where, f"{count} problem{'s' if count > 1 else ''}, nothing was written", "Mend each and run again."
        )

    def __str__(self) -> str:
        return "\n".join([f"{self.where}: {self.what}.", *(f"  {problem}" for problem in self._problems)])

    @property
    def problems(self) -> tuple[BadInput, ...]:
        """Return every single problem in the order found."""
        return self._problems

    def inside(self, place: str) -> BadInputs:
        """Return the same problems, each with `place` put before where it stands."""
        return BadInputs(place, [problem.inside(place) for problem in self._problems])


class SpanError(BadInput):
    """A span that is no half-open byte span of its text, or whose quote is not what the text says there."""


class CoordinateError(BadInput):
    """A position that does not exist in its unit: beyond the end, or inside a character or a surrogate pair."""


class EncodingRefused(BadInput):
    """Bytes that are not UTF-8. `offset` is the first bad byte, `byte` its value."""

    def __init__(self, where: str, what: str, mend: str, *, offset: int = 0, byte: int = 0) -> None:
        self.offset = offset
        self.byte = byte
        super().__init__(where, what, mend)

    def inside(self, place: str) -> EncodingRefused:
        """Return the same refusal with `place` put before where it stands."""
        where = f"{place}, {self.where}" if self.where else place
        return EncodingRefused(where, self.what, self.mend, offset=self.offset, byte=self.byte)

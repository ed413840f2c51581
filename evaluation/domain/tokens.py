"""Tokens of a source as byte offsets, resolved only where they are asked for.

A tokenizer is known here by a name, a digest and the bytes where its tokens start. Reading every offset of a long
source costs about a fifth of encoding it again; a sweep needs only those at cuts, so `TokenizedText.starts_at` asks
the tokenizer for exactly the indices it is given.

Rules
-----
* Token `i` *starts* at the first byte of the code point its first character belongs to. A byte-level tokenizer may
  split a code point; all tokens that share it start at the same byte, so a cut there has already moved back to the
  start of the code point.
* Index `n` (one past the last token) stands for the end of the source.
* Bytes no token covers (blanks of a word-piece tokenizer, text a normaliser drops) belong to the token before them;
  those before the first token belong to the first core, because cores start at the source's edge and not at token 0.
* Starts never decrease. A tokenizer whose offsets run backwards is refused by name instead of being repaired silently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

type IntArray = npt.NDArray[np.int64]

#: A text asked for more than one in so many of its tokens, all questions together, is read whole.
WHOLE_SHARE = 2


class TokenOffsetsError(ValueError):
    """A tokenizer reported offsets that cannot be byte offsets of the text it was given."""


def code_point_starts(content: bytes) -> IntArray:
    """Byte offset of each code point of UTF-8 `content`, with `len(content)` appended; shape (code points + 1,).

    One vectorised pass: a byte starts a code point unless its two top bits are `10`.
    """
    raw = np.frombuffer(content, dtype=np.uint8)
    starts = np.flatnonzero((raw & 0xC0) != 0x80).astype(np.int64)
    return np.append(starts, np.int64(len(content)))


class TokenizedText:
    """The tokens of one byte string: how many (`n`), and where any of them starts.

    `resolve` gives the byte offset at which each of the given token indices (all below `n`, any order) starts.
    """

    __slots__ = ("_all", "_asked", "_resolve", "n", "size")

    def __init__(self, n: int, size: int, resolve: Callable[[IntArray], IntArray]) -> None:
        self.n = n
        self.size = size
        self._resolve: Callable[[IntArray], IntArray] | None = resolve
        self._all: IntArray | None = None
        self._asked = 0

    def starts_at(self, indices: npt.ArrayLike) -> IntArray:
        """Byte offsets where the tokens at `indices` start; index `n` gives the size of the text.

        Raises `IndexError` outside 0…n and `TokenOffsetsError` when the answers decrease along increasing indices.
        """
        asked = np.asarray(indices, dtype=np.int64)
        if asked.size and (int(asked.min()) < 0 or int(asked.max()) > self.n):
            raise IndexError(f"token index outside 0…{self.n}: asked for {int(asked.min())}…{int(asked.max())}")
        resolve, known = self._resolve, self._all
        self._asked += asked.size
        # One by one costs more than twice as much a token as all at once: from here on the whole is the cheaper way.
        if known is not None or resolve is None or self._asked * WHOLE_SHARE > self.n:
            return self.starts()[asked]
        out = np.full(asked.shape, self.size, dtype=np.int64)
        inside = asked < self.n
        out[inside] = resolve(asked[inside])
        order = np.argsort(asked, kind="stable")
        self._check(out[order])
        return out

    def starts(self) -> IntArray:
        """Where every token starts, with the size of the text appended; shape (n + 1,), computed once.

        From then on 8 bytes a token are kept and the tokenizer's own record of the text, many times that, is let go.
        """
        # Read in this order and written in the other, so that threads that share a text never find neither.
        resolve, known = self._resolve, self._all
        if known is None:
            assert resolve is not None
            known = np.append(resolve(np.arange(self.n, dtype=np.int64)), np.int64(self.size))
            self._check(known)
            self._all = known
            self._resolve = None
        return known

    def token_containing(self, offset: int) -> int:
        """Index of the first token of the character at byte `offset` (0 when no token starts at or before it).

        A byte-level tokenizer may split a character into several tokens; all of them start where the character does.
        """
        starts = self.starts()[:-1]
        last = max(0, int(np.searchsorted(starts, offset, side="right")) - 1)
        return int(np.searchsorted(starts, starts[last], side="left")) if starts.size else 0

    def first_token_from(self, offset: int) -> int:
        """Index of the first token that starts at or after byte `offset` (`n` when none does)."""
        return int(np.searchsorted(self.starts()[:-1], offset, side="left"))

    def spanning(self, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
        """Tokens that have a byte in the intervals `[start, end)`, as half-open index ranges; shapes as given.

        What an interval of a source costs, whoever made it: a token that two intervals share counts for both, as it
        would if each were tokenised by itself. Tokens that share a character are taken or left together.
        """
        begins = self.starts()[:-1]
        if not begins.size:
            nothing = np.zeros(start.shape, dtype=np.int64)
            return nothing, nothing.copy()
        holding = np.maximum(np.searchsorted(begins, start, side="right") - 1, 0)
        first = np.searchsorted(begins, begins[holding], side="left").astype(np.int64)
        return first, np.maximum(first, np.searchsorted(begins, end, side="left")).astype(np.int64)

    def _check(self, values: IntArray) -> None:
        if values.size and (int(values[0]) < 0 or int(values[-1]) > self.size or bool(np.any(np.diff(values) < 0))):
            raise TokenOffsetsError(
                f"the tokenizer's offsets run backwards or leave the text of {self.size} bytes; "
                "use one whose offsets follow the text (any tokenizer.json of the tokenizers package does)"
            )


@runtime_checkable
class Tokenizer(Protocol):
    """What the domain needs of a tokenizer. `digest` pins its file (hex SHA-256), `version` the code that runs it."""

    @property
    def name(self) -> str:
        """Name used in plans."""

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the definition."""

    @property
    def version(self) -> str:
        """Version of the package that executes it."""

    def encode(self, text: bytes) -> TokenizedText:
        """Tokens of UTF-8 `text`, no special tokens, no truncation. Raises `UnicodeDecodeError` on other bytes."""

    def count(self, text: bytes) -> int:
        """How many tokens `text` takes in a prompt."""

    def count_many(self, texts: Sequence[bytes]) -> list[int]:
        """`count` of each text, in order; one call so that an implementation may batch."""

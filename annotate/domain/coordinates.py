"""Translation between the units a position in a text can be counted in: bytes, code points, UTF-16 units and tokens.

Each unit has a type of its own and nothing here takes a bare int, so that a byte offset cannot be used as a character
index. W3C text position selectors and SQuAD count code points, browsers count UTF-16 units, Cutline stores UTF-8 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from annotate.domain.errors import CoordinateError
from annotate.domain.spans import decode_utf8_or_refuse

Positions = NDArray[np.int64]


@dataclass(frozen=True, order=True, slots=True)
class Position:
    """A count from the start of one text, in the unit the subclass names; only whole numbers from 0 are accepted."""

    value: int
    unit: ClassVar[str] = "position"

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise CoordinateError(
                self.unit, f"{self.value!r} is a {type(self.value).__name__}", "Positions are whole numbers."
            )
        if self.value < 0:
            raise CoordinateError(f"{self.unit} {self.value}", "it is negative", "Positions are counted from 0.")


class ByteOffset(Position):
    """UTF-8 bytes before the position."""

    unit = "byte"
    __slots__ = ()


class CodePointOffset(Position):
    """Unicode code points before the position."""

    unit = "code point"
    __slots__ = ()


class Utf16Offset(Position):
    """UTF-16 code units before the position: two for a character beyond U+FFFF, as in JavaScript."""

    unit = "UTF-16 unit"
    __slots__ = ()


class TokenIndex(Position):
    """Tokens of a named tokenizer before the position."""

    unit = "token"
    __slots__ = ()


TextPosition = ByteOffset | CodePointOffset | Utf16Offset


class CoordinateMap:
    """Positions of one text in every unit. One pass over the bytes; each translation is a binary search at most.

    Raises EncodingRefused when `content` is not UTF-8, and CoordinateError from every method for a position beyond the
    end or inside a character or surrogate pair.
    """

    def __init__(self, content: bytes) -> None:
        decode_utf8_or_refuse(content)
        raw = np.frombuffer(content, dtype=np.uint8)
        starts = np.flatnonzero((raw & 0xC0) != 0x80)
        # Only four-byte characters (lead byte ≥ 0xF0) take two UTF-16 units.
        self._wide = np.flatnonzero(raw[starts] >= 0xF0).astype(np.int64)
        self._wide_utf16 = self._wide + np.arange(len(self._wide), dtype=np.int64)
        self._starts = np.append(starts, len(content)).astype(np.int64)
        self._starts.flags.writeable = False

    @property
    def byte_length(self) -> int:
        """Length of the text in bytes."""
        return int(self._starts[-1])

    @property
    def code_point_length(self) -> int:
        """Length of the text in code points."""
        return len(self._starts) - 1

    @property
    def utf16_length(self) -> int:
        """Length of the text in UTF-16 units."""
        return self.code_point_length + len(self._wide)

    @property
    def code_point_starts(self) -> Positions:
        """Byte start of each code point and, last, the byte length: index it with code points to translate in bulk."""
        return self._starts

    def to_bytes(self, position: TextPosition) -> ByteOffset:
        """Return `position` in bytes."""
        return ByteOffset(int(self._starts[self._code_point(position)]))

    def to_code_points(self, position: TextPosition) -> CodePointOffset:
        """Return `position` in code points."""
        return CodePointOffset(self._code_point(position))

    def to_utf16(self, position: TextPosition) -> Utf16Offset:
        """Return `position` in UTF-16 units."""
        point = self._code_point(position)
        return Utf16Offset(point + int(np.searchsorted(self._wide, point)))

    def tokens(self, starts: Positions) -> TokenMap:
        """Return the map of a tokenization whose tokens begin at the bytes `starts` (never decreasing)."""
        return TokenMap(self, starts)

    def _code_point(self, position: TextPosition) -> int:
        if isinstance(position, ByteOffset):
            return self._from_byte(position.value)
        if isinstance(position, Utf16Offset):
            return self._from_utf16(position.value)
        if isinstance(position, CodePointOffset):
            _within(position, self.code_point_length)
            return position.value
        raise TypeError(f"{position!r} names no unit: use ByteOffset, CodePointOffset or Utf16Offset")

    def _from_byte(self, value: int) -> int:
        _within(ByteOffset(value), self.byte_length)
        point = int(np.searchsorted(self._starts, value))
        if self._starts[point] != value:
            before, after = int(self._starts[point - 1]), int(self._starts[point])
            raise CoordinateError(
                f"byte {value}",
                f"it lies inside the character at bytes {before} to {after}",
                f"Use {before} or {after}.",
            )
        return point

    def _from_utf16(self, value: int) -> int:
        _within(Utf16Offset(value), self.utf16_length)
        wide_before = int(np.searchsorted(self._wide_utf16, value))
        if wide_before and self._wide_utf16[wide_before - 1] == value - 1:
            raise CoordinateError(
                f"UTF-16 unit {value}", "it lies inside a surrogate pair", f"Use {value - 1} or {value + 1}."
            )
        return value - wide_before


class TokenMap:
    """Positions of one text in tokens, given the byte each token starts at.

    Tokens may start inside a character (byte-level tokenizers) and leave gaps (tokenizers that skip blanks); several
    may start at the same byte.
    """

    def __init__(self, coordinates: CoordinateMap, starts: Positions) -> None:
        self._coordinates = coordinates
        self._starts = np.asarray(starts, dtype=np.int64)
        if self._starts.ndim != 1:
            raise ValueError(f"token starts must be one row of offsets, not of shape {self._starts.shape}")
        if len(self._starts) and (self._starts[0] < 0 or self._starts[-1] > coordinates.byte_length):
            raise CoordinateError(
                "token starts", f"they leave the text of {coordinates.byte_length} bytes", "Tokenise this very text."
            )
        if np.any(np.diff(self._starts) < 0):
            raise CoordinateError("token starts", "they decrease", "Give them in the order of the text.")

    def __len__(self) -> int:
        return len(self._starts)

    def token_at(self, position: TextPosition) -> TokenIndex | None:
        """Return the last token that starts at or before `position`; None before the first token."""
        at = self._coordinates.to_bytes(position).value
        index = int(np.searchsorted(self._starts, at, side="right")) - 1
        return TokenIndex(index) if index >= 0 else None

    def start_of(self, token: TokenIndex) -> ByteOffset:
        """Return where `token` starts, moved back to the start of a character it splits; token n is the text's end."""
        _within(token, len(self._starts))
        if token.value == len(self._starts):
            return ByteOffset(self._coordinates.byte_length)
        starts = self._coordinates.code_point_starts
        point = int(np.searchsorted(starts, self._starts[token.value], side="right")) - 1
        return ByteOffset(int(starts[point]))

    def splits_character(self, token: TokenIndex) -> bool:
        """Whether `token` starts inside a character."""
        return token.value < len(self._starts) and self.start_of(token).value != int(self._starts[token.value])


def _within(position: Position, length: int) -> None:
    if position.value > length:
        raise CoordinateError(
            f"{position.unit} {position.value}",
            f"it lies beyond the text, which has {length} {position.unit}s",
            f"Use at most {length}.",
        )

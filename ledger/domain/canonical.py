"""Canonical bytes: the one form of a JSON value that is ever hashed.

Rules: members sorted by the code points of their keys, UTF-8 without escapes beyond those JSON demands, no
insignificant space, whole numbers only. Numbers with a fraction travel as decimal strings (`decimal_string`), because
two writers of the same binary float may print it differently.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NoReturn

MAX_DEPTH = 100
MAX_INTEGER_BITS = 4096
MIN_KEY_BYTES = 16

_NUMBER_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|NaN|-?Infinity')
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89abAB]")


class CanonicalError(ValueError):
    """A value or a byte string that has no canonical form; the message names the JSON path or the byte offset."""


def canonical_bytes(value: Any) -> bytes:
    """Return the canonical JSON bytes of `value`.

    Accepts dict with str keys, list, tuple (written as an array), str, int, bool and None, nested at most 100 deep.
    Raises CanonicalError, naming the JSON path, for anything else: floats (NaN and infinities included), keys that are
    no strings, lone surrogates, integers beyond 4096 bits, foreign types.
    """
    _check(value, "$", 0)
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")


def _check(value: Any, path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise CanonicalError(f"{path[:80]}…: nested deeper than {MAX_DEPTH} levels; flatten the payload.")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_BITS:
            raise CanonicalError(f"{path}: an integer of more than {MAX_INTEGER_BITS} bits; pass it as a string.")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise CanonicalError(f"{path}: the key {key!r} is {type(key).__name__}; JSON keys must be str.")
            _check_text(key, f"{path} (key {key!r})")
            _check(item, f"{path}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(() if _plain_numbers(value) else value):
            _check(item, f"{path}[{index}]", depth + 1)
    elif isinstance(value, float):
        raise CanonicalError(f"{path}: the float {value!r}; pass a decimal string (decimal_string) or an integer.")
    else:
        raise CanonicalError(
            f"{path}: {type(value).__name__} has no canonical form; use dict, list, str, int, bool or None."
        )


def _plain_numbers(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether these are whole numbers of allowed size and nothing else.

    Columns of numbers are most of what a sweep records; checking them one by one, each with its path, would take longer
    than writing them.
    """
    return set(map(type, values)) == {int} and all(
        bound.bit_length() <= MAX_INTEGER_BITS for bound in (min(values), max(values))
    )


def _check_text(text: str, path: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CanonicalError(f"{path}: lone surrogate at code point {error.start}; it has no UTF-8 form.") from error


class _NotWhole(Exception):
    """Raised by the number hooks of the JSON reader."""


def parse_canonical(data: bytes) -> Any:
    """Return the value whose canonical bytes are exactly `data`.

    Raises CanonicalError with the byte offset for bytes that are not UTF-8, not JSON, or JSON in any other form
    (unsorted or doubled keys, spaces, needless escapes, fractions, exponents).
    """
    data = bytes(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CanonicalError(f"byte {error.start}: not UTF-8.") from error
    doubled: list[str] = []
    try:
        value = json.loads(
            text,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
            object_pairs_hook=lambda pairs: _members(pairs, doubled),
        )
    except json.JSONDecodeError as error:
        raise CanonicalError(f"byte {_byte_offset(text, error.pos)}: not JSON ({error.msg}).") from error
    except _NotWhole as error:
        offset = _byte_offset(text, _first_fraction(text))
        raise CanonicalError(f"byte {offset}: {error} is no whole number; write a decimal string.") from error
    except RecursionError as error:
        raise CanonicalError(f"byte 0: nested deeper than {MAX_DEPTH} levels.") from error
    except ValueError as error:
        raise CanonicalError(f"byte 0: {error}") from error
    try:
        again = canonical_bytes(value)
    except CanonicalError as error:
        escape = _SURROGATE_ESCAPE.search(text)
        raise CanonicalError(f"byte {_byte_offset(text, escape.start() if escape else 0)}: {error}") from error
    if again != data:
        offset = _first_difference(again, data)
        why = f"the key {doubled[0]!r} occurs twice" if doubled else "not in canonical form"
        raise CanonicalError(f"byte {offset}: {why}.")
    return value


def _refuse_number(literal: str) -> NoReturn:
    raise _NotWhole(literal)


def _members(pairs: list[tuple[str, Any]], doubled: list[str]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, item in pairs:
        if key in members:
            doubled.append(key)
        members[key] = item
    return members


def _first_fraction(text: str) -> int:
    for match in _NUMBER_OR_STRING.finditer(text):
        token = match.group()
        if not token.startswith('"') and not token.lstrip("-").isdigit():
            return match.start()
    return 0


def _first_difference(one: bytes, two: bytes) -> int:
    shorter = min(len(one), len(two))
    return next((index for index in range(shorter) if one[index] != two[index]), shorter)


def _byte_offset(text: str, position: int) -> int:
    return len(text[:position].encode("utf-8", "surrogatepass"))


def digest(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def keyed_digest(key: bytes, data: bytes) -> str:
    """Return HMAC-SHA-256 of `data` under `key` in hex: a short text cannot be guessed from it without the key.

    Raises ValueError for a key shorter than 16 bytes.
    """
    if len(key) < MIN_KEY_BYTES:
        raise ValueError(f"the key has {len(key)} bytes; give at least {MIN_KEY_BYTES} random ones.")
    return hmac.new(key, data, hashlib.sha256).hexdigest()


def decimal_string(x: float, places: int = 6) -> str:
    """Return `x` with exactly `places` decimals, rounded half-even from its exact binary value; -0 becomes 0.

    Raises CanonicalError for NaN and infinities, ValueError for negative `places`.
    """
    if places < 0:
        raise ValueError(f"places={places}: give 0 or more.")
    number = float(x)
    if not math.isfinite(number):
        raise CanonicalError(f"{number!r} has no decimal form; record its status beside it instead.")
    # 1100 digits hold the exact value of any double, so the only rounding is the declared one.
    context = Context(prec=1100 + places, rounding=ROUND_HALF_EVEN)
    rounded = Decimal(number).quantize(Decimal(1).scaleb(-places, context), context=context)
    return format(abs(rounded) if rounded.is_zero() else rounded, "f")

"""Reads one table of a TOML or JSON file field by field and collects every problem, not only the first."""

from __future__ import annotations

import datetime
import difflib
import json
import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NoReturn

from annotate.domain.access import check_labels
from annotate.domain.errors import BadInput, BadInputs, shown
from annotate.domain.spans import decode_utf8_or_refuse

#: Identifiers that stand in addresses and files: letters, digits and . _ - after a letter or digit.
IDENTIFIER = re.compile(r"[^\W_][\w.-]{0,119}")
SLUG = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9_]{0,119}")
#: A language tag; at most 20 characters fit the store.
LOCALE = re.compile(r"(?=.{2,20}\Z)[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")

_BYTE_ORDER_MARK = "\ufeff"
# tomllib's time grows with the square of a dotted name's parts: 40,000 of them, 80 kB, took half a minute.
_LONG_NAME = re.compile(r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")


class Fields:
    """One table. Each method takes a field, checks it and returns its value, or its fallback after noting a problem."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        self._table = table
        self.where = where
        self.problems: list[BadInput] = []
        self._asked: set[str] = set()

    def problem(self, name: str, what: str, mend: str) -> None:
        """Note a problem with the field `name`."""
        self.problems.append(BadInput(f"{self.where}, {name}" if name else self.where, what, mend))

    def has(self, name: str) -> bool:
        """Whether the field is given."""
        self._asked.add(name)
        return name in self._table

    def text(
        self, name: str, *, required: bool = False, default: str = "", longest: int = 10_000, nul: bool = False
    ) -> str:
        """Take a text as it is. A required one must not be empty or (unless `nul`: a source's text) all blanks."""
        if not self.has(name):
            if required:
                self.problem(name, "it is missing", "Every entry needs it.")
            return default
        value = self._table[name]
        if not isinstance(value, str):
            self.problem(name, f"{shown(value)} is no text", "Put it between quotation marks.")
        elif required and not (value if nul else value.strip()):
            self.problem(name, "it is empty", "Write at least one character.")
        elif "\0" in value and not nul:
            self.problem(name, "it holds a NUL character", "Remove it.")
        elif len(value) > longest:
            self.problem(name, f"it has {len(value)} characters", f"Use at most {longest}.")
        else:
            return value
        return default

    def identifier(
        self, name: str, *, required: bool = False, default: str = "", pattern: re.Pattern[str] = IDENTIFIER
    ) -> str:
        """Take a short name that fits `pattern`."""
        value = self.text(name, required=required, default=default)
        if value and not pattern.fullmatch(value):
            allowed = "a–z, 0–9, - and _" if pattern is SLUG else "letters, digits, . _ and -"
            self.problem(name, f"“{value}” is no identifier", f"Use up to 120 of {allowed}, beginning with a letter.")
            return default
        return value

    def locale(self, name: str, default: str = "en") -> str:
        """Take a language tag such as `de` or `pt-BR`."""
        value = self.text(name, default=default, longest=20)
        if not LOCALE.fullmatch(value):
            self.problem(name, f"“{value}” is no language tag", "Write one such as en, de or pt-BR.")
            return default
        return value

    def day(self, name: str, *, required: bool = False) -> datetime.date | None:
        """Take a date (a TOML date or `YYYY-MM-DD` as a text; a date with a time is none)."""
        if not self.has(name):
            if required:
                self.problem(name, "it is missing", "Write a date such as 2026-10-21.")
            return None
        value = self._table[name]
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            return value
        if isinstance(value, str):
            try:
                return datetime.date.fromisoformat(value)
            except ValueError:
                pass
        self.problem(name, f"{shown(value)} is no date", "Write one such as 2026-10-21.")
        return None

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Take true or false."""
        if not self.has(name):
            return default
        value = self._table[name]
        if not isinstance(value, bool):
            self.problem(name, f"{shown(value)} is neither true nor false", "Write true or false.")
            return default
        return value

    def word[W: StrEnum](self, name: str, words: type[W], default: W) -> W:
        """Take one word of a closed list."""
        value = self.text(name, default=default.value)
        try:
            return words(value)
        except ValueError:
            close = difflib.get_close_matches(value, [word.value for word in words], 1)
            hint = f"Did you mean {close[0]}? " if close else ""
            self.problem(name, f"“{value}” is no such word", f"{hint}Use one of {', '.join(w.value for w in words)}.")
            return default

    def labels(self, name: str) -> frozenset[str]:
        """Take a list of access labels; empty when not given."""
        if not self.has(name):
            return frozenset()
        try:
            return check_labels(self._table[name], f"{self.where}, {name}")
        except BadInput as problem:
            self.problems.append(problem)
            return frozenset()

    def tables(self, name: str) -> list[Mapping[str, Any]]:
        """Take a list of tables; empty when not given."""
        value = self._table[name] if self.has(name) else []
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            self.problem(name, "it is no list of tables", "Write [{ … }, { … }].")
            return []
        return value

    def whole(self, name: str) -> int | None:
        """Take a whole number (a boolean is none)."""
        if not self.has(name):
            return None
        value = self._table[name]
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(name, f"{shown(value)} is no whole number", "Write a whole number.")
            return None
        return value

    def close(self) -> None:
        """Note every field that nobody asked for: a misspelt name must not pass for a missing one."""
        for name in sorted(set(self._table) - self._asked):
            close = difflib.get_close_matches(name, sorted(self._asked), 1)
            mend = f"Did you mean {close[0]}?" if close else f"Known are {', '.join(sorted(self._asked))}."
            self.problem(name, "there is no such field", mend)


def raise_all(where: str, problems: list[BadInput]) -> None:
    """Raise the problems together, where there are any."""
    if problems:
        raise BadInputs(where, problems)


def parse_toml(data: bytes, where: str) -> dict[str, Any]:
    """Return a TOML document (a byte order mark before it is left out); raises BadInput with the first mistake's place.

    A number beyond 64 bits is one, as TOML says: no store holds it, and Python would not even print it.
    """
    text = decode_utf8_or_refuse(data, where).removeprefix(_BYTE_ORDER_MARK)
    if found := _LONG_NAME.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise BadInput(f"{where}, line {line}", "a dotted name of more than 64 parts stands there", "Shorten it.")
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        # Also a number too long to read, which tomllib lets through as a plain ValueError.
        raise BadInput(where, f"it is no TOML: {error}", "Mend the line named.") from error
    except RecursionError as error:
        raise BadInput(where, "it is nested too deeply", "Flatten it.") from error
    refuse_wide_numbers(document, where)
    return document


def refuse_wide_numbers(document: dict[str, Any], where: str) -> None:
    """Raise BadInput where parsed TOML holds a whole number that 64 bits do not."""
    # Not by recursion: dotted keys nest a table deeper than the stack.
    waiting: list[tuple[str, Any]] = [(where, document)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, dict):
            waiting += ((f"{where}, {name}", item) for name, item in value.items())
        elif isinstance(value, list):
            waiting += ((place, item) for item in value)
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise BadInput(place, "a number stands there that 64 bits do not hold", "Write a smaller one.")


def parse_json(data: bytes, where: str) -> Any:
    """Return a JSON value (a byte order mark before it is left out).

    Raises BadInput for anything RFC 8259 leaves open: doubled members, NaN, infinities, halves of surrogate pairs.
    """
    text = decode_utf8_or_refuse(data, where).removeprefix(_BYTE_ORDER_MARK)
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        # Only an escape can write half a pair, the text itself is UTF-8.
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        raise BadInput(
            f"{where}, line {error.lineno}, column {error.colno}",
            f"it is no JSON: {error.msg}",
            "Mend the place named.",
        ) from error
    except _Doubled as error:
        raise BadInput(where, str(error), "Keep one and remove the other.") from error
    except RecursionError as error:
        raise BadInput(where, "it is nested too deeply", "Flatten it.") from error
    except UnicodeEncodeError as error:
        raise BadInput(where, "it holds half a character (a lone surrogate)", "Write whole characters.") from error
    except ValueError as error:
        raise BadInput(where, f"it is no JSON: {error}", "Mend it.") from error


class _Doubled(Exception):
    """A JSON object that says one thing twice, or a number JSON does not have."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise _Doubled(f"the member “{name}” stands there twice")
        members[name] = value
    return members


def _no_constant(word: str) -> NoReturn:
    raise _Doubled(f"{word} is no JSON number")

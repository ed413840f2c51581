"""Reads plain data into the plan's dataclasses and back, guided by their type hints and settings.

One description of each setting serves parsing, refusing, payloads and TOML; a reader written by hand per section would
let them drift apart. Nothing stops at the first fault: a person mends a plan in one go.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
LARGEST = 1_000_000_000
"""Whole numbers without a bound of their own end here: beyond, databases and arrays overflow, and nothing is meant."""

FRACTION = re.compile(r"([0-9]{1,9})(?:/([0-9]{1,9}))?\Z")


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return a dataclass's hints, evaluated once: doing so is most of the time a plan takes to be read."""
    return get_type_hints(kind)


@dataclass(frozen=True)
class PlanProblem:
    """One fault: `where` is a path like "arms[1].overlap", `line` the 1-based line in the TOML text (0 unknown)."""

    where: str
    what: str
    mend: str
    line: int = 0

    def __str__(self) -> str:
        place = f"line {self.line}, {self.where}" if self.line else self.where
        return f"{place}: {self.what} {self.mend}"


class PlanRefused(ValueError):
    """A plan that cannot be used; `problems` lists every fault found."""

    def __init__(self, problems: tuple[PlanProblem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


@dataclass(frozen=True)
class SettingUse:
    """Which settings of its table a plug-in reads (`uses`), and which of those it cannot do without (`needs`).

    `units` are the words its `unit` may have; empty where it counts in none.
    """

    uses: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()


@dataclass(frozen=True)
class KnownNames:
    """The plug-in names a plan may use; None leaves a kind unchecked.

    `uses` maps a kind ("segmenters", "retrievers", "rerankers") to what each of its plug-ins reads of a plan; a plug-in
    that is not in it may be given any setting.
    """

    segmenters: frozenset[str] | None = None
    retrievers: frozenset[str] | None = None
    rerankers: frozenset[str] | None = None
    generators: frozenset[str] | None = None
    analysers: frozenset[str] | None = frozenset({"words"})
    units: frozenset[str] | None = frozenset({"tokens", "characters", "words", "sentences"})
    uses: Mapping[str, Mapping[str, SettingUse]] = field(default_factory=dict)


INSTALL = "A plug-in of a third party must be installed and named in CUTLINE_PLUGINS."
"""What to do about a plug-in that is not there."""


def setting(
    *,
    default: Any = MISSING,
    at_least: int | str | None = None,
    at_most: int | str | None = None,
    above: int | str | None = None,
    below: int | str | None = None,
    filled: bool = False,
    name: bool = False,
    known: str = "",
    none: str = "",
    most: int | None = None,
) -> Any:
    """Describe one setting of a plan.

    `filled` forbids blank text and empty lists, `name` demands a plain name, `known` is the field of `KnownNames` the
    value must be in, `none` the word that stands for None, `most` how many items a list may have.
    """
    rules = {
        "at_least": at_least,
        "at_most": at_most,
        "above": above,
        "below": below,
        "filled": filled,
        "name": name,
        "known": known,
        "none": none,
        "most": most,
    }
    if default is MISSING:
        return field(metadata=rules)
    return field(default=default, metadata=rules)


def shortest_decimal(value: Decimal) -> str:
    """Write a finite decimal without exponent, trailing zeros or negative zero, so equal numbers are equal text."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


#: Unknown settings for which a known one is guessed: a text of thousands is no slip of the pen.
_GUESSED = 50


class Reader:
    """Turns parsed TOML or a payload into dataclasses, collecting every problem. Use once."""

    def __init__(self, known: KnownNames) -> None:
        self.known = known
        self.unreadable: list[PlanProblem] = []
        self.faults: list[PlanProblem] = []

    @property
    def problems(self) -> tuple[PlanProblem, ...]:
        """Everything found so far: what could not be read, and what was read but cannot stand."""
        return (*self.unreadable, *self.faults)

    def refuse(self, where: str, what: str, mend: str) -> None:
        """Note a value that cannot be read and go on."""
        self.unreadable.append(PlanProblem(where, what, mend))

    def table[T](self, kind: type[T], data: object, where: str) -> T | None:
        """Read `data` as the dataclass `kind`; None when any part of it was refused."""
        if not isinstance(data, dict):
            self.refuse(where, f"is {_said(data)}, not a table.", f"Write it as a table [{where}].")
            return None
        own: type = kind
        hints = _hints(own)
        settings = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]
        for key in data:
            if key not in settings:
                near = _nearest(key, settings) if len(self.faults) < _GUESSED else ""
                mend = f"Did you mean “{near}”?" if near else f"Remove it; known here: {', '.join(sorted(settings))}."
                self.faults.append(PlanProblem(_join(where, key), "is not a setting of a plan.", mend))
        values: dict[str, Any] = {}
        sound = True
        for key, item in settings.items():
            place = _join(where, key)
            if key not in data:
                if item.default is MISSING:
                    self.refuse(place, "is missing.", f"Add it: {_wanted(hints[key], item.metadata)}.")
                    sound = False
                continue
            before = len(self.unreadable)
            values[key] = self.value(hints[key], data[key], place, item.metadata)
            sound = sound and len(self.unreadable) == before
        if not sound:
            return None
        made = kind(**values)
        for key, what, mend in getattr(made, "faults", tuple)():
            self.faults.append(PlanProblem(_join(where, key), what, mend))
        return made

    def value(self, hint: Any, data: object, where: str, rules: Any) -> Any:
        """Read one setting as `hint`; returns None after noting a problem."""
        options = get_args(hint)
        if get_origin(hint) in {Union, types.UnionType}:
            if data is None or (rules["none"] and data == rules["none"]):
                return None
            hint = next(option for option in options if option is not type(None))
            options = get_args(hint)
        if get_origin(hint) is tuple:
            return self._items(options[0], data, where, rules)
        if is_dataclass(hint):
            return self.table(hint, data, where)  # type: ignore[arg-type]
        read = {bool: self._bool, int: self._int, str: self._text, Fraction: self._fraction}.get(hint)
        if read is not None:
            return read(data, where, rules)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return self._word(hint, data, where, rules)
        return self._decimal(data, where, rules)

    def _items(self, hint: Any, data: object, where: str, rules: Any) -> tuple[Any, ...]:
        if not isinstance(data, list):
            self.refuse(where, f"is {_said(data)}, not a list.", "Write it in square brackets.")
            return ()
        if rules["filled"] and not data:
            self.refuse(where, "is empty.", "Name at least one.")
        if rules["most"] is not None and len(data) > rules["most"]:
            self.refuse(where, f"has {len(data)} items.", f"Name at most {rules['most']}.")
            return ()
        items = tuple(self.value(hint, item, f"{where}[{index}]", rules) for index, item in enumerate(data))
        seen: dict[Any, int] = {}
        for index, item in enumerate(items):
            if item is not None and not is_dataclass(item) and seen.setdefault(item, index) != index:
                self.refuse(f"{where}[{index}]", f"repeats {where}[{seen[item]}].", "Name each once.")
        return items

    def _bool(self, data: object, where: str, rules: Any) -> bool | None:
        if not isinstance(data, bool):
            self.refuse(where, f"is {_said(data)}, not true or false.", "Write true or false.")
            return None
        return data

    def _int(self, data: object, where: str, rules: Any) -> int | None:
        if isinstance(data, bool) or not isinstance(data, int):
            self.refuse(where, f"is {_said(data)}, not a whole number.", f"Write {_range(rules, 'a whole number')}.")
            return None
        if rules["at_most"] is None:
            rules = {**rules, "at_most": LARGEST}
        return data if self._within(Decimal(data), where, rules) else None

    def _text(self, data: object, where: str, rules: Any) -> str | None:
        if not isinstance(data, str):
            self.refuse(where, f"is {_said(data)}, not text.", "Write it in quotes.")
            return None
        if rules["name"] and not NAME.match(data):
            self.refuse(where, f"is “{data}”.", "Use lower-case letters, digits, “.”, “_” and “-”, at most 64.")
            return None
        if rules["filled"] and not data.strip():
            self.refuse(where, "is blank.", "Say it in a sentence; a reader of the release will rely on it.")
            return None
        if rules["known"]:
            names: frozenset[str] | None = getattr(self.known, rules["known"])
            if names is not None and data not in names:
                kind = rules["known"].removesuffix("s")
                near = _nearest(data, names)
                mend = f"Did you mean “{near}”? " if near else ""
                # Analysers and units are no plug-ins: nothing can be installed for them.
                more = "" if rules["known"] in {"analysers", "units"} else f" {INSTALL}"
                self.refuse(
                    where,
                    f"names the unknown {kind} {_said(data)}.",
                    f"{mend}Known: {', '.join(sorted(names)) or 'none'}.{more}",
                )
                return None
        return data

    def _word(self, hint: type[Enum], data: object, where: str, rules: Any) -> Enum | None:
        try:
            return hint(data)
        except ValueError:
            words = [str(member.value) for member in hint] + ([rules["none"]] if rules["none"] else [])
            said = f"“{data}”" if isinstance(data, str) else _said(data)
            self.refuse(where, f"is {said}.", f"Use one of: {', '.join(words)}.")
            return None

    def _fraction(self, data: object, where: str, rules: Any) -> Fraction | None:
        match = FRACTION.match(data) if isinstance(data, str) else None
        if match is None or match[2] in {"0", "00"} or not int(match[2] or 1):
            self.refuse(where, f"is {_said(data)}, not an exact fraction.", 'Write it in quotes, like "3/8".')
            return None
        label = Fraction(int(match[1]), int(match[2] or 1))
        if not 0 < label <= 1:
            self.refuse(where, f"is {data}, a phase outside the stride.", 'A phase label is above 0 and at most "1".')
            return None
        return label

    def _decimal(self, data: object, where: str, rules: Any) -> str | None:
        wanted = f"Write {_range(rules, 'a decimal number')}."
        number: Decimal | None = None
        if isinstance(data, Decimal) or (isinstance(data, int) and not isinstance(data, bool)):
            number = Decimal(data)
        elif isinstance(data, str):
            try:
                number = Decimal(data.strip())
            except InvalidOperation:
                number = None
        if number is None or not number.is_finite() or abs(number.adjusted()) > 18:
            self.refuse(where, f"is {_said(data)}, not a plain decimal number.", wanted)
            return None
        return shortest_decimal(number) if self._within(number, where, rules) else None

    def _within(self, number: Decimal, where: str, rules: Any) -> bool:
        tests: dict[str, Callable[[Decimal], bool]] = {
            "at_least": lambda limit: number >= limit,
            "at_most": lambda limit: number <= limit,
            "above": lambda limit: number > limit,
            "below": lambda limit: number < limit,
        }
        if all(rules[bound] is None or test(Decimal(rules[bound])) for bound, test in tests.items()):
            return True
        self.refuse(where, f"is {_said(number)}.", f"Write {_range(rules, 'a number')}.")
        return False


def payload_of(value: object) -> Any:
    """Return dataclasses, words, fractions and tuples as dict, list, str, int, bool and None only."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: payload_of(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return [payload_of(item) for item in value]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"{value!r} has no place in a plan payload; use text, whole numbers, words or decimal strings")


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _said(data: object) -> str:
    """Name a value as its writer sees it, shortened."""
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, (dict, list)):
        return "a table" if isinstance(data, dict) else "a list"
    text = f"“{data}”" if isinstance(data, str) else str(data)
    return text if len(text) <= 60 else text[:57] + "…"


def _range(rules: Any, noun: str) -> str:
    words = {"at_least": "at least", "at_most": "at most", "above": "above", "below": "below"}
    parts = [f"{word} {rules[bound]}" for bound, word in words.items() if rules[bound] is not None]
    return f"{noun} {' and '.join(parts)}" if parts else noun


def _wanted(hint: Any, rules: Any) -> str:
    if get_origin(hint) is tuple:
        return "a list"
    if is_dataclass(hint):
        return "a table"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "one of " + ", ".join(str(member.value) for member in hint)
    if hint in {int, bool, str}:
        return {int: _range(rules, "a whole number"), bool: "true or false", str: "text"}[hint]
    return _range(rules, "a decimal number")


def _nearest(key: str, settings: Iterable[str]) -> str:
    import difflib

    return next(iter(difflib.get_close_matches(key, settings, n=1, cutoff=0.75)), "")

"""Caps of a sweep: how many cells it may begin, how long it may work, how much it may cost.

A cap changes no result: it only says when to stop. Money is in whatever unit the prices are given in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import Any

from annotate.domain.errors import BadInput
from evaluation.domain.plan_schema import LARGEST, shortest_decimal

PER_TOKENS = 1_000_000
"""Prices are per this many tokens."""

NONE = "none"
"""How a cap that is there is taken away."""

NAMES: Mapping[str, str] = {
    "max_cells": "cells",
    "max_minutes": "minutes of work",
    "max_cost": "cost",
    "price_input": "price of a million input tokens",
    "price_output": "price of a million output tokens",
}
"""What each setting is, in words."""


@dataclass(frozen=True)
class Prices:
    """Money per million tokens; None where it was not given, which is not the same as nothing to pay."""

    price_input: Decimal | None = None
    price_output: Decimal | None = None

    @property
    def given(self) -> bool:
        """Whether anything can be priced."""
        return self.price_input is not None or self.price_output is not None

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """Return what that many tokens cost; None without any price. A price that is missing counts as 0."""
        if not self.given:
            return None
        total = (self.price_input or Decimal(0)) * input_tokens + (self.price_output or Decimal(0)) * output_tokens
        return total / PER_TOKENS


@dataclass(frozen=True)
class Limits:
    """The caps of a sweep; None is no cap. `max_minutes` counts work, summed over all workers."""

    max_cells: int | None = None
    max_minutes: int | None = None
    max_cost: Decimal | None = None
    price_input: Decimal | None = None
    price_output: Decimal | None = None

    @property
    def prices(self) -> Prices:
        """The unit prices."""
        return Prices(self.price_input, self.price_output)

    @property
    def any(self) -> bool:
        """Whether anything is capped."""
        return self.max_cells is not None or self.max_minutes is not None or self.max_cost is not None

    def as_text(self) -> dict[str, str]:
        """Return the settings that are set, by name, as their shortest text: for rows, records and forms."""
        found = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None:
                found[item.name] = shortest_decimal(Decimal(value))
        return found


@dataclass(frozen=True)
class Used:
    """What a sweep has used of its caps so far: cells begun, seconds of work, tokens sent and received."""

    cells: int
    seconds: float
    input_tokens: int
    output_tokens: int

    @property
    def minutes(self) -> float:
        """Minutes of work."""
        return self.seconds / 60


def read_limits(data: Mapping[str, str], before: Limits | None = None) -> Limits:
    """Read caps and prices from text by the names of `Limits`; blank or missing keeps what `before` says.

    "none" takes a cap away. Raises BadInput with the name for anything else than a whole number from 1 (cells,
    minutes) or a decimal number (money), and for a cost cap without a price.
    """
    values: dict[str, Any] = {item.name: getattr(before or Limits(), item.name) for item in fields(Limits)}
    for name in NAMES:
        text = data.get(name, "").strip()
        if not text:
            continue
        if text.lower() == NONE:
            values[name] = None
        elif name in {"max_cells", "max_minutes"}:
            values[name] = _whole(name, text)
        else:
            values[name] = _money(name, text)
    limits = Limits(**values)
    if limits.max_cost is not None and not limits.prices.given:
        raise BadInput(
            "max_cost", "it caps money, and no price was given", "Give price_input or price_output, per million tokens."
        )
    return limits


def reached(limits: Limits, used: Used) -> str:
    """Return which cap keeps another cell from being begun, in words with both numbers; "" when none does."""
    if limits.max_cells is not None and used.cells >= limits.max_cells:
        return f"{used.cells:,} of at most {limits.max_cells:,} cells were begun."
    if limits.max_minutes is not None and used.minutes >= limits.max_minutes:
        return f"{used.minutes:,.1f} of at most {limits.max_minutes:,} minutes of work were used."
    cost = limits.prices.cost(used.input_tokens, used.output_tokens)
    if limits.max_cost is not None and cost is not None and cost >= limits.max_cost:
        return f"{money(cost)} of at most {money(limits.max_cost)} were spent."
    return ""


def money(amount: Decimal) -> str:
    """Return an amount with two places, more only where two would show nothing."""
    places = 2 if amount == 0 or abs(amount) >= Decimal("0.01") else 6
    return f"{amount:,.{places}f}"


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and 1 <= int(text) <= LARGEST):
        raise BadInput(
            name,
            f"it is {text[:40]!r}",
            f"Give a whole number from 1 to {LARGEST:,}, or “{NONE}” for no cap.",
        )
    return int(text)


def _money(name: str, text: str) -> Decimal:
    try:
        number = Decimal(text) if len(text) <= 30 and text.isascii() else None
    except InvalidOperation:
        number = None
    least = "above 0" if name == "max_cost" else "of at least 0"
    if (
        number is None
        or not number.is_finite()
        or number < 0
        or (number == 0 and name == "max_cost")
        or abs(number.adjusted()) > 12
    ):
        raise BadInput(name, f"it is {text[:40]!r}", f"Give a decimal number {least} such as 2.50, or “{NONE}”.")
    return number

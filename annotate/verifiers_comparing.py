"""A recorded payload beside the one its row gives now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ledger.domain.canonical import canonical_bytes
from ledger.domain.findings import Finding

_SHOWN = 80


def compare_row(told: dict[str, Any], row: dict[str, Any] | None, seq: int, where: str) -> Iterator[Finding]:
    """Yield a finding for a missing row and one for each member that differs; members the row lacks are not its own."""
    if row is None:
        yield Finding("row.missing", seq, where, "the row it describes is gone.")
        return
    for name, now in row.items():
        if canonical_bytes(told.get(name)) != canonical_bytes(now):
            was = _shown(told.get(name))
            yield Finding("row.differs", seq, where, f"{name} was {was} when recorded and is {_shown(now)}.")


def _shown(value: Any) -> str:
    text = canonical_bytes(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

"""How a record of this app is told from what its rows say now: the person, the sweep, and the members that differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotate.models import Person
from annotate.permissions import OPERATOR
from evaluation.models import Sweep
from ledger.domain.findings import Finding
from ledger.models import Record


def name_of(person: Person | None) -> str:
    """Return who a record names as `by`; the operator where the row names nobody."""
    return person.username if person else OPERATOR.username


def sweep_of(record: Record) -> Sweep | None:
    """Return the sweep in whose scope the record stands; None when it is gone or the scope is no sweep's."""
    return Sweep.objects.select_related("plan__fixture_set").filter(pk=sweep_id_of(record.scope)).first()


def sweep_id_of(scope: str) -> int:
    """Return the primary key a sweep's scope names, -1 for another scope."""
    kind, _, number = scope.partition(":")
    return int(number) if kind == "sweep" and number.isdecimal() else -1


def _without_reason(told: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name != "reason"}


def differs(told: dict[str, Any], found: dict[str, Any] | None, seq: int, where: str) -> Iterator[Finding]:
    """Compare a recorded payload with the one its rows give now, member by member; `found` None is a row that is gone.

    A recorded `reason` is no column of these rows and is left out.
    """
    if found is None:
        yield Finding("row.missing", seq, where, "the row it describes is gone.")
        return
    told = _without_reason(told)
    for name in sorted(told.keys() | found.keys()):
        if told.get(name) != found.get(name):
            yield Finding("row.differs", seq, where, f"{name}: recorded and stored values differ.")

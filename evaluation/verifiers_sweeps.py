"""Compares what the ledger was told about sweeps with their rows: what to do, caps, how they stand or ended."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import CharField, OuterRef, Subquery, Value
from django.db.models.functions import Cast, Concat

from evaluation import records
from evaluation.models import Sweep
from evaluation.verifiers_comparing import differs, name_of, sweep_of
from ledger import registry
from ledger.domain.canonical import parse_canonical
from ledger.domain.findings import Finding
from ledger.models import Record, Seal

#: What moves a sweep from one state to another. Caps are set when it starts and whenever it goes on.
_MOVES = (*records.SWEEP_OVER, records.SWEEP_LIMITED, records.SWEEP_CAPPED, records.SWEEP_PAUSED)


def register_all() -> None:
    """Register the kinds and tables of sweeps; called once, when Django starts."""
    registry.register(records.SWEEP_STARTED, verify_started)
    registry.register(records.SWEEP_CLOSED, verify_closed)
    registry.register(records.SWEEP_CANCELLED, verify_cancelled, text_fields=("reason",))
    registry.register(records.SWEEP_LIMITED, verify_limited)
    registry.register(records.SWEEP_CAPPED, verify_stood, text_fields=("reason",))
    registry.register(records.SWEEP_PAUSED, verify_stood, text_fields=("reason",))
    registry.register_table(Sweep._meta.db_table, verify_sweeps_recorded)
    registry.register_table("states of sweeps", verify_states)


def verify_started(record: Record) -> Iterator[Finding]:
    """Find the sweep with its plan, seed and cells."""
    sweep = sweep_of(record)
    found = {**records.sweep_started_payload(sweep), "by": name_of(sweep.started_by)} if sweep else None
    yield from differs(record.value, found, record.seq, record.scope)
    if sweep is None or Record.objects.filter(kind=records.SWEEP_LIMITED, scope=record.scope).exists():
        return
    for name, value in records.sweep_limited_payload(sweep).items():
        if name != "plan" and value:
            yield Finding("row.differs", record.seq, record.scope, f"{name}: it is set and no record says so.")


def verify_closed(record: Record) -> Iterator[Finding]:
    """Find the sealed sweep, whose root is the one the ledger sealed."""
    sweep = sweep_of(record)
    yield from differs(record.value, records.sweep_closed_payload(sweep) if sweep else None, record.seq, record.scope)
    seal = Seal.objects.filter(scope=record.scope).first()
    if seal is None or seal.root != record.value["root"]:
        found = seal.root if seal else "none"
        yield Finding("sweep.root", record.seq, record.scope, f"closed with another root than its seal ({found}).")
    if sweep is not None and sweep.state != Sweep.State.SEALED:
        yield Finding("sweep.state", record.seq, record.scope, f"it was sealed and its row says {sweep.state}.")


def verify_cancelled(record: Record) -> Iterator[Finding]:
    """Find the cancelled sweep."""
    sweep = sweep_of(record)
    if sweep is None or sweep.state != Sweep.State.CANCELLED:
        found = f"is {sweep.state}" if sweep else "is gone"
        yield Finding("sweep.state", record.seq, record.scope, f"it was cancelled and its row {found}.")
    elif sweep.problem != record.value["reason"]:
        yield Finding("row.differs", record.seq, record.scope, "its row gives another reason.")
    elif sweep.root:
        yield Finding("sweep.root", record.seq, record.scope, "it was cancelled and its row names a root.")


def verify_limited(record: Record) -> Iterator[Finding]:
    """Find the sweep; its row says what the newest record of its caps says."""
    sweep = sweep_of(record)
    if sweep is None:
        yield Finding("row.missing", record.seq, record.scope, "the sweep it caps is gone.")
        return
    newest = Record.objects.filter(kind=record.kind, scope=record.scope).order_by("-seq").first()
    if newest is not None and newest.seq == record.seq:
        found = {**records.sweep_limited_payload(sweep), "by": record.value["by"]}
        yield from differs(record.value, found, record.seq, record.scope)


def verify_stood(record: Record) -> Iterator[Finding]:
    """Find the sweep that a cap or a person stopped for a while. It may have gone on since."""
    if sweep_of(record) is None:
        yield Finding("row.missing", record.seq, record.scope, "the sweep it stopped is gone.")


def verify_sweeps_recorded() -> Iterator[Finding]:
    """Find sweeps nobody started."""
    told = set(Record.objects.filter(kind=records.SWEEP_STARTED).values_list("scope", flat=True))
    for sweep in Sweep.objects.only("pk"):
        if sweep.scope not in told:
            yield Finding("row.unrecorded", None, sweep.scope, "it stands there and no record says it was started.")


def verify_states() -> Iterator[Finding]:
    """Compare the state, note and root of every sweep that is not over with the newest record that moved it.

    How it ended is compared by the record of its end.
    """
    moved = Record.objects.filter(
        kind__in=_MOVES, scope=Concat(Value(Sweep.SCOPE_PREFIX), Cast(OuterRef("pk"), CharField()))
    ).order_by("-seq")[:1]
    # One statement, so that a sweep somebody pauses meanwhile is not compared with the record of before.
    rows = Sweep.objects.annotate(kind=Subquery(moved.values("kind")), told=Subquery(moved.values("payload")))
    for sweep in rows.only("pk", "state", "problem", "root").iterator():
        if sweep.kind in records.SWEEP_OVER:
            continue
        state, note = records.standing(sweep.kind, parse_canonical(bytes(sweep.told)) if sweep.told else {})
        if sweep.state != state:
            said = f"its row says {sweep.state}, and by what was recorded last it is {state}."
            yield Finding("sweep.state", None, sweep.scope, said)
        elif sweep.problem != note:
            yield Finding("row.differs", None, sweep.scope, f"it is {state} with another note than was recorded.")
        elif sweep.root:
            yield Finding("sweep.root", None, sweep.scope, f"it is {state} and its row names a root.")

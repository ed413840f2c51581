"""Leases: how a worker takes a cell, keeps it, and hands it back.

The database is the queue. A cell is taken by one UPDATE that names the attempt number it expects, so that of two
workers one changes a row and the other changes none; every later write names that number again. A worker that was only
slow, or a killed worker's child that outlives it, therefore finds its number gone and writes nothing but a line about
itself.

Times are compared on the database's clock: hosts need not agree about the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from evaluation.models import Attempt, Cell, Sweep
from evaluation.plugins.http_transport import Call
from evaluation.services.limit_sweep import holds_back, limits_of
from evaluation.services.report_attempt import Measured, Origin, report_attempt

#: Cells looked at per try. More than one, so that workers who lose a race for the first need not ask again at once.
_LOOK_AHEAD = 8


@dataclass(frozen=True)
class Lease:
    """The right to compute one cell: `attempt` is the fence every write is held against."""

    cell_id: int
    sweep_id: int
    attempt: int
    worker: str
    claimed_at: datetime


def claimable(sweep_id: int | None = None) -> Q:
    """Return the condition under which a cell may be taken: waiting, or held by a lease that ran out, in a running
    sweep."""
    free = Q(state=Cell.State.PENDING) | Q(state=Cell.State.CLAIMED, lease_until__lt=Now())
    running = Q(sweep__state=Sweep.State.RUNNING)
    return free & running & (Q(sweep_id=sweep_id) if sweep_id else Q())


def claim(worker: str, *, sweep_id: int | None = None) -> Lease | None:
    """Take the next cell in the randomised order for `worker`, of one sweep or of any; None when there is none to take.

    A cell taken over from a lease that ran out leaves an EXPIRED report about the attempt that lost it. Where a cap
    keeps a sweep from beginning another cell, only cells of it that were begun before are taken.
    """
    held_back: set[int] = set()
    while True:
        lease, stopped = _take(worker, sweep_id, held_back)
        if lease is not None or not stopped:
            return lease
        # Others' cells may stand behind those of the sweep that was stopped.
        held_back |= stopped


def _take(worker: str, sweep_id: int | None, held_back: set[int]) -> tuple[Lease | None, set[int]]:
    """Try the first cells there are; return the lease, or which sweeps a cap stopped on the way."""
    free = Cell.objects.filter(claimable(sweep_id)).exclude(sweep_id__in=held_back, attempt=0)
    stopped: set[int] = set()
    for cell in free.select_related("sweep").order_by("sweep_id", "position", "pk")[:_LOOK_AHEAD]:
        if cell.sweep_id in stopped and not cell.attempt:
            continue
        with transaction.atomic():
            if not cell.attempt and limits_of(cell.sweep).any and holds_back(cell.sweep_id):
                stopped.add(cell.sweep_id)
                continue
            # Conditions on this row's own columns only: with a join, PostgreSQL would re-check the lost race against
            # the other table's old rows and let a second worker through.
            taken = (
                Cell.objects.filter(pk=cell.pk, attempt=cell.attempt, state=cell.state)
                .filter(Q(state=Cell.State.PENDING) | Q(lease_until__lt=Now()))
                .update(
                    state=Cell.State.CLAIMED,
                    attempt=F("attempt") + 1,
                    worker=worker,
                    claimed_at=Now(),
                    lease_until=Now() + timedelta(seconds=settings.LEASE_SECONDS),
                )
            )
            if not taken:
                continue
            if cell.state == Cell.State.CLAIMED:
                problem = f"The lease was not renewed in time; {worker} took the cell over."
                report(_held(cell), Attempt.Outcome.EXPIRED, problem)
            return _held(Cell.objects.get(pk=cell.pk)), stopped
    return None, stopped


def renew(lease: Lease) -> bool:
    """Prolong the lease; False when it is no longer ours (taken over, finished or cancelled)."""
    return bool(_ours(lease).update(lease_until=Now() + timedelta(seconds=settings.LEASE_SECONDS)))


def close(lease: Lease, state: Cell.State) -> bool:
    """Put the cell into `state` if the lease is still ours, inside the caller's transaction; False when it is not.

    The row stays locked until the caller commits, so nobody takes the cell over between this and the results.
    """
    return bool(_ours(lease).update(state=state, lease_until=None))


def give_back(lease: Lease) -> None:
    """Return an unfinished cell to the queue at once, for a worker that was told to stop in the middle of it."""
    with transaction.atomic():
        if close(lease, Cell.State.PENDING):
            report(lease, Attempt.Outcome.CANCELLED, "The worker was stopped before the cell was done.")


def report(
    lease: Lease,
    outcome: Attempt.Outcome,
    problem: str = "",
    measured: Measured | None = None,
    origin: Origin | None = None,
    calls: Sequence[Call] = (),
) -> None:
    """Write down how this lease's attempt ended (inside the caller's transaction)."""
    report_attempt(
        cell_id=lease.cell_id,
        number=lease.attempt,
        worker=lease.worker,
        started_at=lease.claimed_at,
        outcome=outcome,
        problem=problem,
        measured=measured,
        origin=origin,
        calls=calls,
    )


def _ours(lease: Lease) -> QuerySet[Cell]:
    return Cell.objects.filter(pk=lease.cell_id, attempt=lease.attempt, worker=lease.worker, state=Cell.State.CLAIMED)


def _held(cell: Cell) -> Lease:
    return Lease(cell.pk, cell.sweep_id, cell.attempt, cell.worker, cell.claimed_at or timezone.now())

"""Puts a computed cell into the database: results, report and new state, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from evaluation.models import Attempt, Cell, Sweep
from evaluation.plugins.http_transport import Call
from evaluation.services.claim import Lease, close, report
from evaluation.services.report_attempt import Measured, Origin
from ledger.services import ResultEntry, StoredEntry, put_results


@dataclass(frozen=True)
class CellResult:
    """What a cell came to: `results` for the sealed part of the ledger, `measured` and `origin` for the report."""

    results: Sequence[ResultEntry | StoredEntry]
    measured: Measured | None = None
    origin: Origin | None = None


def finish_cell(lease: Lease, result: CellResult, calls: Sequence[Call] = ()) -> bool:
    """Write a cell's results under its lease; False, and nothing written but a LATE report, when the lease was lost.

    Also False when the sweep was cancelled in the meantime; a capped or paused one takes what was in work. One
    transaction, whose first statement is the fence: the cell's row is locked and its attempt number compared before any
    result is written. `calls` are for the report too.
    """
    with transaction.atomic():
        if not close(lease, Cell.State.DONE):
            _report_late(lease, calls)
            return False
        if not Sweep.objects.filter(pk=lease.sweep_id, state__in=Sweep.OPEN_STATES).exists():
            report(lease, Attempt.Outcome.CANCELLED, "The sweep was cancelled while the cell ran.", calls=calls)
            return False
        write_results(lease, result)
        report(lease, Attempt.Outcome.DONE, measured=result.measured, origin=result.origin, calls=calls)
    return True


def write_results(lease: Lease, result: CellResult) -> None:
    """Put the results into the ledger (inside the caller's transaction)."""
    put_results(Sweep(pk=lease.sweep_id).scope, result.results)


def _report_late(lease: Lease, calls: Sequence[Call]) -> None:
    reported = Attempt.objects.filter(cell_id=lease.cell_id, number=lease.attempt, outcome=Attempt.Outcome.LATE)
    if not reported.exists():
        problem = "The lease had been lost; what this attempt computed was thrown away."
        report(lease, Attempt.Outcome.LATE, problem, calls=calls)

"""Writes a failed attempt down, and after the last allowed one the cell's labelled failure."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db import transaction

from evaluation.models import Attempt, Cell
from evaluation.plugins.http_transport import Call
from evaluation.services.claim import Lease, close, report
from evaluation.services.failed_result import failed_result
from evaluation.services.finish_cell import write_results

#: Reports that count against a cell; a worker that was told to stop does not.
_COUNTED = (Attempt.Outcome.FAILED, Attempt.Outcome.EXPIRED)


def failures(cell_id: int) -> int:
    """Return how many attempts at the cell have failed or run out of their lease."""
    return Attempt.objects.filter(cell_id=cell_id, outcome__in=_COUNTED).count()


def fail_cell(lease: Lease, problem: str, *, final: bool = False, calls: Sequence[Call] = ()) -> bool:
    """Report a failed attempt, with the `calls` over HTTP it had made; True when the cell will be tried again.

    The cell is FAILED for good after MAX_ATTEMPTS counted reports, or at once when `final` (a fault no retry mends,
    like two arms that index different documents). Its questions then stand in the results as labelled failures, which
    count as misses. Writes nothing when the lease was lost.
    """
    with transaction.atomic():
        last = final or failures(lease.cell_id) + 1 >= settings.MAX_ATTEMPTS
        if not close(lease, Cell.State.FAILED if last else Cell.State.PENDING):
            return False
        if last:
            write_results(lease, failed_result(lease.cell_id))
        report(lease, Attempt.Outcome.FAILED, problem, calls=calls)
    return not last


def give_up(lease: Lease) -> None:
    """Fail a cell whose earlier attempts used up what is allowed, without another try: workers that die on it never
    report."""
    with transaction.atomic():
        if close(lease, Cell.State.FAILED):
            write_results(lease, failed_result(lease.cell_id))
            report(lease, Attempt.Outcome.FAILED, f"Given up: {failures(lease.cell_id)} attempts failed or were lost.")

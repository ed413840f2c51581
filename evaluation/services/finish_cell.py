"""Puts a computed cell into the database: results, summary, report and new state, all or nothing."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from evaluation.domain.outcome_payload import outcomes_payload
from evaluation.domain.outcomes import QuestionOutcome
from evaluation.models import Attempt, Cell, CellSummary, Sweep
from evaluation.services.claim import Lease, close, report
from evaluation.services.report_attempt import Measured
from ledger.domain.canonical import canonical_bytes
from ledger.services import ResultEntry, put_results


@dataclass(frozen=True)
class CellResult:
    """What a cell came to: `results` for the sealed part of the ledger, `outcomes` per view key for the summaries,
    `measured` for the report.
    """

    results: Sequence[ResultEntry]
    outcomes: Mapping[str, Sequence[QuestionOutcome]]
    measured: Measured | None = None


def finish_cell(lease: Lease, result: CellResult) -> bool:
    """Write a cell's results under its lease; False, and nothing written but a LATE report, when the lease was lost.

    Also False when the sweep was cancelled in the meantime. One transaction, whose first statement is the fence: the
    cell's row is locked and its attempt number compared before any result is written.
    """
    with transaction.atomic():
        if not close(lease, Cell.State.DONE):
            _report_late(lease)
            return False
        if not Sweep.objects.filter(pk=lease.sweep_id, state=Sweep.State.RUNNING).exists():
            report(lease, Attempt.Outcome.CANCELLED, "The sweep was cancelled while the cell ran.")
            return False
        write_results(lease, result)
        report(lease, Attempt.Outcome.DONE, measured=result.measured)
    return True


def write_results(lease: Lease, result: CellResult) -> None:
    """Put the results into the ledger and the outcomes into summary rows (inside the caller's transaction)."""
    scope = Sweep(pk=lease.sweep_id).scope
    put_results(scope, result.results)
    CellSummary.objects.bulk_create(
        CellSummary(
            cell_id=lease.cell_id, view=view, outcomes=zlib.compress(canonical_bytes(outcomes_payload(outcomes)))
        )
        for view, outcomes in sorted(result.outcomes.items())
    )


def _report_late(lease: Lease) -> None:
    reported = Attempt.objects.filter(cell_id=lease.cell_id, number=lease.attempt, outcome=Attempt.Outcome.LATE)
    if not reported.exists():
        report(lease, Attempt.Outcome.LATE, "The lease had been lost; what this attempt computed was thrown away.")

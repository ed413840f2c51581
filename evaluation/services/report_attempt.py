"""Writes down how a try at a cell ended."""

from __future__ import annotations

from datetime import datetime

from evaluation.models import Attempt, Cell, Sweep
from ledger.domain.chain import timestamp
from ledger.services.append import append


def report_attempt(
    *, cell_id: int, number: int, worker: str, started_at: datetime, outcome: Attempt.Outcome, problem: str = ""
) -> Attempt:
    """Add one report, as a row and as a record of the chain, inside the caller's transaction.

    This is an *operation*: it holds times and worker names, and is no part of what a sweep's root covers.
    """
    cell = Cell.objects.select_related("sweep").get(pk=cell_id)
    attempt = Attempt.objects.create(
        cell=cell, number=number, worker=worker, outcome=outcome, problem=problem, started_at=started_at
    )
    sweep: Sweep = cell.sweep
    append(
        "cell.attempt",
        {
            "arm": cell.arm,
            "phase": cell.phase,
            "block": cell.block,
            "repeat": cell.repeat,
            "attempt": number,
            "outcome": str(outcome),
            "problem": problem,
            "worker": worker,
            "started_at": timestamp(started_at),
            "finished_at": timestamp(attempt.finished_at),
        },
        scope=sweep.scope,
    )
    return attempt

"""Writes down how a try at a cell ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from evaluation.models import Attempt, Cell
from evaluation.plugins.http_transport import Call
from evaluation.records import CELL_ATTEMPT, attempt_payload
from ledger.services import append


@dataclass(frozen=True)
class Measured:
    """What a finished try measured of itself; see `Attempt`. Times are wall time in microseconds."""

    index_us: int
    query_us: int
    asked: int
    cold: bool
    beside: int
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True)
class Origin:
    """Where a finished try's results come from: `engine` is the digest of what makes them (`reuse_cells.engine_of`),
    `reused_from` the sweep they were taken from where nothing was computed."""

    engine: str
    reused_from: int | None = None


def report_attempt(
    *,
    cell_id: int,
    number: int,
    worker: str,
    started_at: datetime,
    outcome: Attempt.Outcome,
    problem: str = "",
    measured: Measured | None = None,
    origin: Origin | None = None,
    calls: Sequence[Call] = (),
) -> Attempt:
    """Add one report, as a row and as a record of the chain, inside the caller's transaction.

    This is an *operation*: it holds times and worker names, and is no part of what a sweep's root covers.
    """
    cell = Cell.objects.select_related("sweep").get(pk=cell_id)
    attempt = Attempt.objects.create(
        cell=cell,
        number=number,
        worker=worker,
        outcome=outcome,
        problem=problem,
        started_at=started_at,
        calls=[asdict(call) for call in calls],
        engine=origin.engine if origin else "",
        reused_from_id=origin.reused_from if origin else None,
        **(asdict(measured) if measured else {}),
    )
    append(CELL_ATTEMPT, attempt_payload(attempt), cell.sweep.scope)
    return attempt

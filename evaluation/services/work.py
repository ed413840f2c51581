"""The worker's loop: one body for `manage.py work`, `manage.py sweep --wait`, the demo and the Celery task."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import DatabaseError, connection

from evaluation.models import Cell, Sweep
from evaluation.plugins.http_transport import Call, listening
from evaluation.services.claim import Lease, claim, give_back, renew
from evaluation.services.fail_cell import fail_cell, failures, give_up
from evaluation.services.finish_cell import finish_cell
from evaluation.services.reuse_cells import reuse_cells
from evaluation.services.run_cell import CellRefused, run_cell
from evaluation.services.seal_sweep import seal_if_complete
from ledger.services import ResultConflict

logger = logging.getLogger(__name__)

#: SQLite's busy handler is not fair: a worker that never pauses keeps the site's writers waiting for seconds.
_SQLITE_PAUSE = 0.004


@dataclass(frozen=True)
class Drained:
    """What a drain did: `cells` taken and brought to an end, and whether it left because the queue was `empty`."""

    cells: int
    empty: bool


def drain(
    worker: str,
    *,
    sweep_id: int | None = None,
    seconds: float | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_cell: Callable[[Lease], None] = lambda lease: None,
) -> Drained:
    """Take and compute cells until none is left, `seconds` have passed, or `stop()` says so (asked between cells).

    `on_cell` is called after each. Sweeps without an open cell are sealed on the way, also those whose last worker died
    between its last cell and the seal. Raises what the database raises; a cell's own fault is a failed attempt.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    cells = 0
    while not stop() and (deadline is None or time.monotonic() < deadline):
        lease = claim(worker, sweep_id=sweep_id)
        if lease is None:
            _seal_complete(sweep_id)
            return Drained(cells, empty=True)
        cells += work_on(lease)
        on_cell(lease)
        if connection.vendor == "sqlite":
            time.sleep(_SQLITE_PAUSE)
    return Drained(cells, empty=False)


def work_on(lease: Lease) -> int:
    """Compute one claimed cell and write what came of it, renewing the lease meanwhile; no transaction spans the
    work. Where an earlier sweep holds it, it is taken from there with the waiting cells of which that is true.

    Returns how many cells were brought to an end.
    """
    cells = 1
    if failures(lease.cell_id) >= settings.MAX_ATTEMPTS:
        give_up(lease)
        seal_if_complete(lease.sweep_id)
        return cells
    calls: list[Call] = []
    try:
        with _Renewal(lease), listening(calls):
            reused = reuse_cells(lease)
            result = None if reused else run_cell(lease.cell_id)
        if result is not None:
            finish_cell(lease, result, calls)
        else:
            cells = reused
    except CellRefused as refusal:
        fail_cell(lease, str(refusal), final=True, calls=calls)
    except ResultConflict as conflict:
        # The same cell came out differently before: no retry can say which of the two is right.
        why = "Either the cell is not deterministic, or workers of this sweep run different tokenizer files or packages"
        fail_cell(lease, f"{why}: {conflict}", final=True, calls=calls)
    except SoftTimeLimitExceeded:
        fail_cell(lease, f"The cell ran longer than {settings.CELERY_TASK_SOFT_TIME_LIMIT} s.", calls=calls)
    except DatabaseError:
        # The queue itself is in trouble: no verdict about the cell. Its lease runs out and somebody takes it over.
        raise
    except Exception as error:
        logger.exception("cell %s, attempt %s failed", lease.cell_id, lease.attempt)
        fail_cell(lease, f"{type(error).__name__}: {error}", calls=calls)
    except BaseException:
        give_back(lease)
        raise
    seal_if_complete(lease.sweep_id)
    return cells


def _seal_complete(sweep_id: int | None) -> None:
    open_cells = Cell.objects.filter(state__in=[Cell.State.PENDING, Cell.State.CLAIMED]).values("sweep_id")
    running = Sweep.objects.filter(state=Sweep.State.RUNNING).exclude(pk__in=open_cells)
    if sweep_id is not None:
        running = running.filter(pk=sweep_id)
    for pk in running.values_list("pk", flat=True):
        seal_if_complete(pk)


class _Renewal:
    """Prolongs a lease from a thread of its own while the cell is computed."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"lease-{lease.cell_id}", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        # A third of the lease: two renewals may fail before anybody takes the cell over.
        while not self._done.wait(settings.LEASE_SECONDS / 3):
            try:
                if not renew(self._lease):
                    return
            except DatabaseError as error:
                # Not the end: the next renewal may come through, and if none does the fence throws the result away.
                logger.warning("lease of cell %s not renewed: %s", self._lease.cell_id, error)
            finally:
                connection.close()

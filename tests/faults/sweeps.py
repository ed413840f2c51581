"""The same plan swept twice: once in peace, once with faults; and what must be equal afterwards."""

from __future__ import annotations

from annotate.permissions import OPERATOR
from evaluation.models import Attempt, Cell, Sweep
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from ledger.models import Record, Result
from ledger.services import verify
from tests.evaluation.sweeps import locked, plan_toml, small_study


def done_cells(sweep: Sweep) -> int:
    """Return how many cells are done."""
    return Cell.objects.filter(sweep=sweep, state=Cell.State.DONE).count()


def state_of(sweep: Sweep) -> str:
    """Return the sweep's state as it is in the database."""
    return Sweep.objects.values_list("state", flat=True).get(pk=sweep.pk)


def undisturbed_and_disturbed() -> tuple[Sweep, Sweep]:
    """Return a sealed sweep and a started one of the same plan: 35 cells each, one question in a cell."""
    plan = locked(small_study(), plan_toml(grid=2))
    reference = start_sweep(OPERATOR, plan, idempotency_key="reference", block_size=1)
    drain("reference")
    reference.refresh_from_db()
    assert reference.state == Sweep.State.SEALED
    return reference, start_sweep(OPERATOR, plan, idempotency_key="disturbed", block_size=1, recompute=True)


def check_nothing_lost_or_doubled(reference: Sweep, sweep: Sweep) -> None:
    """Assert that `sweep` came to exactly what `reference` came to, each cell done once, and the ledger verifies."""
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED
    cells = sweep.cells.count()
    assert done_cells(sweep) == cells
    done = Attempt.objects.filter(cell__sweep=sweep, outcome=Attempt.Outcome.DONE)
    assert done.count() == done.values("cell").distinct().count() == cells
    assert Result.objects.filter(scope=sweep.scope).count() == Result.objects.filter(scope=reference.scope).count()
    assert Record.objects.filter(kind="sweep.closed", scope=sweep.scope).count() == 1
    assert sweep.root == reference.root
    assert verify().findings == ()

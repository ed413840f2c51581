"""Close a sweep whose last cell is done: one root over all results, once."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from evaluation.models import Cell, Sweep
from evaluation.records import SWEEP_CLOSED, sweep_closed_payload
from ledger.services import append, seal

OPEN = (Cell.State.PENDING, Cell.State.CLAIMED)


def seal_if_complete(sweep_id: int) -> bool:
    """Seal the sweep if none of its cells is open; True for the one caller that did.

    Called by whoever finishes a cell and by idle workers, at the same time and more than once: the sweep's row is
    locked and its state compared, so exactly one seals. Cells that failed for good are in the results as labelled
    failures, and the sweep is sealed with them.
    """
    if Cell.objects.filter(sweep_id=sweep_id, state__in=OPEN).exists():
        return False
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update().select_related("plan").get(pk=sweep_id)
        counts = sweep.cells.aggregate(
            open=Count("pk", filter=Q(state__in=OPEN)),
            failed=Count("pk", filter=Q(state=Cell.State.FAILED)),
            all=Count("pk"),
        )
        if sweep.state != Sweep.State.RUNNING or counts["open"]:
            return False
        sealed = seal(sweep.scope, None)
        sweep.state = Sweep.State.SEALED
        sweep.root = sealed.root
        sweep.finished_at = timezone.now()
        if counts["failed"]:
            sweep.problem = (
                f"{counts['failed']} of {counts['all']} cells failed for good; their questions count as misses."
            )
        sweep.save(update_fields=["state", "root", "finished_at", "problem"])
        append(SWEEP_CLOSED, sweep_closed_payload(sweep), sweep.scope)
    return True

"""Stop a sweep that is not over. What was computed stays; nothing is sealed."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from annotate.domain.written import written
from annotate.permissions import By
from annotate.services.authorise import authorise
from evaluation.models import Sweep
from evaluation.records import SWEEP_CANCELLED
from evaluation.services.problems import Conflict
from ledger.services import append


def cancel_sweep(by: By, sweep: Sweep, *, reason: str = "") -> Sweep:
    """Cancel `sweep`: no further cell is taken, and cells in work are thrown away when they end.

    Its results are kept unsealed and can carry no release; an opened held-out partition stays counted. Permission
    `sweep.cancel`. Raises Conflict when it is over (cancelling twice is one cancellation), NotAllowed, BadInput
    for a reason that cannot be kept (`written`).
    """
    authorise(by, sweep.plan.study, "sweep.cancel")
    written(reason, "reason")
    with transaction.atomic():
        stopped = Sweep.objects.filter(pk=sweep.pk, state__in=Sweep.OPEN_STATES).update(
            state=Sweep.State.CANCELLED, problem=reason, finished_at=Now()
        )
        sweep.refresh_from_db()
        if not stopped and sweep.state != Sweep.State.CANCELLED:
            raise Conflict(
                f"Sweep {sweep.pk} is {sweep.state}; only a running, capped or paused sweep can be cancelled."
            )
        if stopped:
            append(SWEEP_CANCELLED, {"plan": sweep.plan.digest, "reason": reason, "by": by.username}, scope=sweep.scope)
    return sweep

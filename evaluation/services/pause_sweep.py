"""Let a sweep stand still until it is resumed: what is done and what is in work stays."""

from __future__ import annotations

from django.db import transaction

from annotate.domain.written import written
from annotate.permissions import By
from annotate.services.authorise import authorise
from evaluation.models import Sweep
from evaluation.records import SWEEP_PAUSED, standing
from evaluation.services.problems import Conflict
from ledger.services import append


def pause_sweep(by: By, sweep: Sweep, *, reason: str = "") -> Sweep:
    """Let no further cell of `sweep` be begun; cells in work are finished and keep their results.

    `resume_sweep` lets it go on. Permission `sweep.cancel`. Raises Conflict for a sweep that does not run (pausing
    twice is one pause, and the first reason stays), NotAllowed, BadInput for a reason that cannot be kept (`written`).
    """
    authorise(by, sweep.plan.study, "sweep.cancel")
    written(reason, "reason")
    told = {"plan": sweep.plan.digest, "reason": reason, "by": by.username}
    state, note = standing(SWEEP_PAUSED, told)
    with transaction.atomic():
        running = Sweep.objects.filter(pk=sweep.pk, state=Sweep.State.RUNNING)
        stopped = running.update(state=state, problem=note)
        sweep.refresh_from_db()
        if not stopped and sweep.state != Sweep.State.PAUSED:
            raise Conflict(f"Sweep {sweep.pk} is {sweep.state}; only a running sweep can be paused.")
        if stopped:
            append(SWEEP_PAUSED, told, sweep.scope)
    return sweep

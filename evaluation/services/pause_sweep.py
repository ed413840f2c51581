"""Let a sweep stand still until it is resumed: what is done and what is in work stays."""

from __future__ import annotations

from django.db import transaction

from annotate.domain.written import written
from annotate.permissions import By
from annotate.services.authorise import authorise
from evaluation.models import Sweep
from evaluation.records import SWEEP_CAPPED
from evaluation.services.problems import Conflict
from ledger.services import append

#: How the reason of a person's pause begins; that of a cap begins otherwise.
PAUSED = "Paused by"


def pause_sweep(by: By, sweep: Sweep, *, reason: str = "") -> Sweep:
    """Let no further cell of `sweep` be begun; cells in work are finished and keep their results.

    The sweep stands as one that a cap stopped, and `resume_sweep` lets it go on. Permission `sweep.cancel`. Raises
    Conflict for a sweep that does not run (pausing twice is one pause), NotAllowed, BadInput for a reason that cannot
    be kept (`written`).
    """
    authorise(by, sweep.plan.study, "sweep.cancel")
    written(reason, "reason")
    said = f"{PAUSED} {by.username}{f': {reason}' if reason else '.'}"
    with transaction.atomic():
        running = Sweep.objects.filter(pk=sweep.pk, state=Sweep.State.RUNNING)
        stopped = running.update(state=Sweep.State.CAPPED, problem=said)
        sweep.refresh_from_db()
        if not stopped and sweep.state != Sweep.State.CAPPED:
            raise Conflict(f"Sweep {sweep.pk} is {sweep.state}; only a running sweep can be paused.")
        if stopped:
            append(SWEEP_CAPPED, {"plan": sweep.plan.digest, "reason": said, "by": by.username}, sweep.scope)
    return sweep

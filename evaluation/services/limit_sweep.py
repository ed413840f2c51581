"""Caps of a sweep as rows and records: what it may use, what it has used, when it stops, and how it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Sum
from django.db.models.functions import Now

from annotate.permissions import By
from annotate.services.authorise import authorise
from evaluation.domain.sweep_limits import Limits, Used, reached, read_limits
from evaluation.models import Attempt, Cell, Sweep
from evaluation.records import SWEEP_CAPPED, SWEEP_LIMITED, standing, sweep_limited_payload
from evaluation.services.problems import Conflict
from evaluation.services.ring import ring
from ledger.services import append


def limits_of(sweep: Sweep) -> Limits:
    """Return the caps and prices in a sweep's row."""
    costs = {
        name: Decimal(getattr(sweep, name)) if getattr(sweep, name) else None
        for name in ("max_cost", "price_input", "price_output")
    }
    return Limits(sweep.max_cells, sweep.max_minutes, **costs)


def used_by(sweep: Sweep) -> Used:
    """Return what a sweep has used: tries that ended (with a result or without) and cells in work. Three queries.

    What was taken from an earlier sweep took no minutes, though its cells were begun.

    A LATE report is of a try whose end was reported by whoever took the cell over, and is not counted twice.
    """
    tries = (
        Attempt.objects.filter(cell__sweep=sweep, reused_from=None)
        .exclude(outcome=Attempt.Outcome.LATE)
        .aggregate(
            spent=Sum(ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())),
            sent=Sum("input_tokens"),
            received=Sum("output_tokens"),
        )
    )
    cells = Cell.objects.filter(sweep=sweep)
    in_work = (
        cells.filter(state=Cell.State.CLAIMED)
        .annotate(spent=ExpressionWrapper(Now() - F("claimed_at"), output_field=DurationField()))
        .values_list("spent", flat=True)
    )
    spent = sum((one for one in in_work if one), tries["spent"] or timedelta())
    return Used(cells.filter(attempt__gt=0).count(), spent.total_seconds(), tries["sent"] or 0, tries["received"] or 0)


def set_limits(by: By, sweep: Sweep, limits: Limits) -> None:
    """Write `limits` into the row and the ledger, inside the caller's transaction."""
    text = limits.as_text()
    sweep.max_cells, sweep.max_minutes = limits.max_cells, limits.max_minutes
    sweep.max_cost = text.get("max_cost", "")
    sweep.price_input, sweep.price_output = text.get("price_input", ""), text.get("price_output", "")
    sweep.save(update_fields=["max_cells", "max_minutes", "max_cost", "price_input", "price_output"])
    append(SWEEP_LIMITED, {**sweep_limited_payload(sweep), "by": by.username}, sweep.scope)


def holds_back(sweep_id: int) -> bool:
    """Whether a cap keeps another cell of the sweep from being begun, inside the caller's transaction.

    The sweep's row is locked, so two workers that ask at once do not both take the last cell there is room for. When
    nothing of it is in work any more the sweep is put into CAPPED here: cells that were begun are finished first.
    """
    sweep = Sweep.objects.select_for_update().select_related("plan").get(pk=sweep_id)
    if sweep.state != Sweep.State.RUNNING:
        return True
    reason = reached(limits_of(sweep), used_by(sweep))
    if not reason:
        return False
    begun = Cell.objects.filter(sweep=sweep, attempt__gt=0, state__in=[Cell.State.PENDING, Cell.State.CLAIMED])
    if not begun.exists():
        told = {"plan": sweep.plan.digest, "reason": reason}
        sweep.state, sweep.problem = standing(SWEEP_CAPPED, told)
        sweep.save(update_fields=["state", "problem"])
        append(SWEEP_CAPPED, told, sweep.scope)
    return True


def resume_sweep(by: By, sweep: Sweep, limits: Limits | Mapping[str, str]) -> Sweep:
    """Give a running, capped or paused sweep the caps `limits` and let it go on; what is done stays done.

    Texts by name (`read_limits`) change what they name and keep the rest as it is by then, so that of two people who
    cap other things at one moment neither takes the other's cap away.

    Permission `sweep.start`. Raises Conflict for a sweep that is over, or caps that are used up already, NotAllowed,
    and BadInput as `read_limits` does.
    """
    authorise(by, sweep.plan.study, "sweep.start")
    with transaction.atomic():
        row = Sweep.objects.select_for_update().select_related("plan").get(pk=sweep.pk)
        if not row.is_open:
            raise Conflict(f"Sweep {row.pk} is {row.state}; only a running, capped or paused sweep goes on.")
        if not isinstance(limits, Limits):
            limits = read_limits(limits, limits_of(row))
        if reason := reached(limits, used_by(row)):
            raise Conflict(f"Sweep {row.pk} would stop at once: {reason} Raise the cap above what was used.")
        set_limits(by, row, limits)
        Sweep.objects.filter(pk=row.pk).update(state=Sweep.State.RUNNING, problem="")
        ring()
    sweep.refresh_from_db()
    return sweep

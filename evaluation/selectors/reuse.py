"""Which earlier sweeps the cells of a sweep were taken from instead of being computed."""

from __future__ import annotations

from django.db.models import Count

from evaluation.models import Attempt, Sweep


def reused_from(sweep: Sweep) -> dict[int, int]:
    """Return how many of the sweep's cells were taken from which earlier sweep, by its number. One query."""
    rows = Attempt.objects.filter(cell__sweep=sweep, reused_from__isnull=False).order_by("reused_from_id")
    counted = rows.values_list("reused_from_id").annotate(cells=Count("pk"))
    return {source: cells for source, cells in counted if source is not None}

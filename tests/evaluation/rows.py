"""Bare rows for tests of the queue itself, where no question is ever asked."""

from __future__ import annotations

from django.utils import timezone

from annotate.models import FixtureSet, Study
from evaluation.models import Cell, Plan, Sweep


def bare_sweep(cells: int = 1, *, name: str = "bare", state: str = Sweep.State.RUNNING) -> Sweep:
    """Return a sweep with `cells` waiting cells; plan and fixture set are empty shells."""
    study = Study.objects.create(slug=name, title=name)
    fixture_set = FixtureSet.objects.create(study=study, name=name, digest=f"{name:0<64}", canonical=b"{}")
    plan = Plan.objects.create(
        study=study,
        fixture_set=fixture_set,
        name=name,
        toml="",
        canonical=b"{}",
        digest=f"{name:f<64}",
        locked_at=timezone.now(),
    )
    sweep = Sweep.objects.create(plan=plan, seed=1, state=state, idempotency_key=name)
    Cell.objects.bulk_create(Cell(sweep=sweep, arm="a", phase=n + 1, position=n) for n in range(cells))
    return sweep

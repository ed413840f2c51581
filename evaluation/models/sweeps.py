"""A sweep: one run of one locked plan."""

from __future__ import annotations

from django.db import models

from annotate.models import Person
from evaluation.models.plans import Plan


class Sweep(models.Model):
    """`root` is the Merkle root of its sealed results; empty until sealed. `seed` orders the cells.

    `block_size` is how many questions one cell asks (the questions in order of their ids); `held_out` says whether the
    sweep opened the held-out partition, `recompute` that nothing may be taken from an earlier sweep of the plan.
    `max_*` are caps a lead may raise: cells begun, minutes of work summed over
    workers, and money, by the prices (decimal text, per million tokens) given with them; none of them can change a
    result.
    """

    SCOPE_PREFIX = "sweep:"

    class State(models.TextChoices):
        """Life of a sweep."""

        RUNNING = "running"
        CAPPED = "capped"
        PAUSED = "paused"
        SEALED = "sealed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    #: States of a sweep that stands still until somebody lets it go on: a cap was reached, or a person paused it.
    STANDING_STATES = (State.CAPPED, State.PAUSED)
    #: States in which a sweep is not over; what is in work is kept.
    OPEN_STATES = (State.RUNNING, *STANDING_STATES)

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="sweeps")
    state = models.CharField(max_length=12, choices=State.choices, default=State.RUNNING)
    seed = models.PositiveBigIntegerField()
    block_size = models.PositiveIntegerField(default=256)
    held_out = models.BooleanField(default=False)
    recompute = models.BooleanField(default=False)
    max_cells = models.PositiveIntegerField(null=True, blank=True)
    max_minutes = models.PositiveIntegerField(null=True, blank=True)
    max_cost = models.CharField(max_length=40, blank=True)
    price_input = models.CharField(max_length=40, blank=True)
    price_output = models.CharField(max_length=40, blank=True)
    root = models.CharField(max_length=64, blank=True)
    problem = models.TextField(blank=True)
    idempotency_key = models.CharField(max_length=64, unique=True)
    started_by = models.ForeignKey(Person, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"sweep {self.pk} of {self.plan}"

    @property
    def scope(self) -> str:
        """Ledger scope of this sweep's results."""
        return f"{self.SCOPE_PREFIX}{self.pk}"

    @property
    def is_open(self) -> bool:
        """Whether it may still come to results: it runs, or stands still and can go on."""
        return self.state in self.OPEN_STATES

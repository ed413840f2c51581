"""Signed release decisions."""

from __future__ import annotations

from django.db import models

from annotate.models import Person
from evaluation.models.sweeps import Sweep


class Release(models.Model):
    """`canonical` is the decision computed from the ledger by the plan's rule. Immutable: a lead signs it as it is,
    or overrides it with a reason that stays beside the computed disposition."""

    sweep = models.ForeignKey(Sweep, on_delete=models.PROTECT, related_name="releases")
    computed = models.CharField(max_length=20)
    disposition = models.CharField(max_length=20)
    override_reason = models.TextField(blank=True)
    canonical = models.BinaryField()
    digest = models.CharField(max_length=64)
    ledger_head = models.CharField(max_length=64)
    held_out_openings = models.PositiveIntegerField(default=0)
    idempotency_key = models.CharField(max_length=64, unique=True)
    signed_by = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    signed_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["sweep"], name="release_once_per_sweep")]

    def __str__(self) -> str:
        return f"{self.disposition} for {self.sweep}"

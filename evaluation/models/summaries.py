"""Copies for the results pages; everything here can be made again from the ledger."""

from __future__ import annotations

from django.db import models

from evaluation.models.sweeps import Sweep


class SweepReport(models.Model):
    """The results of a sealed sweep as `services.results` computed them (canonical JSON, zlib), kept because the
    intervals take seconds to resample. `recipe` is the digest of what the numbers depend on beside the sealed results;
    a report whose recipe is not the current one is computed anew."""

    sweep = models.OneToOneField(Sweep, on_delete=models.PROTECT, related_name="report")
    recipe = models.CharField(max_length=64)
    body = models.BinaryField()

    class Meta:
        ordering = ["sweep_id"]

    def __str__(self) -> str:
        return f"report of {self.sweep}"

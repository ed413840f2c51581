"""What a few cells of a plan cost on one machine."""

from __future__ import annotations

from django.db import models


class Calibration(models.Model):
    """Timings and sizes measured before a plan runs (`body`: canonical JSON, see `services.calibrate`), kept per
    `machine` so that the estimate need not be measured again. A copy: it can be deleted at any time."""

    plan_digest = models.CharField(max_length=64)
    fixture_set_digest = models.CharField(max_length=64)
    machine = models.CharField(max_length=64)
    body = models.BinaryField()
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["plan_digest", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["plan_digest", "fixture_set_digest", "machine"], name="calibration_once_per_machine"
            )
        ]

    def __str__(self) -> str:
        return f"calibration of {self.plan_digest[:12]}"

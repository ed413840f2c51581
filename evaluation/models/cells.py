"""Cells and their attempts: the queue of record."""

from __future__ import annotations

from django.db import models

from evaluation.models.sweeps import Sweep


class Cell(models.Model):
    """One (arm, phase, block of questions, repeat). Claimed by compare-and-set; `attempt` fences every write of a
    result.

    `phase` is the first interior cut in the arm's unit; 0 stands for an unshifted control. `position` is the randomised
    execution order.
    """

    class State(models.TextChoices):
        """Life of a cell; FAILED only after the last allowed attempt."""

        PENDING = "pending"
        CLAIMED = "claimed"
        DONE = "done"
        FAILED = "failed"

    sweep = models.ForeignKey(Sweep, on_delete=models.PROTECT, related_name="cells")
    arm = models.CharField(max_length=80)
    phase = models.PositiveIntegerField()
    block = models.PositiveIntegerField(default=0)
    repeat = models.PositiveSmallIntegerField(default=0)
    position = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=State.choices, default=State.PENDING)
    attempt = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=120, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["sweep_id", "position", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["sweep", "arm", "phase", "block", "repeat"], name="cell_once"),
        ]
        indexes = [models.Index(fields=["state", "lease_until"])]

    def __str__(self) -> str:
        return f"{self.arm} p={self.phase} block {self.block}"


class Attempt(models.Model):
    """One report about one try at a cell; append-only. A retry stands beside the failure it follows.

    A try whose lease ran out is reported by whoever takes the cell over (EXPIRED) and, where its worker was only slow
    and comes back, once more by that worker (LATE): its results were thrown away.

    What a finished try measured stands in it, as operations and never as results: `index_us` (making the index build
    and its retrieval index; 0 where this process had them), `query_us` (all `asked` questions through every stage),
    `cold` (the first use of the build in that process), `beside` (other cells in work meanwhile), and the tokens of the
    prompts a generator was sent and of its answers.

    `engine` is the digest of what a finished try's results were made with; where they were taken from an earlier sweep
    of the same plan instead (`reused_from`) nothing was measured. `calls` are the tries of requests to systems over
    HTTP it made, however it ended: purpose, number, status, outcome and milliseconds of each.
    """

    class Outcome(models.TextChoices):
        """How a try ended."""

        DONE = "done"
        FAILED = "failed"
        EXPIRED = "expired"
        LATE = "late"
        CANCELLED = "cancelled"

    cell = models.ForeignKey(Cell, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    worker = models.CharField(max_length=120)
    outcome = models.CharField(max_length=20, choices=Outcome.choices)
    problem = models.TextField(blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(auto_now_add=True)
    index_us = models.PositiveBigIntegerField(null=True, blank=True)
    query_us = models.PositiveBigIntegerField(null=True, blank=True)
    asked = models.PositiveIntegerField(null=True, blank=True)
    cold = models.BooleanField(null=True, blank=True)
    beside = models.PositiveIntegerField(null=True, blank=True)
    input_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    output_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    engine = models.CharField(max_length=64, blank=True)
    reused_from = models.ForeignKey(Sweep, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    calls = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["cell_id", "number", "pk"]
        constraints = [models.UniqueConstraint(fields=["cell", "number", "outcome"], name="attempt_report_once")]

    def __str__(self) -> str:
        return f"attempt {self.number}: {self.outcome}"

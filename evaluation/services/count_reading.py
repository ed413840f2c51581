"""Count that results of a sweep were read, where they are those of held-out questions."""

from __future__ import annotations

from annotate.permissions import By
from annotate.services.record_reading import record_reading
from evaluation.models import Sweep


def count_reading(by: By, sweep: Sweep, what: str) -> None:
    """Record that `by` was shown results of `sweep` by `what` (a page, a command): once a person, set and day.

    Nothing is recorded for a sweep that asked no held-out question, or has no sealed results to be read.
    """
    if sweep.held_out and sweep.state == Sweep.State.SEALED:
        record_reading(by, sweep.plan.fixture_set, f"sweep {sweep.pk}, {what}")

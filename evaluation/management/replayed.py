"""Replayed regression fixtures as lines of a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import OutputWrapper

from evaluation.domain.regression import Replayed

FORMAT = "cutline-replay/1"


def print_replayed(output: OutputWrapper, one: Replayed) -> None:
    """Print a fixture's line, and one for each change and note."""
    output.write(f"{'ok       ' if one.holds else 'regressed'} {one.question} ({one.compared} flags compared)")
    for change in one.regressed:
        output.write(f"  lost: {change.text}")
    for change in one.recovered:
        output.write(f"  recovered: {change.text}")
    for note in one.notes:
        output.write(f"  note: {note}")


def replayed_data(replayed: Sequence[Replayed]) -> dict[str, Any]:
    """Return what `sweep --pack --json` writes."""
    fixtures = [{**asdict(one), "holds": one.holds} for one in replayed]
    return {"format": FORMAT, "fixtures": fixtures, "regressed": [one.question for one in replayed if not one.holds]}

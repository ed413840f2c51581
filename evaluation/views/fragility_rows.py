"""How many questions the phase alone decides, beside what repeats at one phase already change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluation.views.result_cells import OVERALL, SUPPORT, Difference, level
from evaluation.views.result_tables import Report
from evaluation.views.wording import words


@dataclass(frozen=True)
class FragilityRow:
    """One arm in one sample: counts of questions as text, the shares with their intervals."""

    sample: str
    arm: str
    fragile: str
    share: Difference
    flips: Difference
    always: str
    never: str
    phases: int


def fragility_rows(report: Report, view: str) -> list[FragilityRow]:
    """Return a row per sample and arm, over all segments of the view, baseline first."""
    found = []
    for sample in report.samples:
        for arm in report.arms:
            at = {"view": view, "sample": sample, "segment": OVERALL, "metric": SUPPORT}
            row = report.results.row("arms_by_view", arm=arm, **at)
            of = stable_or_not(row)
            found.append(
                FragilityRow(
                    words(sample),
                    arm,
                    f"{len(row['fragile'])} of {of}",
                    level(row["fragile_interval"]),
                    level(row["repeat_flips"]),
                    f"{len(row['always'])} of {of}",
                    f"{len(row['never'])} of {of}",
                    row["distinct_phases"],
                )
            )
    return found


def stable_or_not(row: Mapping[str, Any]) -> int:
    """Return how many questions were counted at every phase."""
    return sum(len(row[name]) for name in ("always", "never", "fragile"))

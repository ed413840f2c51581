"""Figures of two arms at every phase: what they show, side by side, and why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaluation.charts.support_by_phase import PhasePoint
from evaluation.views.wording import count_of


def finding(baseline: Sequence[PhasePoint], candidate: Sequence[PhasePoint]) -> str:
    """Return what a chart of support by phase shows, as its title."""
    pairs = [
        (before.value, after.value, after)
        for before, after in zip(baseline, candidate, strict=True)
        if before.value is not None and after.value is not None
    ]
    if not pairs:
        return f"Complete support is undefined here: {why(baseline)}"
    below = sum(theirs < ours for ours, theirs, _ in pairs)
    above = sum(theirs > ours for ours, theirs, _ in pairs)
    name = candidate[0].arm
    if not below and not above:
        return f"{name} supports as many questions as {baseline[0].arm} at every one of {len(pairs)} phases"
    _, _, lowest = min(pairs, key=lambda pair: pair[1])
    parts = [f"fewer at {below}"] * bool(below) + [f"more at {above}"] * bool(above)
    return (
        f"{name} supports {' and '.join(parts)} of {len(pairs)} phases; its lowest is "
        f"{count_of(lowest.numerator, lowest.denominator)} at {lowest.label}"
    )


def phase_table(
    baseline: Sequence[PhasePoint], candidate: Sequence[PhasePoint]
) -> Iterator[tuple[str, PhasePoint, PhasePoint]]:
    """Yield (label, baseline, candidate) in the labels' order."""
    for before, after in zip(baseline, candidate, strict=True):
        yield before.label, before, after


def why(points: Sequence[PhasePoint]) -> str:
    """Return why there is no figure at any phase."""
    return next((one.why for one in points if one.why), "no phase was run")

"""Where support was lost: completeness per stage, its transitions, and the stage after which it never came back.

At CHUNKED the union of all chunks is the whole source, so `complete` is true there by construction for every question
that has a set its reader may read; what can be lost at that stage is counted as spans severed by a cut and as
`single_unit`. A later stage may recover support (an expansion does), so the stage of loss is not the first incomplete
one but the last complete one before a run of incompleteness that reaches the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from evaluation.domain.outcomes import STAGES, Stage


@dataclass(frozen=True)
class Transition:
    """Support changed between the stage before and `stage`."""

    stage: Stage
    recovered: bool


def transitions(complete: Mapping[Stage, bool]) -> tuple[Transition, ...]:
    """Every stage at which completeness differs from the stage before it, in order."""
    found: list[Transition] = []
    known = [stage for stage in STAGES if stage in complete]
    for before, after in pairwise(known):
        if complete[before] != complete[after]:
            found.append(Transition(after, recovered=complete[after]))
    return tuple(found)


def lost_after(complete: Mapping[Stage, bool]) -> Stage | None:
    """The last stage at which support was complete, when it was not complete in the end; None when it was.

    CHUNKED means that no stage after the index ever held it. None also for a question nothing could support (no stage
    is complete at all).
    """
    if complete[Stage.PACKED]:
        return None
    held = [stage for stage in STAGES if complete[stage]]
    return held[-1] if held else None

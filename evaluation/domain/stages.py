"""Where support was lost: completeness per stage, its transitions, and the stage after which it never came back.

At CHUNKED the union of all chunks is the whole source, so `complete` is true there by construction for every question
that has a set its reader may read; what can be lost at that stage is counted as spans severed by a cut and as
`single_unit`. A later stage may recover support (an expansion does), so the stage of loss is not the first incomplete
one but the last complete one before a run of incompleteness that reaches the prompt. Stages are read in the order the
pipeline ran them (`Policies.order`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evaluation.domain.hits import BoolArray
from evaluation.domain.outcomes import STAGES, Stage
from evaluation.domain.tokens import IntArray


@dataclass(frozen=True)
class Transition:
    """Support changed between the stage before and `stage`."""

    stage: Stage
    recovered: bool


def transitions(complete: Mapping[Stage, bool], order: Sequence[Stage] = STAGES) -> tuple[Transition, ...]:
    """Every stage at which completeness differs from the stage before it, in order."""
    found: list[Transition] = []
    known = [stage for stage in order if stage in complete]
    for before, after in pairwise(known):
        if complete[before] != complete[after]:
            found.append(Transition(after, recovered=complete[after]))
    return tuple(found)


def lost_after(complete: BoolArray, order: Sequence[Stage] = STAGES) -> IntArray:
    """Per question, the last stage at which support was complete, when it was not complete in the end.

    `complete` has shape (questions, stages), columns as in `STAGES`; the answer is a position in `STAGES`. −1 means
    that it was complete in the prompt, or that nothing could support the question (no stage is complete at all); 0,
    CHUNKED, that no stage after the index ever held it.
    """
    places = np.array([STAGES.index(stage) for stage in order], dtype=np.int64)
    ran = complete[:, places]
    last = len(order) - 1 - np.argmax(ran[:, ::-1], axis=1)
    return np.where(ran.any(axis=1) & ~ran[:, -1], places[last], -1).astype(np.int64)

"""Which cells a sweep of a plan has, and in which order they run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from annotate.domain.errors import BadInput
from evaluation.services.arm_phases import CONTROL, ArmPhases, arm_phases
from evaluation.services.frozen_world import World
from evaluation.services.pipeline_of import ORACLE, arm_settings
from evaluation.services.population import block_count

#: Large enough that building an index and its records weigh little (a block's columns deflate better the longer they
#: are, and each cell writes a handful of rows), small enough that a lost cell costs seconds.
BLOCK_SIZE = 512

#: Largest block: its arrays are (questions × candidates) wide and belong to one process.
LARGEST_BLOCK = 65_536


def check_block_size(given: object) -> None:
    """Refuse what cannot be the number of questions of a cell. Raises BadInput."""
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= LARGEST_BLOCK:
        raise BadInput(
            "block_size",
            f"it is {given!r:.40}",
            f"Give a whole number of questions from 1 to {LARGEST_BLOCK:,}; {BLOCK_SIZE} is usual.",
        )


@dataclass(frozen=True)
class PlannedCell:
    """One (arm, phase, block of questions, repeat) at its place in the order."""

    arm: str
    phase: int
    block: int
    repeat: int
    position: int


def phases_of(world: World) -> dict[str, ArmPhases]:
    """Return the phases of every arm, in the plan's order. Raises what the arms' segmenters raise."""
    return {
        arm.name: arm_phases(world.plan, arm_settings(arm), world.prepared, world.questions) for arm in world.plan.arms
    }


def planned_cells(world: World, seed: int, block_size: int = BLOCK_SIZE) -> Iterator[PlannedCell]:
    """Yield every cell in the order drawn by `seed`; the oracle, which has no index, is one more arm.

    The order must be one that anybody can draw again from the recorded seed. The blocks of a build stay together, since
    whoever computes one has its index at hand for the next.
    """
    repeats = range(world.plan.generation.repeats)
    builds = [(arm, phase, repeat) for arm, own in phases_of(world).items() for phase in own.runs for repeat in repeats]
    builds += [(ORACLE, CONTROL, repeat) for repeat in repeats]
    # Not for secrets.
    random.Random(seed).shuffle(builds)  # noqa: S311
    blocks = range(block_count(world.asked, block_size))
    wanted = ((*build, block) for build in builds for block in blocks)
    for position, (arm, phase, repeat, block) in enumerate(wanted):
        yield PlannedCell(arm, phase, block, repeat, position)

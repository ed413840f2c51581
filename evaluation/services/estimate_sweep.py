"""Count what a sweep of a plan would be, without starting it."""

from __future__ import annotations

import time

import numpy as np

from evaluation.domain.chunks import ChunkingRefused, join
from evaluation.domain.estimate import ArmSize, Size
from evaluation.domain.pipeline import ArmSettings
from evaluation.domain.tokens import IntArray
from evaluation.services.arm_phases import CONTROL, ArmPhases
from evaluation.services.check_arms import refused_chunks
from evaluation.services.frozen_world import World
from evaluation.services.pipeline_of import arm_settings, oracle_views, pipeline_settings
from evaluation.services.planned_cells import BLOCK_SIZE, phases_of
from evaluation.services.population import block_count


def size_of(world: World, *, seconds: float, block_size: int = BLOCK_SIZE) -> Size:
    """Count the cells, builds, chunks and prompts of a sweep of the world's plan.

    Chunks are counted by cutting the corpus at every phase of every arm, shared fairly among the arms for `seconds` in
    all; a phase there was no time for is said not to be counted. Raises BadInput for foreign chunks that are not the
    sources' text, and what the arms' segmenters raise.
    """
    plan = world.plan
    phases = phases_of(world)
    deadline = time.monotonic() + seconds
    arms = []
    for place, arm in enumerate(plan.arms):
        left = max(deadline - time.monotonic(), 0) / (len(plan.arms) - place)
        arms.append(_arm(world, arm_settings(arm), phases[arm.name], left))
    builds = sum(arm.phases for arm in arms)
    repeats = plan.generation.repeats
    return Size(
        cells=(builds + 1) * repeats * block_count(world.asked, block_size),
        builds=builds,
        questions=len(world.asked),
        repeats=repeats,
        views=len(pipeline_settings(plan).views),
        oracle_views=len(oracle_views(plan)),
        generated=plan.generation.answers,
        arms=tuple(arms),
    )


def _arm(world: World, settings: ArmSettings, phases: ArmPhases, seconds: float) -> ArmSize:
    deadline = time.monotonic() + seconds
    prepared = world.prepared
    seen: IntArray = np.zeros((0, 2), dtype=np.int64)
    chunkings: set[bytes] = set()
    chunks = counted = 0
    for phase in phases.runs:
        # At least one phase, so that there is always a number to show.
        if counted and time.monotonic() > deadline:
            break
        try:
            tables = [
                settings.segmenter.chunks(document, text, None if phase == CONTROL else phase)
                for document, text in zip(prepared.documents, prepared.tokenized, strict=True)
            ]
        except ChunkingRefused as refusal:
            raise refused_chunks(settings.name, refusal) from refusal
        made = join(tables, prepared.tokenized)
        places = np.stack((made.global_start, made.global_end), axis=1)
        chunkings.add(places.tobytes())
        seen = np.unique(np.concatenate((seen, places)), axis=0)
        chunks += len(made)
        counted += 1
    return ArmSize(
        arm=settings.name,
        stride=phases.stride,
        phases=len(phases.runs),
        counted=counted,
        chunkings=len(chunkings),
        chunks=chunks,
        distinct_chunks=int(seen.shape[0]),
        collapsed=tuple(phases.collapsed.values()),
        targeted=len({one.phase for one in phases.targeted}),
        every=len(phases.every),
    )

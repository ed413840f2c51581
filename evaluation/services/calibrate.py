"""Run a few cells of a plan to learn what they cost here; nothing of them is recorded but times and sizes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from annotate.domain.vocabulary import Partition
from evaluation.domain.chunks import ChunkingRefused
from evaluation.domain.estimate import ArmCost, Calibration
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.outcomes import QuestionOutcome
from evaluation.services.answer_tokens import evidence_tokens, output_tokens, prompt_tokens
from evaluation.services.check_arms import refused_chunks
from evaluation.services.frozen_world import World, every_question
from evaluation.services.pipeline_of import ORACLE
from evaluation.services.planned_cells import phases_of
from evaluation.services.run_cell import try_arm, try_oracle
from ledger.domain.canonical import canonical_bytes

#: Questions asked of each arm. Few, because somebody waits; enough that the costs of a block are shared as in a sweep.
QUESTIONS = 24


def calibrate(world: World, *, prepare_us: int = 0) -> Calibration:
    """Ask a few questions of one index build of each arm, and of the oracle, and return what it took.

    Asked are questions of the development partition, spread evenly; where the fixture set has none, the population's
    own, of which no outcome is kept or shown. `prepare_us` is what loading the world took, which is paid once a worker.
    Raises BadInput for foreign chunks that are not the sources' text, and whatever the pipeline raises: an arm that
    cannot run here is better found out before a sweep than in it.
    """
    kind, questions = _sample(world)
    arms: dict[str, ArmCost] = {}
    for name, phases in phases_of(world).items():
        # One in the middle: the first phases of an arm have a shorter first chunk than most.
        arms[name] = _arm(world, name, phases.runs[len(phases.runs) // 2], questions)
    arms[ORACLE] = _oracle(world, questions)
    return Calibration(prepare_us, kind, arms)


def _sample(world: World) -> tuple[str, tuple[FrozenQuestion, ...]]:
    development = [one for one in every_question(world) if one.partition is Partition.DEVELOPMENT]
    kind, there = ("development", development) if development else ("population", list(world.questions))
    step = max(1, len(there) // QUESTIONS)
    return kind, tuple(sorted(there, key=lambda one: one.question_id)[::step][:QUESTIONS])


def _arm(world: World, name: str, phase: int, questions: tuple[FrozenQuestion, ...]) -> ArmCost:
    began = time.perf_counter_ns()
    try:
        block, index_us = try_arm(world, name, phase, questions)
    except ChunkingRefused as refusal:
        raise refused_chunks(name, refusal) from refusal
    return _cost(world, index_us, began + index_us * 1000, questions, block.outcomes, block.payloads)


def _oracle(world: World, questions: tuple[FrozenQuestion, ...]) -> ArmCost:
    began = time.perf_counter_ns()
    found = try_oracle(world, questions)
    return _cost(world, 0, began, questions, found.outcomes, found.payloads)


def _cost(
    world: World,
    index_us: int,
    began_ns: int,
    questions: tuple[FrozenQuestion, ...],
    outcomes: Mapping[str, tuple[QuestionOutcome, ...]],
    payloads: Iterable[tuple[str, Mapping[str, Any]]],
) -> ArmCost:
    # A cell is not done before its records are bytes.
    for _, payload in payloads:
        canonical_bytes(dict(payload))
    spent = time.perf_counter_ns() - began_ns
    return ArmCost(
        index_us=index_us,
        query_us=spent // 1000,
        asked=len(questions),
        evidence_tokens=evidence_tokens(outcomes),
        prompt_tokens=prompt_tokens(outcomes),
        output_tokens=output_tokens(payloads, world.prepared.tokenizer) if world.plan.generation.answers else 0,
    )

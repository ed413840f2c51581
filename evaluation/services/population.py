"""The questions a plan is about, in the one order every cell and record uses."""

from __future__ import annotations

from collections.abc import Sequence

from annotate.domain.vocabulary import Partition
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.plan import Plan
from evaluation.domain.plan_words import PlanPartition

_PARTITIONS: dict[PlanPartition, frozenset[Partition]] = {
    PlanPartition.DEVELOPMENT: frozenset({Partition.DEVELOPMENT}),
    PlanPartition.HELD_OUT: frozenset({Partition.HELD_OUT}),
    PlanPartition.ALL: frozenset(Partition),
}


def population(plan: Plan, questions: Sequence[FrozenQuestion]) -> tuple[FrozenQuestion, ...]:
    """Return the questions of the plan's partition and segments, by id."""
    wanted = _PARTITIONS[plan.population.partition]
    segments = frozenset(plan.population.segments)
    kept = [one for one in questions if one.partition in wanted and one.segment in segments]
    return tuple(sorted(kept, key=lambda one: one.question_id))


def block_of(questions: Sequence[FrozenQuestion], block: int, block_size: int) -> tuple[FrozenQuestion, ...]:
    """Return the questions of one block: `block_size` in order, the last block shorter."""
    return tuple(questions[block * block_size : (block + 1) * block_size])


def block_count(questions: Sequence[FrozenQuestion], block_size: int) -> int:
    """Return how many blocks the questions make."""
    return -(-len(questions) // block_size)

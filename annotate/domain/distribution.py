"""Who works on which question: two different people each, the load as even as it can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SLOTS = (1, 2)


@dataclass(frozen=True)
class OpenQuestion:
    """A question with at least one free slot. `held` maps taken slots to people; `eligible` may take the others."""

    key: str
    held: Mapping[int, str]
    eligible: frozenset[str]


def distribute(
    questions: Sequence[OpenQuestion], load: Mapping[str, int]
) -> tuple[dict[tuple[str, int], str], list[str]]:
    """Return (question key, slot) → person for every slot that can be filled, and the keys where one cannot.

    `load` counts what each person holds already. The least loaded eligible person is taken, ties by name; questions
    with the fewest eligible people go first, so that a scarce clearance is not spent elsewhere. The slots alternate
    from question to question, since a person always in slot 1 could be told apart by it.
    """
    counts = dict(load)
    taken: dict[tuple[str, int], str] = {}
    short = []
    for question in sorted(questions, key=lambda item: (len(item.eligible), item.key)):
        free = [slot for slot in SLOTS if slot not in question.held]
        candidates = sorted(
            question.eligible - set(question.held.values()), key=lambda person: (counts.get(person, 0), person)
        )[: len(free)]
        if len(candidates) < len(free):
            short.append(question.key)
            continue
        if len(candidates) == 2 and len(taken) // 2 % 2:
            candidates.reverse()
        for slot, person in zip(free, candidates, strict=True):
            taken[question.key, slot] = person
            counts[person] = counts.get(person, 0) + 1
    return taken, sorted(short)

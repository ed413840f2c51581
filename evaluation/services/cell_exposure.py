"""What one cell's records say was shown for each of its questions: places in sources, rendered prompts, loose texts."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.pipeline import Unit
from evaluation.domain.recorded import RecordedChunks, budget_view, recorded_hits, recorded_units
from evaluation.domain.rendering import prompt_head
from evaluation.services.frozen_world import World
from evaluation.services.pipeline_of import pipeline_settings
from evaluation.services.result_keys import ANSWER, BUDGET, CITATION, ORACLE, RETRIEVAL

type Place = tuple[int, int, int]
"""Document index, first and last byte."""


@dataclass(frozen=True)
class Exposure:
    """What stands at `where`, for the question at `index` of the block (−1: for every question of it).

    `places` were shown to a consumer; `texts` are bytes as they were shown or stored.
    """

    index: int
    where: str
    places: tuple[Place, ...] = ()
    texts: tuple[bytes, ...] = ()


class UnreadablePrompt(ValueError):
    """A prompt that the records do not give back as it was sent."""


def exposures(
    world: World,
    questions: Sequence[FrozenQuestion],
    guarded: Collection[int],
    chunks: RecordedChunks | None,
    records: Mapping[str, Any],
) -> Iterator[Exposure]:
    """Yield everything the records of one cell expose to the `guarded` ones among its questions, and to all of them.

    `records` maps each result key's kind and part to its value, `guarded` are places in `questions`.
    Candidates are the recorded ranks; of an expansion only what passed the second check was shown, which is what was
    packed. Raises UnreadablePrompt where a rebuilt prompt has another digest than the one that was sent.
    """
    retrieval, budget = records.get(RETRIEVAL), records.get(BUDGET)
    if chunks is not None and retrieval is not None:
        for index in guarded:
            hits = recorded_hits(chunks, retrieval, index)
            yield Exposure(index, "candidates", tuple((one.document, one.start, one.end) for one in hits))
    if chunks is not None and retrieval is not None and budget is not None:
        for row in budget["views"]:
            sent = (records.get(f"{ANSWER}/{row['view']}") or {}).get("prompts", ())
            shown = budget_view(budget, row["view"])
            for index in guarded:
                packed = recorded_units(chunks, retrieval, shown, index)
                places = tuple((one.document, one.start, one.end) for one in packed)
                prompt = _prompt(world, questions[index], places, sent[index] if sent else "")
                yield Exposure(index, f"prompt of {row['view']}", places, (prompt,))
    for name, value in records.items():
        if name.startswith(f"{ORACLE}/"):
            yield from _oracle(world, questions, guarded, value)
        if name.startswith(f"{CITATION}/"):
            for index, cited in _of(guarded, value["citations"]):
                yield Exposure(
                    index, f"citations of {value['view']}", tuple((c[2], c[3], c[4]) for c in cited if c[2] >= 0)
                )
        if name.startswith(f"{ANSWER}/"):
            for index, extracts in _of(guarded, value["extracts"]):
                yield Exposure(index, f"extracts of {value['view']}", tuple((e[1], e[2], e[3]) for e in extracts))
        yield from _texts(name, value, len(questions), guarded)


def _of(guarded: Collection[int], column: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """The entries of the guarded questions; a column is empty where nothing was generated."""
    yield from ((index, column[index]) for index in guarded if column)


def _oracle(
    world: World, questions: Sequence[FrozenQuestion], guarded: Collection[int], record: Mapping[str, Any]
) -> Iterator[Exposure]:
    at = 0
    for index, (question, count) in enumerate(zip(questions, record["units"], strict=True)):
        flat = record["intervals"][3 * at : 3 * (at + count)]
        at += count
        if index not in guarded:
            continue
        places = tuple((flat[i], flat[i + 1], flat[i + 2]) for i in range(0, len(flat), 3))
        sent = record["prompts"][index] if record["prompts"] else ""
        yield Exposure(index, f"prompt of {record['view']}", places, (_prompt(world, question, places, sent),))


def _prompt(world: World, question: FrozenQuestion, places: Sequence[Place], sent: str) -> bytes:
    units = [Unit(*place, 0, 0, rank, ()) for rank, place in enumerate(places, 1)]
    text = prompt_head(pipeline_settings(world.plan), question) + world.packer.rendering.context(units)[0]
    if sent and hashlib.sha256(text).hexdigest() != sent:
        raise UnreadablePrompt(
            f"question {question.question_id}: the prompt rebuilt from the records is not the one that was sent; "
            "search with the version of Cutline that ran the sweep"
        )
    return text


def _texts(name: str, value: Any, count: int, guarded: Collection[int]) -> Iterator[Exposure]:
    """Every text of a record. A column as long as the block belongs to its questions, one entry each."""
    members = value.items() if isinstance(value, Mapping) else [("", value)]
    for member, held in members:
        where = f"{name}, {member}"
        if isinstance(held, list) and len(held) == count:
            for index, one in _of(guarded, held):
                if found := tuple(_strings(one)):
                    yield Exposure(index, where, texts=found)
        elif found := tuple(_strings(held)):
            yield Exposure(-1, where, texts=found)


def _strings(value: Any) -> Iterator[bytes]:
    if isinstance(value, str):
        yield value.encode("utf-8", "surrogatepass")
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield from _strings(key)
            yield from _strings(held)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _strings(held)

"""The ranked lists of one arm at one phase: as a sweep recorded them, and computed again to their whole depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.domain.asking import block_of_questions
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.pipeline import IndexBuild
from evaluation.domain.recorded import RecordedChunks, recorded_hits
from evaluation.models import Sweep
from evaluation.services.frozen_world import World
from evaluation.services.population import block_of
from evaluation.services.problems import Conflict
from evaluation.services.result_keys import BOUNDARY, FAILURE, RETRIEVAL, build_key
from evaluation.services.run_cell import Indexed
from ledger.selectors.records import results


@dataclass(frozen=True)
class Ranks:
    """One question's list by rank: (document index, start, end) and score in units of 1e-6.

    `failed` is why it has none.
    """

    places: tuple[tuple[int, int, int], ...] = ()
    scores: tuple[int, ...] = ()
    failed: str = ""


def recorded_ranks(sweep: Sweep, world: World, arm: str, phase: int, build: IndexBuild) -> dict[str, Ranks]:
    """Return question id → its recorded ranks in the first repeat, for every question asked of `build`.

    Raises Conflict when the index that was recorded is not `build`.
    """
    boundary = results(scopes=[sweep.scope]).filter(key=build_key(sweep.plan.digest, arm, phase, BOUNDARY)).first()
    chunks = None
    if boundary is not None:
        if boundary.value["build"] != build.digest:
            raise Conflict(
                f"The index of “{arm}” at phase {phase} comes out differently here than in sweep {sweep.pk}, so "
                "judgements would be about other chunks. Use the packages its manifest names."
            )
        chunks = RecordedChunks(boundary.value)
    found: dict[str, Ranks] = {}
    kinds = [RETRIEVAL, FAILURE]
    prefix = f"{sweep.plan.digest}/{arm}/{phase:06d}/"
    for row in results(scopes=[sweep.scope], kinds=kinds).filter(key__startswith=prefix):
        block, repeat = row.key.removeprefix(prefix).split("/")[:2]
        if int(repeat):
            continue
        record = row.value
        failures = dict(map(tuple, record["failed"])) if row.kind == RETRIEVAL else {}
        for index, one in enumerate(block_of(world.asked, int(block), sweep.block_size)):
            if row.kind == FAILURE or chunks is None:
                found[one.question_id] = Ranks(failed=str(record["label"]))
                continue
            hits = recorded_hits(chunks, record, index)
            found[one.question_id] = Ranks(
                tuple((hit.document, hit.start, hit.end) for hit in hits),
                tuple(hit.score for hit in hits),
                failures.get(index, ""),
            )
    return found


def whole_ranks(world: World, arm: str, indexed: Indexed, questions: Sequence[FrozenQuestion]) -> list[Ranks]:
    """Return the whole list of each question, asked of `indexed` again.

    Only a deterministic retriever gives the lists the sweep saw; records keep their first ranks.
    """
    retrieval = world.plan.retrieval_of(world.plan.arm(arm))
    block = block_of_questions(world.prepared, questions)
    chunks = indexed.build.chunks
    ranked = indexed.index.search(block.queries(world.prepared, chunks, retrieval.filters), retrieval.candidates)
    found = []
    for row in range(len(questions)):
        at = ranked.chunk[row, : int(ranked.count[row])]
        places = tuple(zip(*(side[at].tolist() for side in (chunks.document, chunks.start, chunks.end)), strict=True))
        found.append(Ranks(places, tuple(ranked.score[row, : at.size].tolist())))
    return found

"""The records of one cell and of its index build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.oracle import OracleResult
from evaluation.domain.outcome_payload import outcomes_payload
from evaluation.domain.outcomes import QuestionOutcome
from evaluation.domain.payloads import boundary_payload
from evaluation.domain.pipeline import BlockResult, IndexBuild
from evaluation.models import Cell
from evaluation.services.frozen_world import World
from evaluation.services.pipeline_of import views_of
from evaluation.services.result_keys import BOUNDARY, FAILURE, MANIFEST, OUTCOME, build_key, cell_key
from ledger.services import ResultEntry

#: What stands in the results for every infrastructure failure: the sealed part holds no host's error text. The texts
#: are in the attempts.
INFRASTRUCTURE = "infrastructure failure"


def build_records(world: World, build: IndexBuild, phase: int) -> Iterator[ResultEntry]:
    """Yield the manifest and the boundary record of an index build.

    Every cell of the build brings them; the ledger compares, so two workers that build different indexes are found out.
    """
    yield manifest_record(world, build, phase)
    key = build_key(world.plan_digest, build.arm.name, phase, BOUNDARY)
    yield ResultEntry(key, BOUNDARY, boundary_payload(build))


def manifest_record(world: World, build: IndexBuild, phase: int) -> ResultEntry:
    """Return the manifest of an index build: what it was made of and with.

    Every cell brings that of the baseline's first build beside its own, so that two workers with different tokenizer
    files or packages are found out even where they never compute the same build.
    """
    manifest = {name: value for name, value in build.manifest.items() if name != "documents"}
    key = build_key(world.plan_digest, build.arm.name, phase, MANIFEST)
    return ResultEntry(key, MANIFEST, {"build": build.digest, **manifest})


def cell_records(world: World, cell: Cell, block: BlockResult | OracleResult) -> Iterator[ResultEntry]:
    """Yield the retrieval, budget, answer and citation records of a cell, per view where there are views, and the
    outcomes."""
    for kind, payload in block.payloads:
        yield ResultEntry(_key(world, cell, kind, str(payload.get("view", ""))), kind, payload)
    for view, outcomes in block.outcomes.items():
        yield _outcome_record(world, cell, view, outcomes)


def failure_records(
    world: World, cell: Cell, questions: Sequence[FrozenQuestion]
) -> tuple[list[ResultEntry], dict[str, list[QuestionOutcome]]]:
    """Return the labelled failure of a cell: one failure record, and a failed outcome of every question in every
    view."""
    failed = [QuestionOutcome(one.question_id, failed=INFRASTRUCTURE) for one in questions]
    outcomes = dict.fromkeys(views_of(world.plan, cell.arm), failed)
    record = ResultEntry(
        _key(world, cell, FAILURE),
        FAILURE,
        {
            "arm": cell.arm,
            "phase": cell.phase,
            "block": cell.block,
            "repeat": cell.repeat,
            "label": INFRASTRUCTURE,
            "questions": [one.question_id for one in questions],
        },
    )
    return [record, *(_outcome_record(world, cell, view, failed) for view in outcomes)], outcomes


def _outcome_record(world: World, cell: Cell, view: str, outcomes: Sequence[QuestionOutcome]) -> ResultEntry:
    payload = {
        "arm": cell.arm,
        "phase": cell.phase,
        "block": cell.block,
        "repeat": cell.repeat,
        "view": view,
        "outcomes": outcomes_payload(outcomes),
    }
    return ResultEntry(_key(world, cell, OUTCOME, view), OUTCOME, payload)


def _key(world: World, cell: Cell, kind: str, part: str = "") -> str:
    return cell_key(world.plan_digest, cell.arm, cell.phase, cell.block, cell.repeat, kind, part)

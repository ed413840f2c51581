"""The records of one cell and of its index build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaluation.domain.chunks import UNSHIFTED_CONTROL
from evaluation.domain.floating import floating_of
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.oracle import OracleResult
from evaluation.domain.outcome_payload import OutcomeColumns, columns_of, outcomes_payload
from evaluation.domain.outcomes import QuestionOutcome
from evaluation.domain.payloads import boundary_payload
from evaluation.domain.pipeline import BlockResult, IndexBuild
from evaluation.models import Cell
from evaluation.services.described_steps import described_steps
from evaluation.services.frozen_world import World
from evaluation.services.pipeline_of import views_of
from evaluation.services.result_keys import BOUNDARY, FAILURE, MANIFEST, OUTCOME, build_key, cell_key
from ledger.services import ResultEntry

#: What stands in the results for every infrastructure failure: the sealed part holds no host's error text. The texts
#: are in the attempts.
INFRASTRUCTURE = "infrastructure failure"


def build_records(world: World, build: IndexBuild, phase: int, notes: Sequence[str]) -> Iterator[ResultEntry]:
    """Yield the manifest and the boundary record of an index build; `notes` is what its preflight only reports.

    Every cell of the build brings them; the ledger compares, so two workers that build different indexes are found out.
    """
    yield manifest_record(world, build, phase)
    key = build_key(world.plan_digest, build.arm.name, phase, BOUNDARY)
    payload = {**boundary_payload(world.prepared, build), **_standing(world, build, phase), "notes": list(notes)}
    yield ResultEntry(key, BOUNDARY, payload)


def manifest_record(world: World, build: IndexBuild, phase: int) -> ResultEntry:
    """Return the manifest of an index build: what it was made of and with, and the steps its candidates go through.

    Every cell brings that of the baseline's first build beside its own, so that two workers with different tokenizer
    files or packages are found out even where they never compute the same build.
    """
    key = build_key(world.plan_digest, build.arm.name, phase, MANIFEST)
    steps = described_steps(world.plan, world.plan.arm(build.arm.name))
    payload = {"build": build.digest, **build.manifest, **_standing(world, build, phase), "steps": steps}
    return ResultEntry(key, MANIFEST, payload)


def _standing(world: World, build: IndexBuild, phase: int) -> dict[str, str | list[str]]:
    """What a build is in its plan: the shared labels that map to it, names that do not pin what they stand for, and
    whether it is an unshifted control, which it is too where only its retriever cannot follow a shift."""
    labels, stride = world.plan.phase_labels, world.plan.stride_of(world.plan.arm(build.arm.name))
    return {
        "control": "" if stride else UNSHIFTED_CONTROL,
        "floating": sorted({*build.manifest["floating"], *floating_of(world.plan, world.plan.arm(build.arm.name))}),
        "labels": [str(one) for one in labels if not stride or one.phase(build.arm.segmenter.stride) == phase],
    }


def cell_records(world: World, cell: Cell, block: BlockResult | OracleResult) -> Iterator[ResultEntry]:
    """Yield the retrieval, budget, answer and citation records of a cell (the last two per view), and its outcomes."""
    for kind, payload in block.payloads:
        yield ResultEntry(_key(world, cell, kind, str(payload.get("view", ""))), kind, payload)
    yield _outcome_record(world, cell, block.columns)


def failure_records(world: World, cell: Cell, questions: Sequence[FrozenQuestion]) -> list[ResultEntry]:
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
    return [record, _outcome_record(world, cell, columns_of(outcomes))]


def _outcome_record(world: World, cell: Cell, columns: OutcomeColumns) -> ResultEntry:
    payload = {
        "arm": cell.arm,
        "phase": cell.phase,
        "block": cell.block,
        "repeat": cell.repeat,
        "outcomes": outcomes_payload(columns),
    }
    return ResultEntry(_key(world, cell, OUTCOME), OUTCOME, payload)


def _key(world: World, cell: Cell, kind: str, part: str = "") -> str:
    return cell_key(world.plan_digest, cell.arm, cell.phase, cell.block, cell.repeat, kind, part)

"""Compute one cell. Reads rows, then only computes: what comes out is written by `finish_cell` under the lease."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from evaluation.domain.cell import run_block
from evaluation.domain.chunks import ChunkingRefused
from evaluation.domain.index_build import build_index, preflight
from evaluation.domain.oracle import OracleResult, run_oracle
from evaluation.domain.pipeline import BlockResult, IndexBuild
from evaluation.models import Cell
from evaluation.services.answer_tokens import output_tokens, prompt_tokens
from evaluation.services.arm_phases import CONTROL, arm_phases
from evaluation.services.finish_cell import CellResult
from evaluation.services.frozen_world import World, load_world
from evaluation.services.pipeline_of import (
    ORACLE,
    arm_settings,
    diagnostic_ceiling,
    pipeline_settings,
    policies_of,
)
from evaluation.services.population import block_of
from evaluation.services.record_cell import build_records, cell_records, manifest_record
from evaluation.services.report_attempt import Measured


class CellRefused(Exception):
    """A fault of the plan's world that no retry can mend: arms that do not index the same documents, or foreign chunks
    that are not the sources' text."""


#: Index builds kept per process. Cells come in random order, so a build is met again only after a while; the baseline's
#: first build is looked at before every cell.
_KEPT_BUILDS = 12
_builds: OrderedDict[tuple[str, str, str, int], IndexBuild] = OrderedDict()
_lock = threading.Lock()


def run_cell(cell_id: int) -> CellResult:
    """Build (or reuse) the cell's index, compare it with the baseline's, ask its questions, and return what came of it.

    Raises CellRefused when the preflight finds a missing, doubled or different document or bytes in no chunk, and
    whatever the pipeline raises.
    """
    cell = Cell.objects.select_related("sweep__plan__fixture_set").get(pk=cell_id)
    world = load_world(cell.sweep.plan)
    settings, steps = pipeline_settings(world.plan), policies_of(world.plan)
    beside = Cell.objects.filter(state=Cell.State.CLAIMED).exclude(pk=cell_id).count()
    questions = block_of(world.asked, cell.block, cell.sweep.block_size)
    phase, reference = _reference(world)
    shared = manifest_record(world, reference, phase)
    began = time.perf_counter_ns()
    if cell.arm == ORACLE:
        found = run_oracle(world.prepared, questions, settings, steps, diagnostic_ceiling(world.plan))
        measured = _measured(world, found, 0, began, cold=False, beside=beside)
        return CellResult([shared, *cell_records(world, cell, found)], found.outcomes, measured)
    cold = (world.fixture_set_digest, world.plan_digest, cell.arm, cell.phase) not in _builds
    build = index_build(world, cell.arm, cell.phase)
    index_us, began = _microseconds(began) if cold else 0, time.perf_counter_ns()
    problems = preflight([reference, build])
    if problems:
        raise CellRefused("The preflight found: " + "; ".join(problems))
    block = run_block(world.prepared, build, questions, settings, steps, world.packer)
    measured = _measured(world, block, index_us, began, cold=cold, beside=beside)
    records = [shared, *build_records(world, build, cell.phase), *cell_records(world, cell, block)]
    return CellResult(records, block.outcomes, measured)


def _measured(
    world: World, found: BlockResult | OracleResult, index_us: int, began: int, *, cold: bool, beside: int
) -> Measured:
    return Measured(
        index_us,
        _microseconds(began),
        len(next(iter(found.outcomes.values()))),
        cold=cold,
        beside=beside,
        input_tokens=prompt_tokens(found.outcomes) if world.plan.generation.answers else 0,
        output_tokens=output_tokens(found.payloads, world.prepared.tokenizer),
    )


def _microseconds(began: int) -> int:
    return (time.perf_counter_ns() - began) // 1000


def index_build(world: World, arm: str, phase: int) -> IndexBuild:
    """Return the index build of one (arm, phase) of the world's plan, from this process's small cache or built anew."""
    key = (world.fixture_set_digest, world.plan_digest, arm, phase)
    with _lock:
        if key in _builds:
            _builds.move_to_end(key)
            return _builds[key]
    try:
        build = build_index(world.prepared, arm_settings(world.plan.arm(arm)), None if phase == CONTROL else phase)
    except ChunkingRefused as refusal:
        raise CellRefused(f"Arm {arm}: {refusal}") from refusal
    with _lock:
        _builds[key] = build
        while len(_builds) > _KEPT_BUILDS:
            _builds.popitem(last=False)
    return build


def _reference(world: World) -> tuple[int, IndexBuild]:
    """Return the baseline's first phase and its build, which every cell is compared with."""
    baseline = arm_settings(world.plan.baseline)
    first = arm_phases(world.plan, baseline, world.prepared, world.questions).runs[0]
    return first, index_build(world, baseline.name, first)

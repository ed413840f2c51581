"""Compute one cell. Reads rows, then only computes: what comes out is written by `finish_cell` under the lease."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.domain.cell import run_block
from evaluation.domain.chunks import ChunkingRefused
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.index_build import build_index, preflight
from evaluation.domain.oracle import OracleResult, run_oracle
from evaluation.domain.pipeline import BlockResult, IndexBuild
from evaluation.domain.stage_protocols import MayBreak, RetrievalIndex
from evaluation.models import Cell
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
from evaluation.services.report_attempt import Measured, Origin
from evaluation.services.result_keys import ANSWER
from evaluation.services.result_keys import ORACLE as ORACLE_RECORD
from evaluation.services.reuse_cells import engine_of


class CellRefused(Exception):
    """A fault of the plan's world that no retry can mend: arms that do not index the same documents, or foreign chunks
    that are not the sources' text."""


@dataclass(frozen=True)
class Indexed:
    """An index build with the retriever's index of it; `notes` is what the preflight only reports."""

    build: IndexBuild
    index: RetrievalIndex
    notes: tuple[str, ...]


#: Index builds kept per process. Cells come in random order, so a build is met again only after a while; the baseline's
#: first build is looked at before every cell.
_KEPT_BUILDS = 12
_builds: OrderedDict[tuple[str, str, str, int], IndexBuild] = OrderedDict()
_indexed: OrderedDict[tuple[str, str, str, int], Indexed] = OrderedDict()
_lock = threading.Lock()


def run_cell(cell_id: int) -> CellResult:
    """Build (or reuse) the cell's index, compare it with the baseline's, ask its questions, and return what came of it.

    Raises CellRefused when the preflight finds a missing, doubled or different document or bytes in no chunk, and
    whatever the pipeline raises.
    """
    cell = Cell.objects.select_related("sweep__plan__fixture_set").get(pk=cell_id)
    world = load_world(cell.sweep.plan)
    questions = block_of(world.asked, cell.block, cell.sweep.block_size)
    phase, reference = _reference(world)
    shared = manifest_record(world, reference, phase)
    arm = world.plan.baseline if cell.arm == ORACLE else world.plan.arm(cell.arm)
    settings, steps = pipeline_settings(world.plan, arm), policies_of(world.plan, arm)
    beside = Cell.objects.filter(state=Cell.State.CLAIMED).exclude(pk=cell_id).count()
    began = time.perf_counter_ns()
    found: BlockResult | OracleResult
    if cell.arm == ORACLE:
        ceiling = diagnostic_ceiling(world.plan)
        found = run_oracle(world.prepared, questions, settings, steps, ceiling, world.packer)
        measured = _measured(world, found, 0, began, cold=False, beside=beside)
        return CellResult([shared, *cell_records(world, cell, found)], measured, Origin(engine_of(world, cell.arm)))
    cold = not _is_indexed(world, cell.arm, cell.phase)
    indexed = index_of(world, cell.arm, cell.phase)
    index_us, began = _microseconds(began) if cold else 0, time.perf_counter_ns()
    found = run_block(world.prepared, indexed.build, questions, settings, steps, world.packer, indexed.index)
    measured = _measured(world, found, index_us, began, cold=cold, beside=beside)
    records = [shared, *build_records(world, indexed.build, cell.phase, indexed.notes)]
    return CellResult([*records, *cell_records(world, cell, found)], measured, Origin(engine_of(world, cell.arm)))


def try_arm(world: World, name: str, phase: int, questions: Sequence[FrozenQuestion]) -> tuple[BlockResult, int]:
    """Make one index anew and ask `questions` of it, outside any cell; return the block and the µs that indexing took.

    What a calibration measures: nothing is kept, in no cache either.
    """
    arm = world.plan.arm(name)
    settings, steps = pipeline_settings(world.plan, arm), policies_of(world.plan, arm)
    began = time.perf_counter_ns()
    build = build_index(world.prepared, arm_settings(arm), None if phase == CONTROL else phase)
    index = steps.retriever.index(world.prepared, build)
    index_us = _microseconds(began)
    return run_block(world.prepared, build, questions, settings, steps, world.packer, index), index_us


def try_oracle(world: World, questions: Sequence[FrozenQuestion]) -> OracleResult:
    """Ask `questions` of the oracle outside any cell; what a calibration measures."""
    arm = world.plan.baseline
    settings, steps = pipeline_settings(world.plan, arm), policies_of(world.plan, arm)
    return run_oracle(world.prepared, questions, settings, steps, diagnostic_ceiling(world.plan), world.packer)


def _measured(
    world: World, found: BlockResult | OracleResult, index_us: int, began: int, *, cold: bool, beside: int
) -> Measured:
    """What the try measured of itself, for its report."""
    texts = [text.encode() for kind, row in found.payloads if kind in {ANSWER, ORACLE_RECORD} for text in row["text"]]
    return Measured(
        index_us,
        _microseconds(began),
        len(found.columns.questions),
        cold=cold,
        beside=beside,
        input_tokens=sum(int(view.numbers["rendered_tokens"].sum()) for view in found.columns.views.values()),
        output_tokens=sum(world.prepared.tokenizer.count_many(texts)),
    )


def index_of(world: World, arm: str, phase: int) -> Indexed:
    """Return the build of one (arm, phase) and its retriever's index, from this process's cache or made anew.

    An index that came out broken fails the questions of this cell and is not kept: the next cell tries again.

    Raises CellRefused when the preflight finds that it cannot be compared with the baseline's.
    """
    key = _key(world, arm, phase)
    with _lock:
        if key in _indexed:
            _indexed.move_to_end(key)
            return _indexed[key]
    build = index_build(world, arm, phase)
    found = preflight([_reference(world)[1], build])
    if found.problems:
        raise CellRefused("The preflight found: " + "; ".join(found.problems))
    steps = policies_of(world.plan, world.plan.arm(arm))
    indexed = Indexed(build, steps.retriever.index(world.prepared, build), found.notes)
    if isinstance(indexed.index, MayBreak) and indexed.index.broken:
        # Kept, a system that was away for a moment would fail every later cell of this process.
        return indexed
    with _lock:
        _indexed[key] = indexed
        while len(_indexed) > _KEPT_BUILDS:
            _indexed.popitem(last=False)
    return indexed


def index_build(world: World, arm: str, phase: int) -> IndexBuild:
    """Return the index build of one (arm, phase) of the world's plan, from this process's small cache or built anew.

    Raises CellRefused for foreign chunks that are not the sources' text.
    """
    key = _key(world, arm, phase)
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


def _is_indexed(world: World, arm: str, phase: int) -> bool:
    with _lock:
        return _key(world, arm, phase) in _indexed


def _key(world: World, arm: str, phase: int) -> tuple[str, str, str, int]:
    return world.fixture_set_digest, world.plan_digest, arm, phase


def _reference(world: World) -> tuple[int, IndexBuild]:
    """Return the baseline's first phase and its build, which every cell is compared with."""
    baseline = arm_settings(world.plan.baseline)
    first = arm_phases(world.plan, baseline, world.prepared, world.questions).runs[0]
    return first, index_build(world, baseline.name, first)


def _microseconds(began: int) -> int:
    return (time.perf_counter_ns() - began) // 1000

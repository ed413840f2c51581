"""What a cell that failed for good leaves in the results."""

from __future__ import annotations

from evaluation.models import Cell
from evaluation.services.finish_cell import CellResult
from evaluation.services.frozen_world import load_world
from evaluation.services.population import block_of
from evaluation.services.record_cell import failure_records


def failed_result(cell_id: int) -> CellResult:
    """Return the labelled failure of a cell: its questions failed in every view, and count as misses."""
    cell = Cell.objects.select_related("sweep__plan__fixture_set__study").get(pk=cell_id)
    world = load_world(cell.sweep.plan)
    return CellResult(failure_records(world, cell, block_of(world.asked, cell.block, cell.sweep.block_size)))

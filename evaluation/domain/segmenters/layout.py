"""From core boundaries and chunk ends to a `ChunkTable`, and windows over any unit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.phases import PhaseError, check_phase
from evaluation.domain.segmenters.ruler import Ruler
from evaluation.domain.tokens import IntArray

#: What every segmenter here says of its edges, for the manifest.
EDGES = "shorter edge chunks kept; first core starts and last core ends at the source's edge"


def phase_of(name: str, phase: int | None, stride: int) -> int:
    """The phase as a number in 1…stride. Raises `PhaseError` for None and anything outside."""
    if phase is None:
        raise PhaseError(f"{name} has phases: name one of 1…{stride}; only unshifted controls run without")
    return check_phase(phase, stride)


def lay_out(
    edges: IntArray,
    ends: IntArray,
    tokens: Ruler,
    tails: str,
    remarks: Mapping[str, int] | None = None,
    lineage: IntArray | None = None,
) -> ChunkTable:
    """The chunks whose cores lie between `edges` (bytes, strictly increasing, 0 first and the size last).

    `ends` has one end per core, never decreasing. With `tails` "drop", chunks wholly inside an earlier one are left
    out; their bytes stay in that one. Token indices count the tokens that start before a byte.
    """
    if tokens.size == 0:
        edges, ends = edges[:0], ends[:0]
    core_start, core_end, cuts = edges[:-1], edges[1:], edges[1:-1]
    keep = np.arange(core_start.size)
    if tails == "drop" and keep.size:
        contained = np.concatenate(([False], ends[1:] <= np.maximum.accumulate(ends)[:-1]))
        keep = np.flatnonzero(~contained)
    token_edges = tokens.at_all(edges)
    return ChunkTable(
        core_start=core_start[keep],
        core_end=core_end[keep],
        end=ends[keep],
        token_start=token_edges[:-1][keep],
        token_core_end=token_edges[1:][keep],
        token_end=tokens.at_all(ends)[keep],
        cut_tokens=token_edges[1:-1],
        cut_bytes=cuts,
        empty_cores=np.zeros(0, dtype=np.int64),
        dropped_tails=int(core_start.size - keep.size),
        remarks={name: count for name, count in (remarks or {}).items() if count},
        lineage=None if lineage is None else lineage[keep],
    )


def windows(starts: IntArray, tokens: Ruler, phase: int, capacity: int, overlap: int, tails: str) -> ChunkTable:
    """Windows of `capacity` units with `overlap`, first interior cut at unit `phase`, then every capacity − overlap.

    `starts` holds the byte where each unit starts, strictly increasing, with the source's size at the end; bytes before
    the first unit belong to the first core.
    """
    n = int(starts.size) - 1
    cuts = np.arange(phase, n, capacity - overlap, dtype=np.int64)
    size = np.array([tokens.size], dtype=np.int64)
    edges = np.concatenate((np.zeros(1, dtype=np.int64), starts[cuts], size))
    ends = starts[np.minimum(np.append(cuts, n) + overlap, n)]
    return lay_out(edges, ends, tokens, tails)

"""What a sweep did beside its results: order of cells, caps, times. Nothing here is sealed, and none of it is a
result."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evaluation.domain.sweep_limits import Limits, Used
from evaluation.models import Sweep
from evaluation.selectors.latency import latencies_of
from evaluation.selectors.reuse import reused_from
from evaluation.services.limit_sweep import limits_of, used_by
from evaluation.services.results import SweepResults


def results_document(sweep: Sweep, results: SweepResults) -> dict[str, Any]:
    """Return what `results --json` and the API write: the report, and the operations in a member of their own."""
    return {**results.data, "operations": operations_of(sweep)}


def operations_of(sweep: Sweep) -> dict[str, Any]:
    """Return the operations of a sweep as plain data. Five queries."""
    limits, used = limits_of(sweep), used_by(sweep)
    return {
        "seed": str(sweep.seed),
        "block_size": sweep.block_size,
        "limits": limits_data(limits),
        "used": used_data(limits, used),
        "reused": reused_data(sweep),
        "latency": [asdict(one) for one in latencies_of(sweep)],
    }


def reused_data(sweep: Sweep) -> dict[str, int]:
    """Return how many cells were taken from which earlier sweep ("sweep:3") instead of computed."""
    return {Sweep(pk=source).scope: cells for source, cells in reused_from(sweep).items()}


def limits_data(limits: Limits) -> dict[str, int | str | None]:
    """Return caps and prices as plain data, None where there is none; money as text."""
    text = limits.as_text()
    names = ("max_cost", "price_input", "price_output")
    return {
        "max_cells": limits.max_cells,
        "max_minutes": limits.max_minutes,
        **{name: text.get(name) for name in names},
    }


def used_data(limits: Limits, used: Used) -> dict[str, Any]:
    """Return what was used of the caps as plain data; `cost` is None without prices."""
    cost = limits.prices.cost(used.input_tokens, used.output_tokens)
    return {
        "cells": used.cells,
        "minutes": round(used.minutes, 3),
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cost": None if cost is None else format(cost, "f"),
    }

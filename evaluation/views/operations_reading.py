"""What a sweep used and how long it took, in words."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from evaluation.domain.sweep_limits import Limits, Used, money
from evaluation.selectors.latency import ArmLatency
from evaluation.services.pipeline_of import ORACLE
from evaluation.views.wording import counted, minutes


def used_rows(limits: Limits, used: Used, cells: int) -> list[tuple[str, str]]:
    """Return what was used beside its cap, as (name, words); `cells` is how many there are."""
    rows = []
    if limits.max_cells is not None:
        rows.append(("Cells begun", f"{used.cells:,} of at most {limits.max_cells:,} ({cells:,} in all)"))
    cap = f" of at most {counted(limits.max_minutes, 'minute')}" if limits.max_minutes is not None else ""
    rows.append(("Work so far", f"{minutes(used.minutes)}{cap}, summed over workers" if used.cells else "none"))
    if limits.prices.given:
        cost = limits.prices.cost(used.input_tokens, used.output_tokens)
        cap = f" of at most {money(limits.max_cost)}" if limits.max_cost is not None else ""
        tokens = f"{used.input_tokens:,} tokens sent, {used.output_tokens:,} received"
        rows.append(("Cost so far", f"{money(cost or Decimal(0))}{cap} for {tokens}"))
    return rows


def reused_rows(reused: Mapping[int, int], *, recompute: bool) -> list[tuple[int | None, str]]:
    """Return (earlier sweep, words) for the cells taken from it; (None, words) where all were asked to be computed."""
    if recompute:
        return [(None, "nothing: every cell was to be computed again")]
    return [(sweep, counted(cells, "cell")) for sweep, cells in reused.items()]


def latency_row(one: ArmLatency) -> tuple[str, str, str, str, str, str]:
    """Return one arm's times: arm, state, per question, index build, load, what it was measured on."""
    name = "Oracle (no index)" if one.arm == ORACLE else one.arm
    index = "not made anew" if one.index_ms is None else f"{one.index_ms:,.1f} ms"
    load = f"{one.beside:g} other cell{'' if one.beside == 1 else 's'}"
    on = f"{counted(one.questions, 'question')} in {counted(one.tries, 'cell')}"
    return name, str(one.state), f"{one.query_ms:,.2f} ms", index, load, on

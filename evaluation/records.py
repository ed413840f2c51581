"""What the ledger is told about this app's rows: one payload per kind, built from the row alone.

Services append these payloads and `evaluation.verifiers` rebuilds them to compare, so a row cannot drift from what was
recorded. `by` is rebuilt where the row names its author; elsewhere it names who acted.
"""

from __future__ import annotations

import hashlib
from typing import Any

from annotate.records import authored
from evaluation.models import Attempt, Cell, Plan, Release, Sweep
from ledger.domain.canonical import canonical_bytes, digest, parse_canonical
from ledger.domain.chain import timestamp

PLAN_LOCKED = "plan.locked"
SWEEP_STARTED = "sweep.started"
SWEEP_CANCELLED = "sweep.cancelled"
SWEEP_LIMITED = "sweep.limited"
SWEEP_CAPPED = "sweep.capped"
SWEEP_PAUSED = "sweep.paused"
SWEEP_CLOSED = "sweep.closed"
CELL_ATTEMPT = "cell.attempt"
RELEASE_SIGNED = "release.signed"

#: Records after which a sweep is over.
SWEEP_OVER = (SWEEP_CLOSED, SWEEP_CANCELLED)

#: What a try measures of itself, in the order of its columns; a try that measured nothing has none of them.
MEASURED = ("index_us", "query_us", "asked", "cold", "beside", "input_tokens", "output_tokens")


def plan_locked_payload(plan: Plan) -> dict[str, Any]:
    """Return a locked plan: its payload whole, where it stands, and the text it was read from, by digest.

    Needs `study`, `fixture_set` and `written_by`.
    """
    return {
        "study": plan.study.slug,
        "fixture_set": plan.fixture_set.digest,
        "digest": plan.digest,
        "name": plan.name,
        "plan": parse_canonical(bytes(plan.canonical)),
        "toml": hashlib.sha256(plan.toml.encode()).hexdigest(),
        "written": authored(plan.written_by, plan.written_at),
        "post_hoc": plan.post_hoc,
        "locked_at": timestamp(plan.locked_at) if plan.locked_at else "",
    }


def sweep_started_payload(sweep: Sweep) -> dict[str, Any]:
    """Return what a sweep is to do: how many cells of each arm, and all of them by digest. Needs `plan.fixture_set`."""
    arms: dict[str, int] = {}
    places = list(sweep.cells.order_by().values_list("arm", "phase", "block", "repeat"))
    for arm, *_ in sorted(places):
        arms[arm] = arms.get(arm, 0) + 1
    return {
        "plan": sweep.plan.digest,
        # The same text may be locked twice, and only the later lock is post hoc.
        "plan_locked_at": timestamp(sweep.plan.locked_at) if sweep.plan.locked_at else "",
        "fixture_set": sweep.plan.fixture_set.digest,
        "seed": str(sweep.seed),
        "block_size": sweep.block_size,
        "held_out": sweep.held_out,
        **({"recompute": True} if sweep.recompute else {}),
        "cells": arms,
        "layout": digest(canonical_bytes(sorted(list(place) for place in places))),
        "at": timestamp(sweep.started_at),
    }


def sweep_limited_payload(sweep: Sweep) -> dict[str, Any]:
    """Return the caps of a sweep as they are set now, "" where there is none; needs `plan`."""
    return {
        "plan": sweep.plan.digest,
        "max_cells": "" if sweep.max_cells is None else str(sweep.max_cells),
        "max_minutes": "" if sweep.max_minutes is None else str(sweep.max_minutes),
        "max_cost": sweep.max_cost,
        "price_input": sweep.price_input,
        "price_output": sweep.price_output,
    }


def standing(kind: str | None, told: dict[str, Any]) -> tuple[Sweep.State, str]:
    """Return the state and the note a sweep has after the record `kind` with payload `told`; None before any.

    For records that leave a sweep open: the note of one that stands still says why, that of one that runs is empty.
    """
    if kind == SWEEP_PAUSED:
        return Sweep.State.PAUSED, f"Paused by {told['by']}{f': {told["reason"]}' if told['reason'] else '.'}"
    if kind == SWEEP_CAPPED and "by" in told:
        # A pause, as it was recorded before pauses had a kind of their own; the reason is the whole note.
        return Sweep.State.PAUSED, told["reason"]
    if kind == SWEEP_CAPPED:
        return Sweep.State.CAPPED, f"The cap was reached: {told['reason']}"
    return Sweep.State.RUNNING, ""


def sweep_closed_payload(sweep: Sweep) -> dict[str, Any]:
    """Return what a sealed sweep came to; needs `plan`."""
    return {
        "plan": sweep.plan.digest,
        "root": sweep.root,
        "cells": sweep.cells.count(),
        "failed_cells": sweep.cells.filter(state=Cell.State.FAILED).count(),
        "problem": sweep.problem,
        "at": timestamp(sweep.finished_at) if sweep.finished_at else "",
    }


def attempt_payload(attempt: Attempt) -> dict[str, Any]:
    """Return one report about one try at a cell; needs `cell`. Times and worker names stand here and in no result."""
    cell = attempt.cell
    measured = {name: int(value) for name in MEASURED if (value := getattr(attempt, name)) is not None}
    return {
        **({"measured": measured} if measured else {}),
        **({"calls": attempt.calls} if attempt.calls else {}),
        **({"engine": attempt.engine} if attempt.engine else {}),
        **({"reused_from": Sweep(pk=attempt.reused_from_id).scope} if attempt.reused_from_id else {}),
        "arm": cell.arm,
        "phase": cell.phase,
        "block": cell.block,
        "repeat": cell.repeat,
        "attempt": attempt.number,
        "outcome": str(attempt.outcome),
        "problem": attempt.problem,
        "worker": attempt.worker,
        "started_at": timestamp(attempt.started_at),
        "finished_at": timestamp(attempt.finished_at),
    }


def release_payload(release: Release) -> dict[str, Any]:
    """Return a signed release; `decision` is the digest of the canonical decision. Needs `sweep.plan`, `signed_by`."""
    return {
        "plan": release.sweep.plan.digest,
        "root": release.sweep.root,
        "decision": release.digest,
        "computed": release.computed,
        "disposition": release.disposition,
        "override_reason": release.override_reason,
        "held_out_openings": release.held_out_openings,
        "signed_by": release.signed_by.username,
    }

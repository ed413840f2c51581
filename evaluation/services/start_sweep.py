"""Start the one run of a locked plan: cells in a random order of recorded seed, and the records that need no cell."""

from __future__ import annotations

import secrets
from dataclasses import asdict

from django.db import IntegrityError, transaction

from annotate.domain.vocabulary import Partition
from annotate.models import FixtureSet
from annotate.permissions import By, person_or_none
from annotate.services.authorise import authorise
from annotate.services.open_held_out import open_held_out
from evaluation.domain.sweep_limits import Limits
from evaluation.models import Cell, Plan, Sweep
from evaluation.records import SWEEP_STARTED, sweep_started_payload
from evaluation.services.check_arms import check_arms
from evaluation.services.frozen_world import World, load_world
from evaluation.services.limit_sweep import limits_of, set_limits
from evaluation.services.planned_cells import BLOCK_SIZE, check_block_size, planned_cells
from evaluation.services.problems import Conflict, NothingToAsk, PlanNotLocked
from evaluation.services.record_question import question_records
from evaluation.services.ring import ring
from ledger.services import append, put_results


def start_sweep(
    by: By,
    plan: Plan,
    *,
    idempotency_key: str,
    seed: int | None = None,
    block_size: int = BLOCK_SIZE,
    limits: Limits | None = None,
    recompute: bool = False,
) -> Sweep:
    """Create a sweep of `plan` with all its cells and ring for workers; the same key again returns the same sweep.

    `seed` orders the cells (drawn and recorded when not given); results do not depend on it. `block_size` is how many
    questions one cell asks. `limits` are the caps it stops at; they can be raised later (`limit_sweep`). Deterministic
    cells are taken from an earlier sweep of the plan that was made with the same pins, unless `recompute`.

    Permission `sweep.start`. Raises PlanNotLocked, NothingToAsk for an empty population, Conflict for a key that
    started another plan or a held-out partition opened as often as the plan allows, NotAllowed, and BadInput for
    a block size outside 1…65,536, a tokenizer that is not there or damaged text. Nothing is kept then.
    """
    authorise(by, plan.study, "sweep.start")
    check_block_size(block_size)
    if found := _started(plan, idempotency_key):
        return found
    if plan.locked_at is None:
        raise PlanNotLocked(
            f"The plan “{plan.name}” is not locked. Lock it first: a sweep may only follow a fixed plan."
        )
    world = load_world(plan)
    check_arms(world)
    if not world.questions:
        raise NothingToAsk(
            f"The fixture set “{plan.fixture_set.name}” has no question in the plan's partition "
            f"({world.plan.population.partition}) and segments ({', '.join(world.plan.population.segments)}). "
            "Freeze such questions, or write another plan."
        )
    try:
        with transaction.atomic():
            sweep = _create(by, plan, world, idempotency_key, seed, block_size, recompute=recompute)
            if limits is not None and limits.any and limits_of(sweep) != limits:
                set_limits(by, sweep, limits)
            return sweep
    except IntegrityError:
        # Two requests with one key at the same moment: the other one's sweep is the sweep.
        if found := _started(plan, idempotency_key):
            return found
        raise


def _started(plan: Plan, key: str) -> Sweep | None:
    found = Sweep.objects.filter(idempotency_key=key).first()
    if found is not None and found.plan_id != plan.pk:
        raise Conflict(f"The key {key!r} started sweep {found.pk} of another plan. Use a new key for another sweep.")
    return found


def _create(by: By, plan: Plan, world: World, key: str, seed: int | None, block_size: int, *, recompute: bool) -> Sweep:
    # The fixture set's row orders sweeps and locks: whether a plan is post hoc is decided by who comes first.
    fixture_set = FixtureSet.objects.select_for_update().get(pk=plan.fixture_set_id)
    # Asked again under the lock: a second press of the button must not count as a second opening, and be refused.
    if found := _started(plan, key):
        return found
    held_out = any(one.partition is Partition.HELD_OUT for one in world.questions)
    if held_out:
        _count_opening(by, plan, world, fixture_set)
    seed = secrets.randbelow(2**63) if seed is None else seed
    sweep = Sweep.objects.create(
        plan=plan,
        seed=seed,
        block_size=block_size,
        held_out=held_out,
        recompute=recompute,
        idempotency_key=key,
        started_by=person_or_none(by),
    )
    cells = (Cell(sweep=sweep, **asdict(one)) for one in planned_cells(world, seed, block_size))
    Cell.objects.bulk_create(cells, batch_size=500)
    put_results(sweep.scope, question_records(world))
    append(SWEEP_STARTED, {**sweep_started_payload(sweep), "by": by.username}, sweep.scope)
    ring()
    return sweep


def _count_opening(by: By, plan: Plan, world: World, fixture_set: FixtureSet) -> None:
    allowed = world.plan.population.held_out_openings
    used = Sweep.objects.filter(plan=plan, held_out=True).count()
    if used >= allowed:
        raise Conflict(
            f"The plan “{plan.name}” may open the held-out partition {allowed} time(s) and has done so {used} time(s). "
            "Look at the sweeps there are, or lock a new plan, which will be post hoc."
        )
    open_held_out(by, fixture_set, f"sweep of plan {plan.name} ({plan.digest[:12]})")

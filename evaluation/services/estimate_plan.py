"""The estimate of a plan as pages, the command and files show it: counted sizes, and costs of cells that really ran."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from annotate.models import FixtureSet
from annotate.permissions import By
from annotate.services.authorise import authorise
from evaluation.domain.estimate import ArmCost, ArmSize, Calibration, Cost, Size, cost_of
from evaluation.domain.plan_toml import parse_plan
from evaluation.domain.sweep_limits import Prices
from evaluation.models import Calibration as CalibrationRow
from evaluation.models import Plan
from evaluation.services.calibrate import calibrate
from evaluation.services.check_arms import check_arms
from evaluation.services.estimate_sweep import size_of
from evaluation.services.frozen_world import World, draft_world, load_world
from evaluation.services.pipeline_of import ORACLE
from evaluation.services.plugins import installed_plugins
from evaluation.services.problems import NothingToAsk
from evaluation.services.write_plan import plan_digest
from ledger.domain.canonical import canonical_bytes, parse_canonical

#: Seconds a page or command spends on cutting the corpus to count chunks.
COUNTING_SECONDS = 5.0
#: Changes whenever what is kept has another shape or meaning; what was kept under another is measured anew.
_FORM = 1


@dataclass(frozen=True)
class Estimate:
    """What a sweep of a plan would be and what it would take."""

    size: Size
    calibration: Calibration
    prices: Prices

    @property
    def cost(self) -> Cost:
        """Minutes, tokens and money."""
        return cost_of(self.size, self.calibration, self.prices, ORACLE)

    def data(self) -> dict[str, Any]:
        """Return it as plain data for `--json` and the API; see docs/results.md."""
        size, cost = self.size, self.cost
        return {
            "cells": size.cells,
            "index_builds": size.builds,
            "questions": size.questions,
            "repeats": size.repeats,
            "prompts": size.prompts,
            "generated": size.generated,
            "chunks": size.chunks,
            "distinct_chunks": size.distinct_chunks,
            "chunks_complete": size.chunks_complete,
            "arms": [_arm_data(arm) for arm in size.arms],
            "minutes": round(cost.minutes, 2),
            "evidence_tokens": cost.evidence_tokens,
            "input_tokens": cost.input_tokens,
            "output_tokens": cost.output_tokens,
            "cost": None if cost.cost is None else format(cost.cost, "f"),
            "measured_on": self.calibration.questions,
        }


def machine() -> str:
    """Return a name for the kind of machine this process runs on: what times depend on, and no secret of it."""
    parts = (platform.node(), platform.machine(), platform.python_version(), str(os.cpu_count()))
    return hashlib.sha256("/".join(parts).encode()).hexdigest()


def kept_estimate(by: By, plan: Plan, prices: Prices) -> Estimate | None:
    """Return what was measured before of this plan on this machine; None when nothing was. One query.

    Permission `plan.view`. Raises NotAllowed.
    """
    authorise(by, plan.study, "plan.view")
    return _kept(plan.digest, plan.fixture_set.digest, prices)


def estimate_plan(by: By, plan: Plan, prices: Prices, *, again: bool = False) -> Estimate:
    """Estimate a written plan from a few cells that run now, unless they did before on this machine (and not `again`).

    Permission `plan.write` (it keeps the machine busy for seconds). Raises what `load_world` raises, NothingToAsk for
    an empty population, NotAllowed, and whatever an arm that cannot run here raises.
    """
    authorise(by, plan.study, "plan.write")
    return _estimate(plan.digest, plan.fixture_set.digest, lambda: load_world(plan), prices, again)


def estimate_text(by: By, fixture_set: FixtureSet, toml: str, prices: Prices, *, again: bool = False) -> Estimate:
    """Estimate a plan that is only a text: nothing of it is written down but the measurement.

    Permission `plan.write`. Raises `PlanRefused`, and what `estimate_plan` raises.
    """
    authorise(by, fixture_set.study, "plan.write")
    value = parse_plan(toml, installed_plugins().known_names())
    name = plan_digest(value)
    return _estimate(name, fixture_set.digest, lambda: draft_world(value, name, fixture_set), prices, again)


def _estimate(plan: str, fixture_set: str, world_of: Callable[[], World], prices: Prices, again: bool) -> Estimate:
    kept = None if again else _kept(plan, fixture_set, prices)
    if kept is not None:
        return kept
    began = time.perf_counter_ns()
    world = world_of()
    check_arms(world)
    prepare_us = (time.perf_counter_ns() - began) // 1000
    if not world.questions:
        raise NothingToAsk(
            f"The fixture set has no question in the plan's partition ({world.plan.population.partition}) and segments "
            f"({', '.join(world.plan.population.segments)}): there is nothing to estimate."
        )
    found = Estimate(size_of(world, seconds=COUNTING_SECONDS), calibrate(world, prepare_us=prepare_us), prices)
    CalibrationRow.objects.update_or_create(
        plan_digest=plan, fixture_set_digest=fixture_set, machine=machine(), defaults={"body": _body(found)}
    )
    return found


def _kept(plan: str, fixture_set: str, prices: Prices) -> Estimate | None:
    row = CalibrationRow.objects.filter(plan_digest=plan, fixture_set_digest=fixture_set, machine=machine()).first()
    value = parse_canonical(bytes(row.body)) if row else {}
    if value.get("form") != _FORM:
        return None
    size, costs = value["size"], value["calibration"]["arms"]
    arms = tuple(
        ArmSize(**{**arm, "collapsed": tuple(tuple(labels) for labels in arm["collapsed"])}) for arm in size["arms"]
    )
    calibration = Calibration(
        **{**value["calibration"], "arms": {name: ArmCost(**cost) for name, cost in costs.items()}}
    )
    return Estimate(Size(**{**size, "arms": arms}), calibration, prices)


def _body(estimate: Estimate) -> bytes:
    size = {**asdict(estimate.size), "arms": [_arm_data(arm) for arm in estimate.size.arms]}
    return canonical_bytes({"form": _FORM, "size": size, "calibration": asdict(estimate.calibration)})


def _arm_data(arm: ArmSize) -> dict[str, Any]:
    return {**asdict(arm), "collapsed": [list(labels) for labels in arm.collapsed]}

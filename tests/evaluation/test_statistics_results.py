"""What a sweep's report holds of statistics: frontier, interaction, fragility, and arms of the held-out set."""

from __future__ import annotations

import pytest

from annotate.permissions import OPERATOR
from evaluation.models import Sweep
from evaluation.selectors.held_out_arms import held_out_arms
from evaluation.services.results import sweep_results
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from tests.evaluation.sweeps import locked, plan_toml, small_study, started

pytestmark = pytest.mark.django_db

THIRD = """[[arms]]
name = "wide"
role = "candidate"
segmenter = "token-window"
capacity = 60
overlap = 12
factor = "capacity"

[statistics]
multiplicity = "bonferroni"
"""
SUPPORT = {"sample": "enriched", "segment": "overall", "metric": "complete-support", "view": "budget:90"}


def sealed(toml: str) -> Sweep:
    sweep = started(toml=toml)
    drain("w")
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED
    return sweep


def test_three_arms_stand_on_a_frontier_with_interaction_and_fragility() -> None:
    floor = 'candidate = "plain"'
    toml = plan_toml({"[statistics]\n": THIRD, floor: f'{floor}\nsupport_floor = 0\nfloor_cost = "index-tokens"'})
    results = sweep_results(sealed(toml))

    found = results.row("frontier", view="budget:90", sample="enriched")
    means = {arm: results.row("arms_by_view", arm=arm, **SUPPORT)["mean"] for arm in ("overlap", "plain", "wide")}
    assert {one["arm"]: one["support"]["value"] for one in found["arms"]} == pytest.approx(means, abs=2e-6)
    costs = {one["arm"]: one["costs"] for one in found["arms"]}
    assert costs["plain"]["index-tokens"] == 1.0
    assert costs["overlap"]["index-tokens"] > costs["wide"]["index-tokens"] > 1.0
    assert found["left_out"]["latency"] == "not measured for overlap, plain, wide"
    assert found["floor"] == "0"
    assert found["cheapest"] in {None, "plain"}
    for one in found["arms"]:
        assert one["arm"] not in one["dominated_by"]

    rows = list(results.rows("interactions", sample="enriched", segment="overall"))
    assert [(row["candidate"], row["capacities"]) for row in rows] == [("wide", [40, 60])]
    assert sum(one["value"] for one in rows[0]["phases"]) == pytest.approx(0, abs=1e-5)

    row = results.row("arms_by_view", arm="plain", **SUPPORT)
    assert row["fragile_interval"]["value"] == row["fragile_share"]
    assert row["fragile_interval"]["signature"]["method"] == "Clopper–Pearson bound"
    assert row["question_worst_interval"]["value"] == pytest.approx(row["question_worst"], abs=1e-6)
    assert row["repeat_flips"]["status"] == "undefined"
    assert row["worst_interval"]["signature"]["method"].startswith("intersection bounds")
    pair = results.row("pairs", candidate="plain", **SUPPORT)
    worst = {arm: results.row("arms_by_view", arm=arm, **SUPPORT)["question_worst"] for arm in ("overlap", "plain")}
    assert pair["question_worst"]["value"] == pytest.approx(worst["plain"] - worst["overlap"], abs=2e-6)
    assert pair["mean"]["signature"]["comparisons"] == 2


def test_latency_limit_reads_the_cells_of_its_state() -> None:
    limit = '[resources]\nlatency_ms = 600000\nlatency_state = "cold"\n\n[decision]'
    decision = sweep_results(sealed(plan_toml({"[decision]": limit}))).data["decision"]
    (found,) = [gate for gate in decision["gates"] if gate["gate"] == "latency"]
    assert found["reading"] == "accept"
    assert found["numbers"]["cells"] >= 1


def test_arms_of_one_capacity_have_no_interaction_to_tell() -> None:
    assert list(sweep_results(sealed(plan_toml())).rows("interactions")) == []


def test_every_arm_run_on_held_out_questions_is_listed_and_no_other() -> None:
    fixture_set = small_study()
    start_sweep(OPERATOR, locked(fixture_set), idempotency_key="development", block_size=8)
    assert held_out_arms(OPERATOR, fixture_set) == ()
    toml = plan_toml(partition="held-out", openings=2)
    plan = locked(fixture_set, toml)
    first = start_sweep(OPERATOR, plan, idempotency_key="first", block_size=8)
    second = start_sweep(OPERATOR, plan, idempotency_key="second", block_size=8)
    found = held_out_arms(OPERATOR, fixture_set)
    assert [(one.sweep, one.arm, one.candidate) for one in found] == [
        (sweep.pk, arm, arm == "plain") for sweep in (first, second) for arm in ("overlap", "plain")
    ]
    assert {(one.role, one.capacity, one.comparisons, one.plan_digest) for one in found} == {
        ("baseline", 40, 1, plan.digest),
        ("candidate", 40, 1, plan.digest),
    }

"""Estimates: counted numbers are those of the sweep that follows, measured ones come from cells that really ran."""

from __future__ import annotations

import json
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotate.domain.vocabulary import Role
from annotate.permissions import OPERATOR, NotAllowed
from evaluation.domain.estimate import ArmCost, ArmSize, Calibration, Size, cost_of
from evaluation.domain.sweep_limits import Prices
from evaluation.models import Calibration as CalibrationRow
from evaluation.models import Plan, Sweep
from evaluation.services.estimate_plan import estimate_plan, estimate_text, kept_estimate
from evaluation.services.outcome_table import table_of_results
from evaluation.services.pause_sweep import pause_sweep
from evaluation.services.pipeline_of import ORACLE
from evaluation.services.problems import NothingToAsk
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from ledger.models import Record, Result
from tests.evaluation.sweeps import locked, plan_toml, small_study
from tests.factories.studies import make_member

pytestmark = pytest.mark.django_db
PRICES = Prices(Decimal("0.15"), Decimal("0.60"))


def test_counted_numbers_are_those_of_the_sweep() -> None:
    plan = locked(small_study(), plan_toml(grid=8))
    size = estimate_plan(OPERATOR, plan, Prices()).size
    sweep = start_sweep(OPERATOR, plan, idempotency_key="k")
    drain("w")
    assert size.cells == sweep.cells.count() == 17
    assert size.builds == Result.objects.filter(scope=sweep.scope, kind="manifest").count() == 16
    outcomes = table_of_results(sweep).cells
    assert size.prompts == sum(len(one) for one in outcomes.values())
    manifests = [one.value for one in Result.objects.filter(scope=sweep.scope, kind="manifest")]
    assert sum(arm.chunks for arm in size.arms) == sum(one["chunk_count"] for one in manifests)
    for arm in size.arms:
        own = {one["chunk_ids"] for one in manifests if one["arm"] == arm.arm}
        assert arm.chunkings == len(own)
        assert arm.distinct_chunks <= arm.chunks


def test_measured_numbers_come_from_cells_and_nothing_else_is_kept() -> None:
    plan = locked(small_study(), plan_toml())
    before = Record.objects.count()
    found = estimate_plan(OPERATOR, plan, PRICES)
    assert found.cost.minutes > 0
    assert 0 < found.cost.evidence_tokens < found.cost.input_tokens
    assert found.cost.output_tokens > 0
    assert found.cost.cost == PRICES.cost(found.cost.input_tokens, found.cost.output_tokens)
    assert found.calibration.questions == "development"
    assert not Sweep.objects.exists()
    assert not Result.objects.exists()
    assert Record.objects.count() == before
    assert estimate_plan(OPERATOR, plan, PRICES) == found == kept_estimate(OPERATOR, plan, PRICES), "kept here"
    assert estimate_plan(OPERATOR, plan, PRICES, again=True).size == found.size
    assert CalibrationRow.objects.count() == 1


def test_estimated_tokens_are_near_those_of_the_sweep() -> None:
    plan = locked(small_study(), plan_toml())
    found = estimate_plan(OPERATOR, plan, Prices())
    sweep = start_sweep(OPERATOR, plan, idempotency_key="k")
    drain("w", sweep_id=sweep.pk)
    outcomes = table_of_results(sweep).cells
    sent = sum(one.prompt_tokens for place in outcomes.values() for one in place.values())
    assert abs(found.cost.input_tokens / sent - 1) < 0.25


def test_plan_of_held_out_questions_is_measured_on_development_ones() -> None:
    fixture_set = small_study()
    found = estimate_text(OPERATOR, fixture_set, plan_toml(partition="held-out", openings=1), Prices())
    assert found.calibration.questions == "development"
    assert found.size.questions == 2
    assert not Plan.objects.exists()


def test_estimate_is_for_leads_and_of_something() -> None:
    fixture_set = small_study(held_out=0)
    plan = locked(fixture_set)
    observer = make_member(fixture_set.study, Role.OBSERVER)
    assert kept_estimate(observer, plan, Prices()) is None
    with pytest.raises(NotAllowed):
        estimate_plan(observer, plan, Prices())
    with pytest.raises(NothingToAsk):
        estimate_text(OPERATOR, fixture_set, plan_toml(partition="held-out", openings=1), Prices())


def test_labels_on_one_cut_are_one_phase_and_controls_one_observation() -> None:
    toml = plan_toml(
        {"capacity = 40\noverlap = 0": "capacity = 6\noverlap = 0", '"overlap"\n\n[stat': '"combined"\n\n[stat'}
    )
    size = estimate_text(OPERATOR, small_study(), toml.replace("grid = 4", "grid = 8"), Prices()).size
    plain = next(arm for arm in size.arms if arm.arm == "plain")
    assert (plain.stride, plain.phases) == (6, 6)
    assert plain.collapsed == (("1/4", "3/8"), ("3/4", "7/8"))


def test_cost_multiplies_what_was_measured_by_what_will_run() -> None:
    arms = (ArmSize("a", 4, 4, 4, 4, 40, 30, (), 0, 0), ArmSize("b", 0, 1, 1, 1, 10, 10, (), 0, 0))
    size = Size(12, 5, 100, 2, 3, 2, generated=True, arms=arms)
    assert size.prompts == 100 * 2 * (5 * 3 + 2)
    one = ArmCost(1_000_000, 500_000, 10, 1_000, 2_000, 100)
    measured = Calibration(6_000_000, "development", {"a": one, "b": one, ORACLE: one})
    found = cost_of(size, measured, Prices(Decimal(1), None), ORACLE)
    # 5 builds and the oracle's, twice: 12 builds of 1 s and 120 blocks of ten questions of 0.5 s, and 6 s to prepare.
    assert found.minutes == pytest.approx((6 + 12 + 60) / 60)
    assert (found.evidence_tokens, found.input_tokens, found.output_tokens) == (120_000, 240_000, 12_000)
    assert found.cost == Decimal("0.24")
    silent = cost_of(Size(12, 5, 100, 2, 3, 2, generated=False, arms=arms), measured, Prices(Decimal(1)), ORACLE)
    assert silent.cost == 0


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=out)
    return out.getvalue()


@pytest.fixture
def plan_file(tmp_path: Path) -> str:
    path = tmp_path / "plan.toml"
    path.write_text(plan_toml(grid=2), encoding="utf-8")
    return str(path)


def test_command_estimates_without_writing_a_plan(plan_file: str, tmp_path: Path) -> None:
    small_study()
    target = tmp_path / "estimate.json"
    printed = run("sweep", plan_file, "--estimate", "--price-input", "0.15", "--json", str(target))
    assert "minutes of work" in printed
    assert "5 cells" in printed
    data = json.loads(target.read_text())
    assert data["cells"] == 5
    assert Decimal(data["cost"]) > 0
    assert not Plan.objects.exists()


def test_command_stops_at_its_cap_with_3_and_goes_on(plan_file: str) -> None:
    small_study()
    with pytest.raises(CommandError, match="2 of at most 2 cells") as stopped:
        run("sweep", plan_file, "--wait", "--max-cells", "2")
    assert stopped.value.returncode == 3
    with pytest.raises(CommandError, match="Raise the cap") as refused:
        run("sweep", plan_file, "--resume", "--wait")
    assert refused.value.returncode == 1
    run("sweep", plan_file, "--resume", "--max-cells", "none", "--wait")
    assert Sweep.objects.get().state == Sweep.State.SEALED
    with pytest.raises(CommandError, match="no capped or paused sweep") as nothing:
        run("sweep", plan_file, "--resume")
    assert nothing.value.returncode == 2


def test_command_says_that_a_sweep_is_paused_with_3_and_lets_it_go_on(plan_file: str) -> None:
    small_study()
    run("sweep", plan_file)
    pause_sweep(OPERATOR, Sweep.objects.get(), reason="Night shift.")
    with pytest.raises(CommandError, match=r"stands still. Paused by .*: Night shift. Go on with --resume") as stopped:
        run("sweep", plan_file, "--wait")
    assert stopped.value.returncode == 3
    run("sweep", plan_file, "--resume", "--wait")
    assert Sweep.objects.get().state == Sweep.State.SEALED


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--estimate", "--wait"], "--estimate starts nothing"),
        (["--resume", "--again"], "choose one"),
        (["--max-cells", "0"], "max_cells"),
        (["--max-cost", "3"], "no price was given"),
        (["--estimate", "--price-input", "free"], "price_input"),
    ],
)
def test_arguments_that_say_nothing_are_refused(plan_file: str, arguments: list[str], said: str) -> None:
    small_study()
    with pytest.raises(CommandError, match=said) as refused:
        run("sweep", plan_file, *arguments)
    assert refused.value.returncode == 2
    assert not Sweep.objects.exists()

"""Plans that are locked, sweeps that are started: what is refused, what happens once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.models import HeldOutOpening
from annotate.permissions import OPERATOR, NotAllowed
from evaluation.domain.plan_schema import PlanRefused
from evaluation.models import Cell, Plan, Sweep
from evaluation.plugins.tokenizers import SHIPPED_PATH
from evaluation.services import frozen_world
from evaluation.services.cancel_sweep import cancel_sweep
from evaluation.services.lock_plan import lock_plan
from evaluation.services.pipeline_of import ORACLE
from evaluation.services.problems import Conflict, NothingToAsk, PlanLocked, PlanNotLocked
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from evaluation.services.write_plan import plan_value, write_plan
from ledger.models import Record, Result
from ledger.services import verify
from tests.evaluation.sweeps import locked, plan_toml, small_study, started
from tests.factories.studies import make_member

pytestmark = pytest.mark.django_db
in_threads = pytest.mark.django_db(transaction=True)


def test_plan_with_faults_is_refused_with_every_place_and_nothing_is_kept() -> None:
    fixture_set = small_study()
    toml = plan_toml({"overlap = 12": "overlap = 40", "top_k = 2": "top_k = 0"})
    with pytest.raises(PlanRefused) as refused:
        write_plan(OPERATOR, fixture_set=fixture_set, toml=toml)
    assert {problem.where for problem in refused.value.problems} >= {"arms[0].overlap", "budget.top_k"}
    assert all(problem.line for problem in refused.value.problems)
    assert not Plan.objects.exists()


def test_locked_plan_keeps_digest_author_and_time_in_row_and_ledger() -> None:
    fixture_set = small_study()
    lead = make_member(fixture_set.study, Role.LEAD)
    plan = lock_plan(lead, write_plan(lead, fixture_set=fixture_set, toml=plan_toml()))
    assert plan.locked_by == lead
    assert plan.locked_at is not None
    record = Record.objects.get(kind="plan.locked")
    assert record.value["digest"] == plan.digest
    assert record.value["by"] == lead.username
    assert plan_value(plan).name == "small"


def test_plan_cannot_be_locked_twice() -> None:
    plan = locked(small_study())
    with pytest.raises(PlanLocked, match="Write another plan"):
        lock_plan(OPERATOR, plan)
    assert Record.objects.filter(kind="plan.locked").count() == 1


@pytest.mark.parametrize("change", [{"name": "other"}, {"toml": ""}, {"canonical": b"{}"}, {"post_hoc": True}])
def test_change_of_a_locked_plan_is_refused_by_the_database(change: dict[str, object]) -> None:
    plan = locked(small_study())
    with pytest.raises(DatabaseError), transaction.atomic():
        Plan.objects.filter(pk=plan.pk).update(**change)
    with pytest.raises(DatabaseError), transaction.atomic():
        Plan.objects.filter(pk=plan.pk).delete()


def test_plan_that_is_not_locked_can_be_written_anew() -> None:
    fixture_set = small_study()
    plan = write_plan(OPERATOR, fixture_set=fixture_set, toml=plan_toml())
    Plan.objects.filter(pk=plan.pk).update(name="other")
    assert write_plan(OPERATOR, fixture_set=fixture_set, toml=plan_toml()).pk == plan.pk


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.ADJUDICATOR, Role.OBSERVER])
def test_only_a_lead_writes_locks_starts_and_cancels(role: Role) -> None:
    fixture_set = small_study()
    person = make_member(fixture_set.study, role)
    with pytest.raises(NotAllowed):
        write_plan(person, fixture_set=fixture_set, toml=plan_toml())
    plan = write_plan(OPERATOR, fixture_set=fixture_set, toml=plan_toml())
    with pytest.raises(NotAllowed):
        lock_plan(person, plan)
    lock_plan(OPERATOR, plan)
    with pytest.raises(NotAllowed):
        start_sweep(person, plan, idempotency_key="k")
    sweep = start_sweep(OPERATOR, plan, idempotency_key="k")
    with pytest.raises(NotAllowed):
        cancel_sweep(person, sweep)


def test_sweep_of_an_unlocked_plan_is_refused() -> None:
    plan = write_plan(OPERATOR, fixture_set=small_study(), toml=plan_toml())
    with pytest.raises(PlanNotLocked, match="Lock it first"):
        start_sweep(OPERATOR, plan, idempotency_key="k")
    assert not Sweep.objects.exists()


@pytest.mark.parametrize("size", [0, -1, True, False, 2**40, 1.0, "512"])
def test_block_size_that_is_no_number_of_questions_is_refused_and_nothing_is_kept(size: Any) -> None:
    plan = locked(small_study())
    with pytest.raises(BadInput, match=r"block_size.*from 1 to 65,536"):
        start_sweep(OPERATOR, plan, idempotency_key="k", block_size=size)
    assert not Sweep.objects.exists()


def test_sweep_with_nothing_to_ask_is_refused() -> None:
    plan = locked(small_study(held_out=0), plan_toml(partition="held-out", openings=1))
    with pytest.raises(NothingToAsk, match="no question"):
        start_sweep(OPERATOR, plan, idempotency_key="k")


def test_plan_whose_tokenizer_is_not_there_is_not_locked() -> None:
    with pytest.raises(BadInput, match="no/such") as refused:
        locked(small_study(), plan_toml({"cutline-bpe-4k": "no/such/tokenizer.json"}))
    assert refused.value.where == "plan, budget.tokenizer"
    assert Plan.objects.get().locked_at is None
    assert not Record.objects.filter(kind="plan.locked").exists()


def test_sweep_whose_tokenizer_is_gone_since_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes(SHIPPED_PATH.read_bytes())
    plan = locked(small_study(), plan_toml({"cutline-bpe-4k": str(tokenizer)}))
    tokenizer.unlink()
    frozen_world._prepared.cache_clear()
    frozen_world._world.cache_clear()
    with pytest.raises(BadInput, match="No such file"):
        start_sweep(OPERATOR, plan, idempotency_key="k")
    assert not Sweep.objects.exists()


def test_cells_are_every_arm_phase_block_and_the_oracle_once_in_the_order_of_the_seed() -> None:
    fixture_set = small_study()
    first = started(fixture_set, seed=5, key="one")
    second = start_sweep(OPERATOR, first.plan, idempotency_key="two", seed=5, block_size=4)
    other = start_sweep(OPERATOR, first.plan, idempotency_key="three", seed=6, block_size=4)

    def order(sweep: Sweep) -> list[tuple[str, int, int]]:
        return list(sweep.cells.order_by("position").values_list("arm", "phase", "block"))

    # 6 development questions and one twin: 2 blocks of 4; phases 1/4 … 1 of strides 28 and 40.
    wanted = {("overlap", p, b) for p in (7, 14, 21, 28) for b in (0, 1)}
    wanted |= {("plain", p, b) for p in (10, 20, 30, 40) for b in (0, 1)}
    wanted |= {(ORACLE, 0, b) for b in (0, 1)}
    assert set(order(first)) == wanted
    assert len(order(first)) == len(wanted)
    assert order(first) == order(second) != order(other)
    assert Record.objects.filter(kind="sweep.started", scope=first.scope).get().value["seed"] == "5"


def test_start_writes_the_records_that_need_no_cell() -> None:
    sweep = started()
    kinds = list(Result.objects.filter(scope=sweep.scope).values_list("kind", flat=True))
    assert (kinds.count("source"), kinds.count("query"), kinds.count("support")) == (6, 7, 7)


def test_one_key_is_one_sweep() -> None:
    first = started()
    again = start_sweep(OPERATOR, first.plan, idempotency_key="k")
    assert again.pk == first.pk
    assert Sweep.objects.count() == 1


def test_one_key_for_two_plans_is_refused() -> None:
    sweep = started()
    other = locked(sweep.plan.fixture_set, plan_toml(grid=2))
    with pytest.raises(Conflict, match="another plan"):
        start_sweep(OPERATOR, other, idempotency_key="k")


@in_threads
@pytest.mark.parametrize("partition", ["development", "all"])
def test_two_starts_at_once_with_one_key_are_one_sweep(partition: str) -> None:
    # The one opening of the held-out questions that the plan allows must serve both presses of the button.
    plan = locked(small_study(), plan_toml(partition=partition, openings=1))
    frozen_world.load_world(plan)
    barrier = threading.Barrier(2)

    def start(_: int) -> int:
        try:
            barrier.wait()
            return start_sweep(OPERATOR, plan, idempotency_key="k").pk
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(start, range(2)))) == 1
    assert Sweep.objects.count() == 1
    assert Record.objects.filter(kind="sweep.started").count() == 1


def test_each_held_out_sweep_is_counted_and_no_more_than_the_plan_allows() -> None:
    plan = locked(small_study(), plan_toml(partition="all", openings=1))
    sweep = start_sweep(OPERATOR, plan, idempotency_key="one")
    assert sweep.held_out
    assert "small" in HeldOutOpening.objects.get().purpose
    with pytest.raises(Conflict, match="1 time"):
        start_sweep(OPERATOR, plan, idempotency_key="two")
    assert HeldOutOpening.objects.count() == 1


def test_development_sweep_opens_nothing() -> None:
    assert not started().held_out
    assert not HeldOutOpening.objects.exists()


def test_plan_locked_after_a_held_out_sweep_is_post_hoc() -> None:
    fixture_set = small_study()
    before = locked(fixture_set, plan_toml(partition="all", openings=1))
    waiting = write_plan(OPERATOR, fixture_set=fixture_set, toml=plan_toml(partition="all", openings=1, grid=2))
    assert not before.post_hoc
    start_sweep(OPERATOR, before, idempotency_key="k")
    assert lock_plan(OPERATOR, waiting).post_hoc
    assert Record.objects.filter(kind="plan.locked").order_by("seq").last().value["post_hoc"] is True


def test_plan_locked_after_a_development_sweep_is_not_post_hoc() -> None:
    sweep = started()
    assert not locked(sweep.plan.fixture_set, plan_toml(grid=2)).post_hoc


def test_cancelled_sweep_gives_no_cell_and_no_seal() -> None:
    sweep = cancel_sweep(OPERATOR, started(), reason="wrong plan")
    assert (sweep.state, sweep.problem) == (Sweep.State.CANCELLED, "wrong plan")
    assert drain("w").cells == 0
    assert set(Cell.objects.values_list("state", flat=True)) == {Cell.State.PENDING}
    assert cancel_sweep(OPERATOR, sweep).state == Sweep.State.CANCELLED
    assert Record.objects.filter(kind="sweep.cancelled").count() == 1
    with pytest.raises(DatabaseError), transaction.atomic():
        Sweep.objects.filter(pk=sweep.pk).update(state=Sweep.State.RUNNING)


def test_sealed_sweep_cannot_be_cancelled() -> None:
    sweep = started()
    drain("w")
    sweep.refresh_from_db()
    with pytest.raises(Conflict, match="sealed"):
        cancel_sweep(OPERATOR, sweep)


def test_ledger_verifies_after_lock_start_cancel_and_finds_a_changed_sweep() -> None:
    sweep = started()
    assert verify().findings == ()
    Sweep.objects.filter(pk=sweep.pk).update(seed=99)
    assert "row.differs" in {finding.kind for finding in verify().findings}

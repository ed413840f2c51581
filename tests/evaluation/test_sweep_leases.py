"""Leases: one cell, one holder; what a lost holder may still write."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now

from evaluation.models import Attempt, Cell, Sweep
from evaluation.services.claim import Lease, claim, give_back, renew
from evaluation.services.finish_cell import CellResult, finish_cell
from ledger.models import Record, Result
from ledger.services.results import ResultEntry
from tests.evaluation.rows import bare_sweep

pytestmark = pytest.mark.django_db
in_threads = pytest.mark.django_db(transaction=True)


def some_result(word: str = "same") -> CellResult:
    return CellResult([ResultEntry("k", "answer", {"word": word})])


def let_lease_run_out(lease: Lease) -> None:
    Cell.objects.filter(pk=lease.cell_id).update(lease_until=Now() - timedelta(seconds=1))


def outcomes() -> list[str]:
    return list(Attempt.objects.order_by("pk").values_list("outcome", flat=True))


def test_claim_takes_cells_in_their_drawn_order() -> None:
    bare_sweep(3)
    taken = [claim("w") for _ in range(4)]
    assert [Cell.objects.get(pk=one.cell_id).position if one else None for one in taken] == [0, 1, 2, None]


@pytest.mark.parametrize("state", [Sweep.State.CANCELLED, Sweep.State.SEALED, Sweep.State.FAILED])
def test_claim_leaves_cells_of_a_sweep_that_is_not_running(state: str) -> None:
    bare_sweep(1, state=state)
    assert claim("w") is None


def test_claim_of_one_sweep_leaves_another_alone() -> None:
    bare_sweep(1, name="first")
    second = bare_sweep(1, name="second")
    lease = claim("w", sweep_id=second.pk)
    assert lease is not None
    assert lease.sweep_id == second.pk
    assert claim("w", sweep_id=second.pk) is None


@in_threads
def test_claimers_at_once_share_no_cell() -> None:
    bare_sweep(12)
    start = threading.Barrier(4)

    def take_all(name: str) -> list[int]:
        try:
            start.wait()
            got = []
            while lease := claim(name):
                got.append(lease.cell_id)
            return got
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        shares = list(pool.map(take_all, ["w1", "w2", "w3", "w4"]))
    taken = [pk for share in shares for pk in share]
    assert sorted(taken) == sorted(Cell.objects.values_list("pk", flat=True))
    assert set(Cell.objects.values_list("attempt", flat=True)) == {1}


@in_threads
def test_one_of_two_claimers_of_one_cell_gets_nothing() -> None:
    bare_sweep(1)
    start = threading.Barrier(2)

    def take(name: str) -> Lease | None:
        try:
            start.wait()
            return claim(name)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        leases = list(pool.map(take, ["w1", "w2"]))
    assert sum(lease is None for lease in leases) == 1


def test_lease_that_ran_out_is_taken_over_with_the_next_attempt() -> None:
    bare_sweep(1)
    first = claim("slow")
    assert first is not None
    assert claim("other") is None
    let_lease_run_out(first)
    second = claim("other")
    assert second is not None
    assert (second.cell_id, second.attempt, second.worker) == (first.cell_id, 2, "other")
    report = Attempt.objects.get()
    assert (report.outcome, report.number, report.worker) == (Attempt.Outcome.EXPIRED, 1, "slow")
    assert report.started_at == first.claimed_at


def test_renewed_lease_is_not_taken_over() -> None:
    bare_sweep(1)
    lease = claim("w")
    assert lease is not None
    let_lease_run_out(lease)
    assert renew(lease)
    assert claim("other") is None


def test_renewal_of_a_lost_lease_says_so() -> None:
    bare_sweep(1)
    lease = claim("w")
    assert lease is not None
    let_lease_run_out(lease)
    assert claim("other") is not None
    assert not renew(lease)


def test_finish_writes_results_report_and_state() -> None:
    sweep = bare_sweep(1)
    lease = claim("w")
    assert lease is not None
    assert finish_cell(lease, some_result())
    cell = Cell.objects.get()
    assert (cell.state, cell.lease_until) == (Cell.State.DONE, None)
    assert outcomes() == [Attempt.Outcome.DONE]
    assert Result.objects.get().scope == sweep.scope
    assert Record.objects.filter(kind="cell.attempt", scope=sweep.scope).count() == 1


def test_zombie_writes_nothing_but_its_own_report() -> None:
    bare_sweep(1)
    zombie = claim("zombie")
    assert zombie is not None
    let_lease_run_out(zombie)
    heir = claim("heir")
    assert heir is not None
    assert not finish_cell(zombie, some_result("zombie"))
    assert Result.objects.count() == 0
    assert Cell.objects.get().state == Cell.State.CLAIMED
    assert finish_cell(heir, some_result("heir"))
    assert Result.objects.get().value == {"word": "heir"}
    assert outcomes() == [Attempt.Outcome.EXPIRED, Attempt.Outcome.LATE, Attempt.Outcome.DONE]


def test_zombie_after_the_heir_finished_changes_nothing() -> None:
    bare_sweep(1)
    zombie = claim("zombie")
    assert zombie is not None
    let_lease_run_out(zombie)
    heir = claim("heir")
    assert heir is not None
    assert finish_cell(heir, some_result())
    assert not finish_cell(zombie, some_result("other bytes"))
    assert not finish_cell(zombie, some_result("other bytes"))
    assert Result.objects.get().value == {"word": "same"}
    assert outcomes().count(Attempt.Outcome.LATE) == 1


def test_slow_worker_whose_cell_nobody_took_still_finishes() -> None:
    bare_sweep(1)
    lease = claim("w")
    assert lease is not None
    let_lease_run_out(lease)
    assert finish_cell(lease, some_result())


def test_finish_in_a_cancelled_sweep_keeps_no_result() -> None:
    sweep = bare_sweep(1)
    lease = claim("w")
    assert lease is not None
    Sweep.objects.filter(pk=sweep.pk).update(state=Sweep.State.CANCELLED)
    assert not finish_cell(lease, some_result())
    assert Result.objects.count() == 0
    assert outcomes() == [Attempt.Outcome.CANCELLED]


def test_finish_that_breaks_half_way_leaves_the_cell_claimed() -> None:
    bare_sweep(1)
    lease = claim("w")
    assert lease is not None
    broken = CellResult([ResultEntry("k", "answer", {"score": 0.5})])
    with pytest.raises(ValueError, match="float"):
        finish_cell(lease, broken)
    assert Cell.objects.get().state == Cell.State.CLAIMED
    assert Attempt.objects.count() == Result.objects.count() == 0


def test_cell_given_back_is_free_at_once_and_counts_no_failure() -> None:
    bare_sweep(1)
    lease = claim("w")
    assert lease is not None
    give_back(lease)
    again = claim("other")
    assert again is not None
    assert again.attempt == 2
    assert outcomes() == [Attempt.Outcome.CANCELLED]

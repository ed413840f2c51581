"""A sweep from its first cell to its seal: results, failures, races."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from annotate.permissions import OPERATOR
from evaluation.domain.metrics import SUPPORT_METRICS
from evaluation.domain.outcomes import Stage
from evaluation.domain.phase_matrix import phase_matrix
from evaluation.models import Attempt, Cell, Sweep
from evaluation.plugins.tokenizers import SHIPPED_PATH
from evaluation.services import frozen_world
from evaluation.services import run_cell as running
from evaluation.services.claim import claim
from evaluation.services.fail_cell import fail_cell
from evaluation.services.finish_cell import finish_cell
from evaluation.services.outcome_table import table_of_results
from evaluation.services.pipeline_of import ORACLE
from evaluation.services.run_cell import run_cell
from evaluation.services.seal_sweep import seal_if_complete
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import _Renewal, drain, work_on
from ledger.models import Record, Result, Seal
from ledger.services import ResultEntry, export_bundle, put_results, verify
from tests.evaluation.sweeps import plan_toml, small_study, started

pytestmark = pytest.mark.django_db
in_threads = pytest.mark.django_db(transaction=True)


def sealed(key: str = "k", **more: int) -> Sweep:
    sweep = started(key=key, **more)
    assert drain("w").empty
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED
    return sweep


def test_drained_sweep_is_sealed_with_every_record_of_every_cell() -> None:
    sweep = sealed()
    kinds = list(Result.objects.filter(scope=sweep.scope).values_list("kind", flat=True))
    builds, blocks, views = 8, 2, 2
    assert kinds.count("manifest") == kinds.count("boundary") == builds
    assert kinds.count("retrieval") == builds * blocks
    assert kinds.count("budget") == builds * blocks
    assert kinds.count("answer") == kinds.count("citation") == builds * blocks * views
    assert kinds.count("oracle") == blocks * 2
    assert kinds.count("outcome") == (builds + 1) * blocks
    assert set(Cell.objects.values_list("state", flat=True)) == {Cell.State.DONE}
    assert Seal.objects.get(scope=sweep.scope).root == sweep.root
    assert verify().findings == ()


def test_root_depends_on_neither_order_nor_blocks_of_time_nor_worker() -> None:
    fixture_set = small_study()
    one = started(fixture_set, seed=1, key="one")
    drain("first worker")

    two = start_sweep(OPERATOR, one.plan, idempotency_key="two", seed=2, block_size=4, recompute=True)
    drain("another worker")
    one.refresh_from_db()
    two.refresh_from_db()
    assert one.root == two.root
    assert one.scope != two.scope


def test_results_hold_no_worker_time_or_row_number() -> None:
    sweep = started()
    drain("worker-with-a-name")
    for result in Result.objects.filter(scope=sweep.scope):
        assert b"worker-with-a-name" not in result.plain
        assert result.key.startswith(sweep.plan.digest)


def test_table_holds_every_question_of_every_place_and_its_columns_agree() -> None:
    sweep = sealed()
    table = table_of_results(sweep)
    assert {arm for arm, *_ in table.cells} == {"overlap", "plain", ORACLE}
    for outcomes in table.cells.values():
        assert list(outcomes) == [one.question_id for one in table.asked]
    for selection, metric, stage in product(table.selections, SUPPORT_METRICS, Stage):
        for view in table.views:
            columnar = table.matrix(metric, "plain", view, selection, stage)
            shared = table.phases["plain"].shared
            runs = {label: table.all_repeats("plain", phase, view, selection) for label, phase in shared.items()}
            plain = phase_matrix(metric, runs, shared, stage)
            for name in ("questions", "clusters", "labels", "cuts"):
                assert getattr(columnar, name) == getattr(plain, name)
            for name in ("numerator", "denominator", "failed"):
                assert np.array_equal(getattr(columnar, name), getattr(plain, name))


@in_threads
def test_two_workers_at_once_share_a_sweep_and_seal_it_once() -> None:
    sweep = started()
    start = threading.Barrier(2)

    def work(name: str) -> int:
        try:
            start.wait()
            return drain(name).cells
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        shares = list(pool.map(work, ["w1", "w2"]))
    # Whoever was first to find no cell left may have gone before the other's last one was done.
    seal_if_complete(sweep.pk)
    assert sum(shares) == sweep.cells.count() == Attempt.objects.filter(outcome=Attempt.Outcome.DONE).count()
    assert Record.objects.filter(kind="sweep.closed").count() == Seal.objects.count() == 1
    assert verify().findings == ()


@in_threads
def test_many_sealers_at_once_seal_once() -> None:
    sweep = started()
    while lease := claim("w"):
        # Everything but the seal, as if each worker had died between its cell and the seal.

        finish_cell(lease, run_cell(lease.cell_id))
    start = threading.Barrier(4)

    def seal(_: int) -> bool:
        try:
            start.wait()
            return seal_if_complete(sweep.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(seal, range(4))) == [False, False, False, True]
    assert Record.objects.filter(kind="sweep.closed").count() == 1


def test_idle_worker_seals_what_a_dead_one_left_unsealed() -> None:
    sweep = started()

    while lease := claim("dead"):
        finish_cell(lease, run_cell(lease.cell_id))
    assert drain("idle").cells == 0
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED


def test_open_cell_keeps_the_sweep_open() -> None:
    sweep = started()
    lease = claim("w")
    assert lease is not None
    drain("other")
    assert not seal_if_complete(sweep.pk)
    work_on(lease)
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED


def test_failed_attempt_is_tried_again_and_both_stay() -> None:
    sweep = started()
    lease = claim("w")
    assert lease is not None
    assert fail_cell(lease, "the host lost its network")
    drain("w")
    sweep.refresh_from_db()
    assert (sweep.state, sweep.problem) == (Sweep.State.SEALED, "")
    reports = Attempt.objects.filter(cell_id=lease.cell_id).values_list("number", "outcome", "problem")
    assert list(reports) == [(1, "failed", "the host lost its network"), (2, "done", "")]


def test_cell_that_failed_for_good_is_a_labelled_miss_and_the_sweep_is_sealed(settings: Settings) -> None:
    settings.MAX_ATTEMPTS = 2
    sweep = started()
    first = claim("w")
    assert first is not None
    assert fail_cell(first, "disk full")
    second = claim("w")
    assert second is not None
    assert second.cell_id == first.cell_id
    assert not fail_cell(second, "disk full on host-17")
    drain("w")
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED
    assert sweep.problem.startswith("1 of 18 cells failed")
    cell = Cell.objects.get(pk=first.cell_id)
    assert cell.state == Cell.State.FAILED
    failure = Result.objects.get(scope=sweep.scope, kind="failure")
    assert (failure.value["arm"], failure.value["phase"], failure.value["block"]) == (cell.arm, cell.phase, cell.block)
    assert b"host-17" not in failure.plain
    table = table_of_results(sweep)
    view = "oracle:90" if cell.arm == ORACLE else "budget:90"
    failed = table.cells[cell.arm, cell.phase, view, 0]
    assert [failed[name].failed for name in failure.value["questions"]] == ["infrastructure failure"] * len(
        failure.value["questions"]
    )
    assert verify().findings == ()


def test_workers_that_die_on_a_cell_do_not_try_it_for_ever(settings: Settings) -> None:
    settings.MAX_ATTEMPTS = 3
    started()
    first = claim("w")
    assert first is not None
    for _ in range(2):
        Cell.objects.filter(pk=first.cell_id).update(lease_until=Now() - timedelta(seconds=1))
        lease = claim("w")
        assert lease is not None
        assert lease.cell_id == first.cell_id
    Cell.objects.filter(pk=first.cell_id).update(lease_until=Now() - timedelta(seconds=1))
    drain("w")
    assert Cell.objects.get(pk=first.cell_id).state == Cell.State.FAILED
    reports = list(Attempt.objects.filter(cell_id=first.cell_id).values_list("outcome", flat=True))
    assert reports == ["expired", "expired", "expired", "failed"]


def test_drain_stops_when_told_and_says_that_work_is_left() -> None:
    started()
    done: list[int] = []
    result = drain("w", stop=lambda: len(done) == 3, on_cell=lambda lease: done.append(lease.cell_id))
    assert (result.cells, result.empty) == (3, False)
    assert Cell.objects.filter(state=Cell.State.DONE).count() == 3


@in_threads
def test_a_cell_is_renewed_while_it_is_computed(settings: Settings) -> None:
    settings.LEASE_SECONDS = 1
    started()
    lease = claim("w")
    assert lease is not None
    with _Renewal(lease):
        time.sleep(1.6)
        thief = claim("thief")
    assert thief is not None
    assert thief.cell_id != lease.cell_id
    assert Cell.objects.get(pk=lease.cell_id).worker == "w"


def test_cell_that_contradicts_a_stored_result_fails_without_ending_the_worker() -> None:
    sweep = started(key="contradiction")
    lease = claim("w")
    assert lease is not None
    entry = run_cell(lease.cell_id).results[0]
    with transaction.atomic():
        put_results(sweep.scope, [ResultEntry(entry.key, entry.kind, {"other": "bytes"})])
    work_on(lease)
    cell = Cell.objects.get(pk=lease.cell_id)
    assert cell.state == Cell.State.FAILED
    assert "not deterministic" in cell.attempts.get().problem
    assert drain("w").empty


def test_workers_with_different_tokenizer_files_never_mix_in_one_sweep(tmp_path: Path) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes(SHIPPED_PATH.read_bytes())
    # One block, so that no two workers ever compute the same index build.
    sweep = started(toml=plan_toml({"cutline-bpe-4k": str(tokenizer)}), block_size=100)
    done: list[int] = []
    drain("old", stop=lambda: len(done) == 2, on_cell=lambda lease: done.append(lease.cell_id))
    tokenizer.write_bytes(SHIPPED_PATH.read_bytes() + b"\n")
    for kept in (frozen_world._prepared, frozen_world._world):
        kept.cache_clear()
    running._builds.clear()
    drain("new")
    states = {cell.pk: cell.state for cell in sweep.cells.all()}
    assert {pk for pk, state in states.items() if state == Cell.State.DONE} == set(done)
    assert set(states.values()) == {Cell.State.DONE, Cell.State.FAILED}
    assert all("tokenizer files" in one.problem for one in Attempt.objects.filter(outcome="failed"))
    used = {row.value["tokenizer"]["digest"] for row in Result.objects.filter(scope=sweep.scope, kind="manifest")}
    assert len(used) == 1


def test_text_free_bundle_holds_no_answer_of_any_oracle(tmp_path: Path) -> None:
    sweep = sealed()
    answers = {
        line
        for row in Result.objects.filter(scope=sweep.scope, kind__in=["oracle", "answer"])
        for text in row.value["text"]
        for line in text.splitlines()
        if len(line) > 12
    }
    assert answers
    export_bundle(tmp_path / "bundle", text_key=b"sixteen bytes or more")
    told = "".join(path.read_text() for path in (tmp_path / "bundle").iterdir())
    assert not [answer for answer in answers if answer in told]

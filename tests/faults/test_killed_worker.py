"""A worker that is killed in the middle of a sweep costs time and nothing else, on both databases."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from django.db.models.functions import Now

from evaluation.models import Attempt, Cell, Sweep
from tests.evaluation.sweeps import plan_toml, small_study
from tests.faults.processes import ROOT, kill_group, manage, running, wait_until
from tests.faults.sweeps import check_nothing_lost_or_doubled, done_cells, state_of, undisturbed_and_disturbed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def short_lease(process_environment: dict[str, str]) -> dict[str, str]:
    return process_environment | {"CUTLINE_LEASE_SECONDS": "5"}


def test_sweep_survives_a_worker_killed_in_the_middle(short_lease: dict[str, str], tmp_path: Path) -> None:
    reference, sweep = undisturbed_and_disturbed()
    log = tmp_path / "worker.log"
    connection.close()
    with running(manage("work"), short_lease, log) as worker:
        wait_until(lambda: done_cells(sweep) >= 5, "five cells", log)
        kill_group(worker)
    left = done_cells(sweep)
    assert 5 <= left < sweep.cells.count()
    assert state_of(sweep) == Sweep.State.RUNNING
    with running(manage("work"), short_lease, log):
        wait_until(lambda: state_of(sweep) == Sweep.State.SEALED, "the seal", log)
    check_nothing_lost_or_doubled(reference, sweep)


def test_sweep_survives_one_of_two_workers_killed_again_and_again(short_lease: dict[str, str], tmp_path: Path) -> None:
    reference, sweep = undisturbed_and_disturbed()
    log = tmp_path / "worker.log"
    connection.close()
    with running(manage("work"), short_lease, log):
        for round_ in range(2):
            with running(manage("work"), short_lease, log) as victim:
                goal = min(done_cells(sweep) + 8, sweep.cells.count())
                wait_until(lambda goal=goal: done_cells(sweep) >= goal, f"round {round_}", log)  # type: ignore[misc]
                kill_group(victim)
        wait_until(lambda: state_of(sweep) == Sweep.State.SEALED, "the seal", log)
    check_nothing_lost_or_doubled(reference, sweep)


def test_cell_of_a_killed_worker_comes_back_when_its_lease_ends(short_lease: dict[str, str], tmp_path: Path) -> None:
    """The state a kill between claim and result leaves behind, made exactly: a claimed cell whose worker is gone."""
    reference, sweep = undisturbed_and_disturbed()
    log = tmp_path / "worker.log"
    code = (
        "import django, os, signal; django.setup(); from evaluation.services.claim import claim; "
        "assert claim('to be killed'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    connection.close()
    died = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=short_lease, check=False)
    assert died.returncode == -signal.SIGKILL
    held = Cell.objects.get(sweep=sweep, state=Cell.State.CLAIMED)
    assert Cell.objects.filter(pk=held.pk, lease_until__gt=Now()).exists()
    with running(manage("work"), short_lease, log):
        wait_until(lambda: state_of(sweep) == Sweep.State.SEALED, "the seal", log)
    reports = list(Attempt.objects.filter(cell=held).values_list("number", "outcome", "worker"))
    assert reports[0] == (1, Attempt.Outcome.EXPIRED, "to be killed")
    assert reports[1][:2] == (2, Attempt.Outcome.DONE)
    check_nothing_lost_or_doubled(reference, sweep)


def test_worker_told_to_stop_finishes_its_cell_and_leaves(process_environment: dict[str, str], tmp_path: Path) -> None:
    _, sweep = undisturbed_and_disturbed()
    log = tmp_path / "worker.log"
    connection.close()
    with running(manage("work"), process_environment, log) as worker:
        wait_until(lambda: done_cells(sweep) >= 3, "three cells", log)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0, log.read_text()
    assert not Cell.objects.filter(state=Cell.State.CLAIMED).exists()
    assert state_of(sweep) == Sweep.State.RUNNING


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_sweep_with_wait_told_to_stop_keeps_what_is_done_and_says_how_to_go_on(
    number: signal.Signals, process_environment: dict[str, str], tmp_path: Path
) -> None:
    small_study()
    plan, log = tmp_path / "plan.toml", tmp_path / "sweep.log"
    plan.write_text(plan_toml({'"extractive"': '"extractive"\nrepeats = 20'}, grid=8), encoding="utf-8")
    connection.close()
    with running(manage("sweep", str(plan), "--wait"), process_environment, log) as command:
        wait_until(lambda: Cell.objects.filter(state=Cell.State.DONE).count() >= 2, "two cells", log)
        command.send_signal(number)
        assert command.wait(30) == 128 + number, log.read_text()
    said = log.read_text()
    assert "run the same command again" in said
    assert "Traceback" not in said
    assert not Cell.objects.filter(state=Cell.State.CLAIMED).exists()
    assert Sweep.objects.get().state == Sweep.State.RUNNING


def test_work_once_drains_the_queue_and_leaves(process_environment: dict[str, str]) -> None:
    reference, sweep = undisturbed_and_disturbed()
    connection.close()
    done = subprocess.run(
        manage("work", "--once"), cwd=ROOT, env=process_environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"{sweep.cells.count()} cells" in done.stdout
    check_nothing_lost_or_doubled(reference, sweep)

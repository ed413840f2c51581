"""Celery workers on a real broker: the same results, whatever becomes of the doorbell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from django.db import connection
from pytest_django.fixtures import Settings

from annotate.permissions import OPERATOR
from evaluation.models import Attempt, Sweep
from evaluation.services.start_sweep import start_sweep
from tests.evaluation.sweeps import locked, small_study
from tests.faults.processes import ROOT, celery, kill_group, running, wait_until
from tests.faults.sweeps import check_nothing_lost_or_doubled, done_cells, state_of, undisturbed_and_disturbed
from tests.servers.processes import free_port
from tests.servers.valkey import ValkeyServer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def with_broker(process_environment: dict[str, str], broker_url: str) -> dict[str, str]:
    return process_environment | {"REDIS_URL": broker_url, "CUTLINE_LEASE_SECONDS": "5"}


def test_sweep_survives_a_killed_celery_child_and_a_killed_worker(with_broker: dict[str, str], tmp_path: Path) -> None:
    reference, sweep = undisturbed_and_disturbed()
    log = tmp_path / "celery.log"
    connection.close()
    with running(celery(), with_broker, log) as worker:
        wait_until(lambda: done_cells(sweep) >= 4, "four cells", log)
        name = Attempt.objects.filter(cell__sweep=sweep).values_list("worker", flat=True)[0]
        os.kill(int(name.rpartition(":")[2]), signal.SIGKILL)
        wait_until(lambda: done_cells(sweep) >= 10, "ten cells", log)
        kill_group(worker)
    with running(celery(), with_broker, log):
        wait_until(lambda: state_of(sweep) == Sweep.State.SEALED, "the seal", log)
    check_nothing_lost_or_doubled(reference, sweep)
    done = Attempt.objects.filter(cell__sweep=sweep, outcome=Attempt.Outcome.DONE)
    assert all(worker.startswith("celery:") for worker in done.values_list("worker", flat=True))


def test_sweep_started_while_the_broker_is_away_is_found_by_the_worker_itself(
    process_environment: dict[str, str], settings: Settings, tmp_path: Path
) -> None:
    """Nobody rings: the broker is down when the sweep starts, so the worker's own bell has to find it."""
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    plan = locked(small_study())
    sweep = start_sweep(OPERATOR, plan, idempotency_key="k")
    assert state_of(sweep) == Sweep.State.RUNNING
    log = tmp_path / "celery.log"
    broker = ValkeyServer()
    connection.close()
    try:
        with running(celery(), process_environment | {"REDIS_URL": f"{broker.url}/0"}, log):
            wait_until(lambda: state_of(sweep) == Sweep.State.SEALED, "the seal", log)
    finally:
        broker.stop()


def test_ring_that_cannot_be_published_leaves_the_caller_alone_and_says_so_in_a_line(
    process_environment: dict[str, str],
) -> None:
    # A process of its own: Celery reads the broker's address once.
    environment = process_environment | {"REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"}
    code = "import django; django.setup(); from evaluation.services.ring import ring; ring(); print('went on')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "went on", done.stderr
    assert "The broker is away" in done.stderr
    assert "Traceback" not in done.stderr


def test_ring_rings_after_the_commit_and_names_no_cell(with_broker: dict[str, str], broker_url: str) -> None:
    code = (
        "import django; django.setup(); import redis; from django.conf import settings; "
        "from django.db import transaction; "
        "from evaluation.services.ring import ring; client = redis.Redis.from_url(settings.REDIS_URL)\n"
        "with transaction.atomic(): ring(); print(client.llen('celery'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=with_broker, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "0", done.stderr
    with redis.Redis.from_url(broker_url) as client:
        assert client.llen("celery") == 1
        message = json.loads(client.lindex("celery", 0))
    assert message["headers"]["task"] == "evaluation.tasks.work"
    assert (message["headers"]["argsrepr"], message["headers"]["kwargsrepr"]) == ("()", "{}")


def test_celery_worker_without_a_broker_says_so(process_environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "celery.log"
    with running(celery(), process_environment, log) as worker:
        assert worker.wait(60) != 0
    assert "REDIS_URL is not set" in log.read_text()

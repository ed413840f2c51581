"""`manage.py serve`: the site and its worker start together and stop together."""

from __future__ import annotations

import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from django.db import connection

from tests.faults.processes import manage, running, wait_until
from tests.faults.sweeps import check_nothing_lost_or_doubled, state_of, undisturbed_and_disturbed
from tests.servers.processes import free_port, listens

pytestmark = pytest.mark.django_db(transaction=True)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def children_of(pid: int) -> dict[int, str]:
    """Return the direct children of a process with their command lines."""
    found = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found[int(child)] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def test_serve_answers_works_and_stops_as_one(process_environment: dict[str, str], tmp_path: Path) -> None:
    reference, sweep = undisturbed_and_disturbed()
    log, port = tmp_path / "serve.log", free_port()
    connection.close()
    with running(manage("serve", "--port", str(port)), process_environment, log) as serve:
        wait_until(lambda: answers(port), "an answer of the site", log)
        wait_until(lambda: state_of(sweep) == "sealed", "the seal", log)
        children = children_of(serve.pid)
        assert len(children) == 2
        serve.send_signal(signal.SIGTERM)
        assert serve.wait(40) == 0, log.read_text()
        assert not listens(port)
        assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    check_nothing_lost_or_doubled(reference, sweep)


def test_serve_ends_when_its_worker_dies(process_environment: dict[str, str], tmp_path: Path) -> None:
    log, port = tmp_path / "serve.log", free_port()
    with running(manage("serve", "--port", str(port)), process_environment, log) as serve:
        wait_until(lambda: answers(port) and len(children_of(serve.pid)) == 2, "both children", log)
        worker = next(pid for pid, command in children_of(serve.pid).items() if " work" in command)
        subprocess.run(["kill", "-9", str(worker)], check=True)
        assert serve.wait(40) != 0
        assert not listens(port)
    assert "worker 1 ended" in log.read_text()

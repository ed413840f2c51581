"""Worker processes of the fault tests: real commands, on the test's own database, that never outlive the test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.servers.processes import dies_with_parent

ROOT = Path(__file__).resolve().parents[2]
WAIT_SECONDS = 120.0


def manage(*arguments: str) -> list[str]:
    """Return the command line of a management command."""
    return [sys.executable, "manage.py", *arguments]


def celery(*arguments: str) -> list[str]:
    """Return the command line that the compose file starts a worker with, for one child."""
    return [sys.executable, "-m", "celery", "-A", "config", "worker", "--concurrency", "1", *arguments]


@contextmanager
def running(command: list[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` inside the block, its output in `log`; it and its children are killed at the end."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=dies_with_parent(signal.SIGKILL),  # noqa: PLW1509 - ctypes was loaded before any fork
        )
    try:
        yield process
    finally:
        kill_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process started by `running` and every child of it, at once: it leads a session, so a group of its own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_until(holds: Callable[[], bool], what: str, log: Path | None = None, seconds: float = WAIT_SECONDS) -> None:
    """Wait until `holds()`; fails with `what` and the log where it does not within `seconds`."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            said = log.read_text() if log else ""
            raise AssertionError(f"{what} did not happen within {seconds:.0f} s.\n{said}")
        time.sleep(0.05)

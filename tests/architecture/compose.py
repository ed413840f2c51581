"""The services of docker-compose.yml, started as processes: their own commands, environment and probes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.architecture.tree import ROOT, read
from tests.servers.processes import dies_with_parent

BINARIES = Path(sys.executable).parent
SERVICES: dict[str, Any] = YAML(typ="safe").load(read(Path("docker-compose.yml")))["services"]
#: A variable without a default, `${NAME:?why}`.
REQUIRED = re.compile(r"\$\{(\w+):\?[^}]+\}")
#: What the operator exports; the addresses that follow from the password are replaced by this run's.
GIVEN = {"CUTLINE_SECRET_KEY": "k" * 40, "CUTLINE_ALLOWED_HOSTS": "cutline.example", "POSTGRES_PASSWORD": "unused"}


def command(service: str) -> list[str]:
    """Return a service's command with its program taken from this environment's own folder."""
    program, *arguments = SERVICES[service]["command"]
    return [str(BINARIES / program), *arguments]


def environment_of(service: str, addresses: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment, with what the file gives to `service` and then `addresses` over it."""
    given: dict[str, str] = {}
    for name, value in SERVICES[service]["environment"].items():
        filled = REQUIRED.sub(lambda match: GIVEN[match[1]], str(value))
        given[name] = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", filled)
    path = f"{BINARIES}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "PATH": path, **given, **addresses}


def web_probe(port: str) -> list[str]:
    """Return the probe of the web service, aimed at `port`."""
    _kind, _python, *arguments = SERVICES["web"]["healthcheck"]["test"]
    return [sys.executable, *(argument.replace(":8000", f":{port}") for argument in arguments)]


def worker_probe() -> list[str]:
    """Return the probe of the worker service; it reads HOSTNAME."""
    kind, probe = SERVICES["worker"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    return ["sh", "-c", probe.replace("$$", "$")]


@contextmanager
def running(words: list[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command from the root inside the block, its output in `log`, and stop it as Compose would: with SIGTERM."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=dies_with_parent(signal.SIGTERM),  # noqa: PLW1509
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def until_well(probe: list[str], environment: dict[str, str], process: subprocess.Popen[bytes], log: Path) -> None:
    """Probe until it succeeds; fails when the process ends or a minute has passed, with what it said."""
    deadline = time.monotonic() + 60
    while True:
        done = subprocess.run(probe, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        said = f"{done.stdout}{done.stderr}\n{log.read_text()}"
        assert process.poll() is None, f"it stopped with {process.returncode}:\n{said}"
        assert time.monotonic() < deadline, f"it never became well:\n{said}"
        time.sleep(0.2)

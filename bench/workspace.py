"""How fast the workspace opens and saves, against gunicorn and PostgreSQL, in one run on one machine.

    python bench/workspace.py --json workspace.json [--data ../shared/data/debian-policy] [--seconds 10]

*Open* and *save* are measured on a source of 1 MB with 2,000 spans: in the server (one client, one request after the
other) and in a real Chromium (until text can be read; from the key to the mark on the screen; from the key to "saved").
*Load*: 50 annotators, each on a task of their own in that source, come within a second, send a span, wait for the
answer, check it and send the next; rate and times are those after all have come. Afterwards the rows are counted: every
acknowledged save is one revision and one mark, no more and no fewer.
Beside the rate stands what a save costs in processor time (server, PostgreSQL, client): machines do other work too.
gunicorn runs as it is shipped (config/web_server.py) and shares the machine with PostgreSQL and the clients.
PostgreSQL is the tests' own server, which does not wait for the disk (fsync off).
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.processor_time import processor_seconds
from bench.workspace_browser import in_the_browser
from bench.workspace_clients import TOKEN, Annotator, save_in_a_loop
from tests.servers.postgresql import PostgresqlServer
from tests.servers.processes import dies_with_parent, free_port, listens

ROOT = Path(__file__).resolve().parent.parent
SPANS, MEGABYTE, CLIENTS = 2_000, 1_000_000, 50


def text(data: Path | None) -> bytes:
    """1 MB of sentences, or the longest file of `data`."""
    if data is not None:
        return max(data.glob("*.txt"), key=lambda path: path.stat().st_size).read_bytes()
    line = "Clause {:05d} keeps every record for {} days unless the register says otherwise. "
    parts, size, number = [], 0, 0
    while size < MEGABYTE:
        part = line.format(number, number % 90) + ("\n\n" if number % 6 == 5 else "")
        parts.append(part)
        size += len(part)
        number += 1
    return "".join(parts).encode()[:MEGABYTE]


class World:
    """A study with 50 annotators in pairs, one task each; the first one's pass has 2,000 spans."""

    def __init__(self, content: bytes) -> None:
        """Fill the database."""
        from django.test import Client

        from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
        from annotate.domain.source_layout import lay_out
        from annotate.services.save_pass import save_pass
        from tests.factories import make_assignment, make_member, make_question, make_source_version, make_study

        self.content = content
        study = make_study("bench")
        self.version = make_source_version(study, content)
        self.layout = lay_out(content)
        people = [make_member(study) for _ in range(CLIENTS)]
        self.tasks = []
        for number in range(0, CLIENTS, 2):
            question = make_question(study)
            for slot in (1, 2):
                self.tasks.append(make_assignment(question, people[number + slot - 1], slot))
        self.cookies = []
        for person in people:
            client = Client()
            client.force_login(person)
            self.cookies.append(f"sessionid={client.cookies['sessionid'].value}; csrftoken={TOKEN}")
        count = len(self.layout.sentence_starts)
        marked = tuple(
            MarkedSpan(
                self.version.sha256,
                self.layout.sentence_starts[at * count // SPANS],
                self.layout.sentence_ends[at * count // SPANS],
                f"s{at}",
            )
            for at in range(min(SPANS, count))
        )
        self.marked = len(marked)
        first = self.tasks[0]
        save_pass(first.annotator, first, 0, PassContent(AnswerContract(), marked, (("s0", "s1"),)))


def gets(port: int, path: str, cookie: str, repeats: int, fine: tuple[int, ...] = (200,)) -> list[float]:
    """Times of GET requests over one connection, one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        answer.read()
        times.append(time.perf_counter() - began)
        if answer.status not in fine:
            raise RuntimeError(f"{path}: {answer.status}")
    connection.close()
    return times


def milliseconds(times: list[float], part: float) -> float:
    """A quantile in milliseconds."""
    ordered = sorted(times)
    return round(1000 * ordered[min(len(ordered) - 1, int(part * len(ordered)))], 2)


def counted(world: World, clients: list[Annotator], began: list[int]) -> dict[str, int]:
    """Compare what was acknowledged since the revisions `began` with the rows, by name: lost and doubled saves."""
    from annotate.models import Mark, Pass

    lost = doubled = 0
    for task, client, revision in zip(world.tasks, clients, began, strict=True):
        work = Pass.objects.get(assignment=task)
        rows = list(Mark.objects.filter(work=work, created_revision__gt=revision).values_list("name", flat=True))
        told = {f"c{client.number}-{number}" for number in range(revision, client.revision)}
        lost += len(told - set(rows)) + max(0, client.revision - work.revision)
        doubled += len(rows) - len(told & set(rows)) + max(0, work.revision - client.revision)
    made = sum(client.revision - first for client, first in zip(clients, began, strict=True))
    return {"saves": made, "lost": lost, "doubled": doubled}


def annotators(world: World, count: int) -> list[Annotator]:
    """The first `count` clients, each where its pass stands now."""
    from django.urls import reverse

    from annotate.models import Pass

    stands = dict(Pass.objects.values_list("assignment_id", "revision"))
    return [
        Annotator(
            number,
            reverse("api-task-edits", args=[task.pk]),
            world.cookies[number],
            stands.get(task.pk, 0),
            world.content,
            world.version.sha256,
        )
        for number, task in enumerate(world.tasks[:count])
    ]


def main() -> None:
    """Start both servers, measure, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="a folder of texts; its longest one is the source")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument(
        "--arrival", type=float, default=0.02, help="seconds from one client's first save to the next's"
    )
    parser.add_argument("--load-only", action="store_true", help="leave Chromium out")
    parser.add_argument("--gunicorn", default="", help='options that override config/web_server.py, "--workers 4"')
    options = parser.parse_args()
    postgres = PostgresqlServer()
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": postgres.url,
            "CUTLINE_SECRET_KEY": "bench-" + "k" * 40,
            "CUTLINE_HTTPS": "0",
            "CUTLINE_VAR": folder,
            "CUTLINE_DB_POOL": "1",
            "DJANGO_ALLOW_ASYNC_UNSAFE": "1",
        }
        for command in (["migrate", "-v0"], ["collectstatic", "--noinput", "-v0"]):
            subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, check=True)
        import django

        django.setup()
        content = text(options.data)
        world = World(content)
        print(f"{world.marked} spans in {len(content)} bytes", flush=True)
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "--config", "python:config.web_server", "config.wsgi"),
                *("--bind", f"127.0.0.1:{port}", "--log-level", "warning", *shlex.split(options.gunicorn)),
            ],
            cwd=ROOT,
            preexec_fn=dies_with_parent(signal.SIGTERM),  # noqa: PLW1509 (one thread runs here)
        )
        try:
            while not listens(port):
                if server.poll() is not None:
                    raise SystemExit(f"gunicorn ended with exit code {server.returncode} before it listened")
                time.sleep(0.1)
            roots = {"server": server.pid, "postgres": postgres.pid}
            moments = options.seconds, options.arrival
            figures = measure(world, port, moments, roots, browser=not options.load_only)
        finally:
            server.terminate()
            server.wait()
            from django.db import connections

            connections.close_all()
            postgres.stop()
    machine = {"cores": os.cpu_count(), "machine": platform.machine(), "load_average": os.getloadavg()[0]}
    versions = {name: version(name) for name in ("django", "gunicorn", "psycopg", "playwright")}
    report = {"figures": figures, "versions": versions | {"python": platform.python_version()}, "machine": machine}
    options.json.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


def measure(
    world: World, port: int, moments: tuple[float, float], roots: Mapping[str, int], *, browser: bool
) -> dict[str, float]:
    """Every figure, by name.

    `moments` are the seconds that clients save and those between their arrivals, `roots` the processes whose time is
    counted beside our own.
    """
    from django.db import connection
    from django.urls import reverse

    # What autovacuum does for a database that stands for longer than a minute.
    connection.cursor().execute("VACUUM ANALYZE")
    task, cookie = world.tasks[0], world.cookies[0]
    # A fresh process loads the whole program with its first request; that is no matter of the workspace.
    for _ in range(20):
        gets(port, reverse("sign-in"), cookie, 1, (200, 302))
    cold = gets(port, reverse("workspace", args=[task.pk]), cookie, 1)
    warm = gets(port, reverse("workspace", args=[task.pk]), cookie, 15)
    path = reverse("workspace-blocks", args=[task.pk]) + f"?version={world.version.pk}&from=40&to=48"
    block_times = gets(port, path, cookie, 15)
    alone = annotators(world, 1)
    save_in_a_loop(alone, port, 4)
    print("opened and saved alone", flush=True)
    in_chromium = in_the_browser(task.pk, cookie, port) if browser else {}
    clients = annotators(world, CLIENTS)
    began = [client.revision for client in clients]
    before, own_before = processor_seconds(roots), time.process_time()
    took = save_in_a_loop(clients, port, *moments)
    own, after = time.process_time() - own_before, processor_seconds(roots)
    counts = counted(world, clients, began)
    times = [moment for client in clients for moment in client.times]
    cost = {name: after[name] - before[name] for name in roots} | {"client": own}
    return {
        "source_bytes": world.version.byte_length,
        "spans": world.marked,
        "open_cold_ms": milliseconds(cold, 0.5),
        "open_warm_p50_ms": milliseconds(warm, 0.5),
        "blocks_of_8_p50_ms": milliseconds(block_times, 0.5),
        "save_p50_ms": milliseconds(alone[0].times, 0.5),
        "save_p95_ms": milliseconds(alone[0].times, 0.95),
        **in_chromium,
        "clients": CLIENTS,
        "saves_per_second": round(sum(client.done for client in clients) / took, 1),
        "load_p50_ms": milliseconds(times, 0.5),
        "load_p95_ms": milliseconds(times, 0.95),
        **{f"{name}_cpu_ms_per_save": round(1000 * spent / counts["saves"], 3) for name, spent in cost.items()},
        "lost": counts["lost"],
        "doubled": counts["doubled"],
    }


if __name__ == "__main__":
    main()

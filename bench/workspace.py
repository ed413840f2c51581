"""How fast the workspace opens and saves, against gunicorn and PostgreSQL, in one run on one machine.

    python bench/workspace.py --json workspace.json [--data ../shared/data/debian-policy] [--seconds 10]

*Open* and *save* are measured on a source of 1 MB with 2,000 spans: in the server (one client, one request after the
other) and in a real Chromium (until text can be read; from the key to the mark on the screen; from the key to "saved").
*Load*: 50 annotators, each on a task of their own in that source, send a span, wait for the answer and send the next
one. Afterwards the rows are counted: every acknowledged save is one revision and one mark, no more and no fewer.
PostgreSQL is the tests' own server, which does not wait for the disk (fsync off).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.servers.postgresql import PostgresqlServer
from tests.servers.processes import dies_with_parent, free_port, listens

ROOT = Path(__file__).resolve().parent.parent
SPANS, MEGABYTE, CLIENTS = 2_000, 1_000_000, 50
WORKERS, THREADS = 3, 8
TOKEN = "b" * 32


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


async def request(reader: Any, writer: Any, method: str, path: str, cookie: str, **more: Any) -> tuple[int, bytes]:
    """Send one request over a kept connection; returns status and body."""
    body = more.get("body", b"")
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Cookie: {cookie}",
        f"X-CSRFToken: {TOKEN}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *more.get("headers", ()),
    ]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status = int(head.split(" ", 2)[1])
    fields = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head.split("\r\n")[1:])}
    if "content-length" in fields:
        return status, await reader.readexactly(int(fields["content-length"]))
    chunks = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        chunks += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return status, chunks


def edit(world: World, start: int, name: str) -> bytes:
    """The body that adds one span of twelve bytes with its quote."""
    raw = world.content[start : start + 12]
    span = {"version": world.version.sha256, "start": start, "end": start + 12, "name": name, "label": "rule"}
    return json.dumps({"edits": [{"op": "add-span", "span": span, "quote": raw.decode()}], "seconds": 1}).encode()


async def saves(world: World, port: int, client: int, until: float, revision: int, times: list[float]) -> int:
    """Save spans one after the other until `until`; returns how many were acknowledged."""
    from django.urls import reverse

    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    path, done = reverse("api-task-edits", args=[world.tasks[client].pk]), 0
    while time.perf_counter() < until:
        headers = (f'If-Match: "{revision}"', f"Idempotency-Key: {uuid.uuid4()}")
        body = edit(world, (done * 40 + client) % (len(world.content) - 20), f"c{client}-{revision}")
        began = time.perf_counter()
        status, said = await request(reader, writer, "POST", path, world.cookies[client], headers=headers, body=body)
        times.append(time.perf_counter() - began)
        if status != 200:
            raise RuntimeError(f"client {client}: {status} {said[:300]!r}")
        revision = json.loads(said)["revision"]
        done += 1
    writer.close()
    return done


async def gets(port: int, path: str, cookie: str, repeats: int, fine: tuple[int, ...] = (200,)) -> list[float]:
    """Times of GET requests, one after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        status, _body = await request(reader, writer, "GET", path, cookie)
        times.append(time.perf_counter() - began)
        if status not in fine:
            raise RuntimeError(f"{path}: {status}")
    writer.close()
    return times


def milliseconds(times: list[float], part: float) -> float:
    """A quantile in milliseconds."""
    ordered = sorted(times)
    return round(1000 * ordered[min(len(ordered) - 1, int(part * len(ordered)))], 2)


#: Notes when Enter was pressed, when another run was drawn as chosen, and when the page said a new revision.
WATCH = """() => {
  window.drawn = window.kept = 0;
  const chosen = () => document.querySelector(".source .chosen")?.dataset.start;
  const revision = () => document.querySelector("[data-revision]").textContent;
  const old = chosen(), before = revision();
  addEventListener("keydown", (event) => {
    if (event.key === "Enter") window.began = performance.now();
  }, { capture: true });
  new MutationObserver((_, observer) => {
    const now = chosen();
    if (!window.drawn && now && now !== old) requestAnimationFrame(() => { window.drawn = performance.now(); });
    if (revision() !== before) {
      observer.disconnect();
      window.kept = performance.now();
    }
  }).observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true });
}"""


def in_the_browser(world: World, port: int) -> dict[str, float]:
    """What a person waits for, in Chromium."""
    from playwright.sync_api import sync_playwright

    from tests.browser import chromium

    base = f"http://127.0.0.1:{port}"
    task = world.tasks[0]
    figures: dict[str, list[float]] = {"readable": [], "ready": [], "drawn": [], "saved": []}
    with sync_playwright() as playwright:
        path = chromium.executable(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, args=chromium.FLAGS)
        for round_number in range(3):
            context = browser.new_context(base_url=base, viewport={"width": 1440, "height": 900})
            name, _, value = world.cookies[0].split(";")[0].partition("=")
            context.add_cookies([{"name": name, "value": value, "url": base}])
            page = context.new_page()
            page.add_init_script(
                """new MutationObserver((_, o) => { if (document.querySelector('.source [data-n]')) {
                  o.disconnect(); requestAnimationFrame(() => { window.readable = performance.now(); }); }
                }).observe(document, { childList: true, subtree: true });
                new MutationObserver((_, o) => { if (document.querySelector('[data-ready]')) {
                  o.disconnect(); window.ready = performance.now(); }
                }).observe(document, { childList: true, subtree: true, attributes: true });"""
            )
            page.goto(f"/tasks/{task.pk}/")
            page.wait_for_selector("[data-ready]")
            page.wait_for_function("() => window.readable && window.ready")
            figures["readable"].append(page.evaluate("window.readable"))
            figures["ready"].append(page.evaluate("window.ready"))
            for press in range(4):
                number = 2 + press + 10 * round_number
                page.evaluate(WATCH)
                # A sentence is marked already by the 2,000: two together are a span of their own.
                for key in f"{number}-{number + 1}":
                    page.keyboard.press(key)
                page.keyboard.press("Enter")
                page.wait_for_function("() => window.kept && window.drawn")
                figures["drawn"].append(page.evaluate("window.drawn - window.began"))
                figures["saved"].append(page.evaluate("window.kept - window.began"))
                page.keyboard.press("Escape")
            context.close()
        browser.close()
    return {f"browser_{name}_ms": round(statistics.median(values), 1) for name, values in figures.items()}


def counted(world: World, acknowledged: list[int], revisions: list[int]) -> dict[str, int]:
    """Compare what was acknowledged with the rows: lost and doubled saves."""
    from annotate.models import Pass

    lost = doubled = 0
    for task, done, before in zip(world.tasks, acknowledged, revisions, strict=True):
        work = Pass.objects.get(assignment=task)
        moved = work.revision - before
        made = work.marks.filter(name__startswith="c").count()
        lost += max(0, done - made) + max(0, done - moved)
        doubled += max(0, made - done) + max(0, moved - done)
    return {"saves": sum(acknowledged), "lost": lost, "doubled": doubled}


async def load(world: World, port: int, seconds: float, revisions: list[int]) -> tuple[list[int], list[float], float]:
    """Fifty clients in a closed loop; returns acknowledged saves by client, all times, and how long it took."""
    times: list[float] = []
    began = time.perf_counter()
    until = began + seconds
    done = await asyncio.gather(
        *(saves(world, port, client, until, revisions[client], times) for client in range(CLIENTS))
    )
    return list(done), times, time.perf_counter() - began


def main() -> None:
    """Start both servers, measure, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="a folder of texts; its longest one is the source")
    parser.add_argument("--seconds", type=float, default=10)
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
                *(sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", f"127.0.0.1:{port}"),
                *("--workers", str(WORKERS), "--threads", str(THREADS), "--keep-alive", "30", "--log-level", "warning"),
            ],
            cwd=ROOT,
            preexec_fn=dies_with_parent(signal.SIGTERM),  # noqa: PLW1509 (one thread runs here)
        )
        try:
            while not listens(port):
                if server.poll() is not None:
                    raise SystemExit(f"gunicorn ended with exit code {server.returncode} before it listened")
                time.sleep(0.1)
            figures = measure(world, port, options.seconds)
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


def measure(world: World, port: int, seconds: float) -> dict[str, float]:
    """Every figure, by name."""
    from django.urls import reverse

    task, cookie = world.tasks[0], world.cookies[0]
    # A fresh process loads the whole program with its first request; that is no matter of the workspace.
    for _ in range(3 * WORKERS):
        asyncio.run(gets(port, reverse("sign-in"), cookie, 1, (200, 302)))
    cold = asyncio.run(gets(port, reverse("workspace", args=[task.pk]), cookie, 1))
    warm = asyncio.run(gets(port, reverse("workspace", args=[task.pk]), cookie, 15))
    path = reverse("workspace-blocks", args=[task.pk]) + f"?version={world.version.pk}&from=40&to=48"
    block_times = asyncio.run(gets(port, path, cookie, 15))
    alone: list[float] = []
    first = asyncio.run(saves(world, port, 0, time.perf_counter() + 4, 1, alone))
    print("opened and saved alone", flush=True)
    browser = in_the_browser(world, port)
    print("opened and saved in the browser", flush=True)
    task.work.refresh_from_db()
    revisions = [task.work.revision] + [0] * (CLIENTS - 1)
    before = task.work.marks.filter(name__startswith="c").count()
    done, times, took = asyncio.run(load(world, port, seconds, revisions))
    done[0] += before
    revisions[0] -= before
    counts = counted(world, done, revisions)
    return {
        "source_bytes": world.version.byte_length,
        "spans": world.marked,
        "open_cold_ms": milliseconds(cold, 0.5),
        "open_warm_p50_ms": milliseconds(warm, 0.5),
        "blocks_of_8_p50_ms": milliseconds(block_times, 0.5),
        "save_p50_ms": milliseconds(alone, 0.5),
        "save_p95_ms": milliseconds(alone, 0.95),
        **browser,
        "clients": CLIENTS,
        "saves_per_second": round((counts["saves"] - first) / took, 1),
        "load_p50_ms": milliseconds(times, 0.5),
        "load_p95_ms": milliseconds(times, 0.95),
        "lost": counts["lost"],
        "doubled": counts["doubled"],
    }


if __name__ == "__main__":
    main()

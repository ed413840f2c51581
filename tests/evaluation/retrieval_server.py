"""A small retrieval system of somebody else's, for real: a threaded HTTP server whose answers a test writes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


@dataclass
class Reply:
    """What the server sends. `drip` seconds pass before each byte of the body, `wait` seconds before the status."""

    body: bytes | dict[str, Any] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    drip: float = 0.0


@dataclass
class RetrievalServer:
    """Answers with `answer(path, request)`; `requests` keeps (path, request) and `headers` theirs as they came."""

    answer: Callable[[str, dict[str, Any]], Reply]
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    port: int = 0
    closing: Event = field(default_factory=Event)

    def address(self, path: str = "/search", host: str = "127.0.0.1") -> str:
        """Address of a path on this server."""
        return f"http://{host}:{self.port}{path}"


@contextmanager
def serving(answer: Callable[[str, dict[str, Any]], Reply]) -> Iterator[RetrievalServer]:
    """A running server on a free port of this machine."""
    server = RetrievalServer(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append((self.path, request))
            server.headers.append(dict(self.headers.items()))
            reply = server.answer(self.path, request)
            server.closing.wait(reply.wait)
            body = json.dumps(reply.body).encode() if isinstance(reply.body, dict) else reply.body
            try:
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for byte in [bytes([one]) for one in body] if reply.drip else [body]:
                    time.sleep(reply.drip)
                    self.wfile.write(byte)
            except OSError:
                self.close_connection = True  # the client hung up, as it should when its time is over

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        server.port = running.server_address[1]
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            running.shutdown()
            thread.join()

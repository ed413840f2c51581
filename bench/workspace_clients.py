"""Annotators who save in a closed loop: one thread, one connection each, no library between them and the socket.

The clients share two cores with what they measure, so they must cost little; and they must be honest. Each waits for
its answer, and checks status, revision and the quote the server sliced from the bytes, before it sends the next save.
"""

from __future__ import annotations

import json
import math
import select
import socket
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

TOKEN = "b" * 32
#: Bytes of a span that a client marks.
LENGTH = 12


@dataclass
class Annotator:
    """One client: `path` is its task's address, `revision` where its pass stands; `times` are seconds per save."""

    number: int
    path: str
    cookie: str
    revision: int
    content: bytes
    version: str
    times: list[float] = field(default_factory=list)
    done: int = 0
    _began: float = 0.0
    _quote: str = ""
    _name: str = ""
    _got: bytes = b""

    def connect(self, port: int) -> None:
        """Open the connection that all its saves go through."""
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {self.cookie}\r\nX-CSRFToken: {TOKEN}\r\n"
            "Content-Type: application/json\r\n"
        )

    def send(self) -> None:
        """Mark twelve bytes of ASCII, somewhere else in the source with every save."""
        # A stride that shares no factor with the length: saves are spread over the whole source.
        start = ((self.revision * 104_729) + self.number * 7_919) % (len(self.content) - LENGTH)
        while not self.content[start : start + LENGTH].isascii():
            start = (start + 1) % (len(self.content) - LENGTH)
        self._quote = self.content[start : start + LENGTH].decode()
        self._name = f"c{self.number}-{self.revision}"
        span = {
            "version": self.version,
            "start": start,
            "end": start + LENGTH,
            "name": self._name,
            "label": "rule",
        }
        body = json.dumps({"edits": [{"op": "add-span", "span": span, "quote": self._quote}], "seconds": 1})
        # `body` is ASCII: json.dumps escapes everything else.
        request = (
            f'{self._head}If-Match: "{self.revision}"\r\nIdempotency-Key: {uuid.uuid4()}\r\n'
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        )
        self._got = b""
        self._began = time.perf_counter()
        self.socket.sendall(request.encode("ascii"))

    def receive(self) -> bool:
        """Take what has arrived; True when it was the whole answer, and a right one. Raises RuntimeError otherwise."""
        part = self.socket.recv(65_536)
        self._got += part
        head, blank, body = self._got.partition(b"\r\n\r\n")
        if part and (not blank or len(body) < _length(head)):
            return False
        self.times.append(time.perf_counter() - self._began)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"client {self.number}: {self._got[:600]!r}")
        said = json.loads(body)
        wanted = {"revision": self.revision + 1, "quotes": {self._name: self._quote}, "repeated": False}
        if any(said[key] != value for key, value in wanted.items()):
            raise RuntimeError(f"client {self.number}: {said} and not {wanted}")
        self.revision += 1
        self.done += 1
        return True


def _length(head: bytes) -> int:
    name = b"\r\ncontent-length: "
    at = head.lower().index(name) + len(name)
    return int(head[at:].split(b"\r\n", 1)[0])


def save_in_a_loop(annotators: Sequence[Annotator], port: int, seconds: float, arrival: float = 0.02) -> float:
    """Let each annotator save one span after the other; returns the seconds measured, to the last answer.

    They come one after the other, `arrival` seconds apart, as people do and as processes that share a port need it:
    fifty connections in the same millisecond go to whichever process looks first. Each saves as soon as it has come;
    what it did before all had come is left out of `times` and `done`, and the `seconds` begin then.
    """
    poll = select.epoll()
    by_number: dict[int, Annotator] = {}
    for one in annotators:
        one.connect(port)
        poll.register(one.socket.fileno(), select.EPOLLIN)
        by_number[one.socket.fileno()] = one
        one.send()
        ready = time.perf_counter() + arrival
        while (left := ready - time.perf_counter()) > 0:
            _answered(poll.poll(left), by_number)
    for one in annotators:
        one.times.clear()
        one.done = 0
    began = time.perf_counter()
    while by_number:
        for one in _answered(poll.poll(), by_number, until=began + seconds):
            poll.unregister(one.socket.fileno())
            del by_number[one.socket.fileno()]
            one.socket.close()
    poll.close()
    return time.perf_counter() - began


def _answered(
    events: Iterable[tuple[int, int]], by_number: Mapping[int, Annotator], until: float = math.inf
) -> list[Annotator]:
    """Take what has arrived and send the next saves; returns whose last answer came after `until`."""
    finished = []
    for number, _ in events:
        one = by_number[number]
        if one.receive():
            if time.perf_counter() < until:
                one.send()
            else:
                finished.append(one)
    return finished

"""JSON over HTTP to systems we do not own: allow-listed hosts, bounded time and size, bounded retries, no redirects.

A call is one POST, tried up to `attempts` times. Tried again: no answer in time, no connection, 429 and 5xx; any other
answer is final. The pause before attempt n + 1 is `backoff_ms` · 2^(n − 1), at most `MOST_WAIT` seconds, and never
shorter than the Retry-After the system sends; one that asks for more than `MOST_WAIT` is not waited for. The time limit
covers an attempt from connecting to the last byte, so a system that drips its answer does not hold a worker.

A host may have a token of this installation (the setting `RETRIEVAL_TOKENS`). It is sent to that host alone and stands
in no plan, record, log or message.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

#: Seconds that are waited between two attempts at most.
MOST_WAIT = 30.0

#: Largest answer that is read, in bytes.
MOST_BYTES = 16 * 1024 * 1024

_PORTS = {"http": 80, "https": 443}
_TOO_MANY, _SERVER_FAULT = 429, 500


class EndpointRefused(ValueError):
    """An address that may not be called; the message says which and how to mend it."""


class CallFailed(Exception):
    """A call that brought no answer; the text is a stable reason without a word of the answer."""


@dataclass(frozen=True)
class Endpoint:
    """Where to call; made by `endpoint`, which checks the allow-list. `authorization` is the header's value, "" for
    none."""

    scheme: str
    host: str
    port: int
    path: str
    authorization: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True)
class Call:
    """One try of a request, for the operations records. `outcome` is "ok" or a reason; `status` 0 where no answer
    came."""

    purpose: str
    number: int
    status: int
    outcome: str
    milliseconds: int


@dataclass(frozen=True)
class Patience:
    """Limits of a call: milliseconds an attempt may take, number of attempts, and the first pause between them."""

    timeout_ms: int = 10_000
    attempts: int = 3
    backoff_ms: int = 200


_listener: ContextVar[list[Call] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(calls: list[Call]) -> Iterator[None]:
    """Have every try of a request that this thread makes inside the block added to `calls`, also when the block ends
    with an exception."""
    token = _listener.set(calls)
    try:
        yield
    finally:
        _listener.reset(token)


def endpoint(address: str, allowed: Collection[str], tokens: Mapping[str, str] | None = None) -> Endpoint:
    """Check an address against the allow-list of `host` or `host:port` entries; `tokens` has keys of the same form.

    A token is sent as `Authorization: Bearer …`; one with a blank in it is the whole value of that header (`Basic …`).
    Raises `EndpointRefused`.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise EndpointRefused(f"endpoint {address!r} is no address: {error}") from error
    if parts.scheme not in _PORTS or not parts.hostname:
        raise EndpointRefused(f"endpoint {address!r}: write http:// or https:// and a host")
    if parts.username is not None or parts.fragment:
        raise EndpointRefused(f"the endpoint at {parts.hostname} carries a user name or a fragment; leave them out")
    if port == 0:
        raise EndpointRefused(f"endpoint {address!r}: port 0 is no port; name the one the system listens on")
    if not all(" " < letter < "\x7f" for letter in address):
        raise EndpointRefused(
            f"endpoint {address!r} holds a blank, a control character or a letter beyond ASCII; write those "
            "percent-encoded, as %20"
        )
    port = port or _PORTS[parts.scheme]
    if parts.hostname not in allowed and f"{parts.hostname}:{port}" not in allowed:
        raise EndpointRefused(
            f"endpoint {address!r}: the host {parts.hostname} is not on the list of this installation; "
            f"add {parts.hostname} or {parts.hostname}:{port} to CUTLINE_RETRIEVAL_HOSTS"
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    known = tokens or {}
    token = known.get(f"{parts.hostname}:{port}") or known.get(parts.hostname, "")
    return Endpoint(parts.scheme, parts.hostname, port, path, token if " " in token or not token else f"Bearer {token}")


def post_json(where: Endpoint, body: dict[str, Any], patience: Patience, purpose: str) -> Any:
    """POST `body` with its attempt number and return the decoded answer; a listener is told of every attempt.

    Raises `CallFailed` with "timeout", "unreachable", "redirect", "http-<status>", "too-large" or "not-json", and the
    number of attempts.
    """
    for number in range(1, patience.attempts + 1):
        began = time.monotonic()
        status, outcome, answer, wait = _once(where, json.dumps({**body, "attempt": number}).encode(), patience)
        if (calls := _listener.get()) is not None:
            calls.append(Call(purpose, number, status, outcome, round(1000 * (time.monotonic() - began))))
        if outcome == "ok":
            return answer
        again = outcome in ("timeout", "unreachable") or status == _TOO_MANY or status >= _SERVER_FAULT
        if not again or number == patience.attempts or wait > MOST_WAIT:
            raise CallFailed(f"{outcome} after {number} attempt{'s' if number > 1 else ''}")
        time.sleep(max(wait, min(MOST_WAIT, patience.backoff_ms / 1000 * 2 ** (number - 1))))
    raise ValueError(f"attempts must be at least 1, got {patience.attempts}")


def _once(where: Endpoint, body: bytes, patience: Patience) -> tuple[int, str, Any, float]:
    """Status, outcome, answer and the seconds the system asks to wait, of one attempt."""
    limit = patience.timeout_ms / 1000
    if where.scheme == "https":
        link: http.client.HTTPConnection = http.client.HTTPSConnection(
            where.host, where.port, timeout=limit, context=ssl.create_default_context()
        )
    else:
        link = http.client.HTTPConnection(where.host, where.port, timeout=limit)
    late = threading.Event()
    began = time.monotonic()
    guard: threading.Timer | None = None
    try:
        link.connect()
        guard = threading.Timer(max(0.0, limit - (time.monotonic() - began)), _hang_up, (link.sock, late))
        guard.daemon = True
        guard.start()
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        if where.authorization:
            headers["Authorization"] = where.authorization
        link.request("POST", where.path, body, headers)
        answer = link.getresponse()
        raw = answer.read(MOST_BYTES + 1)
    except TimeoutError:
        return 0, "timeout", None, 0.0
    except (OSError, http.client.HTTPException):
        return 0, "timeout" if late.is_set() else "unreachable", None, 0.0
    finally:
        if guard is not None:
            guard.cancel()
        link.close()
    if late.is_set():
        return 0, "timeout", None, 0.0
    return _read(answer.status, answer.getheader("Retry-After"), raw)


def _read(status: int, retry_after: str | None, raw: bytes) -> tuple[int, str, Any, float]:
    if status // 100 == 3:
        return status, "redirect", None, 0.0
    if status // 100 != 2:
        return status, f"http-{status}", None, _seconds(retry_after)
    if len(raw) > MOST_BYTES:
        return status, "too-large", None, 0.0
    try:
        return status, "ok", json.loads(raw), 0.0
    except (ValueError, RecursionError):
        return status, "not-json", None, 0.0


def _hang_up(link: socket.socket, late: threading.Event) -> None:
    """End an attempt whose time is over; the reader then gets an error instead of the next byte."""
    late.set()
    try:
        link.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # closed by the other side at this very moment


def _seconds(retry_after: str | None) -> float:
    """Retry-After in seconds from now; 0 where there is none or it says nothing that can be read."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())

"""Whether the site could listen where it is asked to, said before anything else is done."""

from __future__ import annotations

import socket

from django.core.management.base import CommandError

from evaluation.management.command import USAGE


def require_free(host: str, port: int) -> None:
    """Raise CommandError when nothing can listen on `host`:`port`: no such port or address, no right to it, or taken.

    A port that is free now can be taken a moment later; the server says so then. This is for the common case, a site
    that runs already, which a person should hear of before a minute of work and not in a server's log after it.
    """
    if not 0 < port < 65536:
        raise CommandError(f"--port {port}: ports go from 1 to 65535.", returncode=USAGE)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # As the server itself does: a port of which only closed connections are left is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise CommandError(
            f"Nothing can listen on {host}:{port}: {problem}. Stop what listens there (perhaps another Cutline), or "
            "choose another address with --port (and, for serve, --host).",
            returncode=USAGE,
        ) from error

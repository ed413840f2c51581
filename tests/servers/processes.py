"""Child processes that cannot outlive the test run, and ports nobody holds."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
# Loaded before any fork: dlopen between fork and exec can deadlock.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def dies_with_parent(with_signal: signal.Signals) -> Callable[[], None]:
    """Return a `preexec_fn` that has the kernel send `with_signal` to the child when the starting thread dies.

    It must run after a change of user (which clears the setting): `subprocess` calls it last, so it does.
    Elsewhere than on Linux it does nothing, and a killed run may leave a server behind.
    """
    parent = os.getpid()

    def before_exec() -> None:
        if _LIBC is None:
            return
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(with_signal), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return before_exec


def free_port() -> int:
    """Return a TCP port on 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Return whether something accepts connections on 127.0.0.1:`port`."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0

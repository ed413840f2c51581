"""Runs several processes as one: they start together, and when one ends or a stop is asked for, all end."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

GRACE_SECONDS = 20.0
_PR_SET_PDEATHSIG = 1
# Loaded before any fork: dlopen between fork and exec can deadlock.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def run_together(commands: Mapping[str, Sequence[str]], say: Callable[[str], None]) -> int:
    """Run `commands` (name → argument list) until one ends or SIGTERM/SIGINT arrives; then stop the others.

    Returns 0 after a requested stop in which every child ended well, else the exit code that caused the end (1 for a
    child that ended by itself with 0: a server is not supposed to).
    """
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    children = {name: _start(command) for name, command in commands.items()}
    try:
        code = _watch(children, asked, say)
    finally:
        _stop(children, say)
        for number, handler in before.items():
            signal.signal(number, handler)
    return code


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    # A group of its own: Ctrl-C in a terminal reaches this process only, which then stops the children in order.
    # This process has no threads yet, so running Python between fork and exec is safe.
    return subprocess.Popen(command, process_group=0, preexec_fn=_die_with(os.getpid()))  # noqa: S603, PLW1509


def _watch(children: Mapping[str, subprocess.Popen[bytes]], asked: Sequence[int], say: Callable[[str], None]) -> int:
    while not asked:
        for name, child in children.items():
            if (code := child.poll()) is not None:
                say(f"{name} ended with exit code {code}; stopping the rest")
                return code or 1
        time.sleep(0.1)
    return 0


def _stop(children: Mapping[str, subprocess.Popen[bytes]], say: Callable[[str], None]) -> None:
    for child in children.values():
        if child.poll() is None:
            child.terminate()
    until = time.monotonic() + GRACE_SECONDS
    for name, child in children.items():
        try:
            child.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            say(f"{name} did not stop within {GRACE_SECONDS:.0f} s and is killed; its cell comes back by its lease")
            child.kill()
            child.wait()


def _die_with(parent: int) -> Callable[[], None]:
    """Return a `preexec_fn` that has Linux end the child when this process is killed without a chance to stop it."""

    def before_exec() -> None:
        if _LIBC is None:
            return
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return before_exec

"""Stopping a command that computes cells: the first signal lets the cell in work finish, the second one ends it."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """Says whether SIGTERM or SIGINT has come since `with` began; the second one ends the process (128 + number).

    A cell that is in work then goes back to the queue. Outside the main thread, which alone receives signals, it never
    says so. `number` is the signal that came, 0 for none.
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> bool:
        """Whether to stop."""
        return bool(self.number)

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than a tenth of a second beyond a request to stop."""
        until = time.monotonic() + seconds
        while not self.number and time.monotonic() < until:
            time.sleep(0.1)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.number:
            raise SystemExit(128 + number)
        self.number = number

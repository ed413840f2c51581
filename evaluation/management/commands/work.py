"""The embedded worker."""

from __future__ import annotations

import logging
import os
import socket
from argparse import ArgumentParser
from typing import Any

from django.db import OperationalError, connection

from evaluation.management.command import ExampleCommand
from evaluation.management.stopping import Stop
from evaluation.services.work import drain

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.5
#: Pause after the database refused; long enough for a restart of it, short enough not to be noticed.
TROUBLE_SECONDS = 5.0

EXAMPLE = """
Examples:
  manage.py work            keep taking cells until SIGTERM or Ctrl-C
  manage.py work --once     drain the queue and exit

The database is the queue: start any number of these, on SQLite on one host, on PostgreSQL on any number of hosts.
The first SIGTERM lets the cell in work finish; a second one gives it back to the queue at once.
Exit code: 0 after a drained queue or a requested stop, 1 when the database could not be used (--once).
"""


class Command(ExampleCommand):
    """Takes cells from the database and computes them."""

    help = "Take cells of running sweeps from the database and compute them."
    examples = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("--once", action="store_true", help="exit when no cell is left to take")

    def handle(self, *args: Any, **options: Any) -> None:
        """Work until told to stop."""
        # Cells run one after another here; a tokenizer's own threads would only compete with other workers.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        with Stop() as stopping:
            self._work(stopping, once=options["once"])

    def _work(self, stopping: Stop, *, once: bool) -> None:
        name = f"work:{socket.gethostname()}:{os.getpid()}"
        if once:
            done = drain(name, stop=stopping)
            self.stdout.write(f"{done.cells} cells")
            return
        self.stdout.write(f"{name} waits for cells")
        cells = 0
        while not stopping():
            try:
                cells += drain(name, stop=stopping).cells
                pause = POLL_SECONDS
            except OperationalError:
                logger.exception("The database could not be used; trying again in %s s.", TROUBLE_SECONDS)
                connection.close()
                pause = TROUBLE_SECONDS
            stopping.wait(pause)
        self.stdout.write(f"{name} stopped after {cells} cells")

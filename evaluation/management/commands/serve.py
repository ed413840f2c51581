"""The whole of Cutline on one machine: the site and a worker."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from evaluation.management.address import require_free
from evaluation.management.children import run_together
from evaluation.management.command import ExampleCommand

EXAMPLE = """
Examples:
  manage.py serve                 http://127.0.0.1:8000/
  manage.py serve --port 9000     another port
  manage.py serve --no-worker     the site alone, beside Celery workers

Ctrl-C or SIGTERM stops the site and the worker together.
Exit code: 0 after a requested stop; 2 when the address is taken; otherwise that of the process that ended first.
"""


class Command(ExampleCommand):
    """Serves the site and runs the embedded worker until stopped."""

    help = "Serve the site with gunicorn and run a worker beside it, until stopped."
    examples = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("--port", type=int, default=8000, help="port on --host (default 8000)")
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1, this machine)"
        )
        parser.add_argument("--workers", type=int, default=1, help="worker processes (default 1)")
        parser.add_argument("--no-worker", action="store_true", help="serve the site only")

    def handle(self, *args: Any, **options: Any) -> None:
        """Collect static files, start the children, wait."""
        require_free(options["host"], options["port"])
        if missing := _unapplied():
            raise CommandError(f"{missing} migrations are not applied to the database. Run manage.py migrate first.")
        call_command("collectstatic", interactive=False, verbosity=0)
        python, manage = sys.executable, str(Path(settings.BASE_DIR) / "manage.py")
        address = f"{options['host']}:{options['port']}"
        commands = {
            "site": [
                python,
                *("-m", "gunicorn", "config.wsgi", "--bind", address),
                # Threads share one process on SQLite's one writer; a sweep's load is in the worker, not here.
                *("--workers", "1", "--threads", "8", "--log-level", "warning"),
                *("--chdir", str(settings.BASE_DIR)),
            ]
        }
        for number in range(0 if options["no_worker"] else options["workers"]):
            commands[f"worker {number + 1}"] = [python, manage, "work"]
        # The children open their own connections.
        connection.close()
        self.stdout.write(f"Cutline is at http://{address}/ (Ctrl-C stops it)")
        self.stdout.flush()
        if code := run_together(commands, self.stderr.write):
            sys.exit(code)


def _unapplied() -> int:
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))

"""Restricted bytes in what a sweep left behind."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from evaluation.management.command import FAILED, USAGE, ExampleCommand, refusals
from evaluation.management.commands.results import find_sweep
from evaluation.services.cell_exposure import UnreadablePrompt
from evaluation.services.search_leaks import LeakSearch, search_leaks


class Command(ExampleCommand):
    """Searches a sealed sweep."""

    help = "Search the results, rows and logs of a sealed sweep for bytes their readers may not see."
    examples = """
Examples:
  manage.py search_leaks 3
  manage.py search_leaks latest --log worker-1.log --log worker-2.log

The whole candidate lists are computed again and searched; those of a system over HTTP, which may answer differently,
are searched as far as they were recorded, and its arms are named.

Places are named by question, stage, arm and phase, restricted bytes by version and offsets; no text is printed.

Exit code: 0 when nothing is found; 1 when something is, when a prompt cannot be rebuilt or the sweep is not sealed; 2
for a sweep or file that is not there.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("sweep", help="number of the sweep, or “latest”")
        parser.add_argument(
            "--log", metavar="FILE", type=Path, action="append", default=[], help="a log of a process that ran it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Search and say what was looked at."""
        sweep = find_sweep(options["sweep"])
        try:
            logs = [path.read_bytes() for path in options["log"]]
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}.", returncode=USAGE) from error
        with refusals():
            try:
                found = search_leaks(sweep, logs)
            except UnreadablePrompt as error:
                raise CommandError(str(error), returncode=FAILED) from error
        self._say(found)
        if found.leaks:
            raise CommandError(f"{len(found.leaks)} places hold restricted bytes.", returncode=FAILED)

    def _say(self, found: LeakSearch) -> None:
        looked = ", ".join(f"{count} {place}" for place, count in found.searched.items())
        self.stdout.write(
            f"Searched for {len(found.guarded)} questions ({len(found.twins)} uncleared twins): {looked}."
        )
        for arm in found.recorded_only:
            self.stdout.write(
                f"Searched to the recorded ranks only, its lists cannot be computed again here: arm {arm}"
            )
        for one in found.indistinct:
            self.stdout.write(f"Indistinct, found as a place only: {one.version} {one.start}–{one.end}")
        for leak in found.leaks:
            places = ", ".join(f"{one.version} {one.start}–{one.end}" for one in leak.restricted)
            self.stdout.write(f"LEAK {leak.question or '(any reader)'}, {leak.place}: {places}")

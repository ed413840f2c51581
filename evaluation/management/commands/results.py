"""The results of a sweep, on the screen and as a file."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotate.permissions import OPERATOR
from evaluation.management.command import USAGE, ExampleCommand, refusals
from evaluation.management.tables import console_on, print_results
from evaluation.models import Sweep
from evaluation.services.count_reading import count_reading
from evaluation.services.operations import results_document
from evaluation.services.results import sweep_results


class Command(ExampleCommand):
    """Shows a sealed sweep's results."""

    help = "Show the results of a sealed sweep and write them as JSON."
    examples = """
Examples:
  manage.py results 3                          tables on the screen: support, stage of loss, differences
  manage.py results 3 --json results.json      every figure, as docs/results.md describes
  manage.py results latest --json -            the newest sealed sweep, to standard output

Exit code: 0; 1 when the sweep is not sealed; 2 when there is no such sweep or the file cannot be written.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("sweep", help="number of the sweep, or “latest”")
        parser.add_argument("--json", metavar="PATH", help="write the results to PATH (“-”: standard output)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Show and write."""
        sweep = find_sweep(options["sweep"])
        with refusals():
            results = sweep_results(sweep)
        count_reading(OPERATOR, sweep, "manage.py results")
        if options["json"]:
            write_json(results_document(sweep, results), options["json"], self.stdout)
        if options["json"] != "-":
            print_results(console_on(self.stdout), results)


def find_sweep(name: str) -> Sweep:
    """Return the sweep called `name` on the command line; raises CommandError saying which there are."""
    sweeps = Sweep.objects.select_related("plan__study", "plan__fixture_set")
    if name == "latest":
        found = sweeps.filter(state=Sweep.State.SEALED).order_by("-pk").first()
    else:
        found = sweeps.filter(pk=int(name)).first() if name.isdecimal() and len(name) < 18 else None
    if found is None:
        there = ", ".join(str(pk) for pk in Sweep.objects.order_by("-pk").values_list("pk", flat=True)[:10]) or "none"
        raise CommandError(f"There is no sweep {name!r}. Newest sweeps: {there}.", returncode=USAGE)
    return found


def write_json(data: dict[str, Any], path: str, stdout: Any) -> None:
    """Write plain data as JSON; raises CommandError when the file cannot be written."""
    text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    if path == "-":
        stdout.write(text, ending="")
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.", returncode=USAGE) from error

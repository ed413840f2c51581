"""Questions of a sealed sweep as regression fixtures."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotate.permissions import OPERATOR
from evaluation.management.command import USAGE, ExampleCommand, refusals
from evaluation.management.commands.results import find_sweep
from evaluation.services.count_reading import count_reading
from evaluation.services.export_pack import export_pack, lost_questions
from evaluation.services.outcome_table import table_of_results
from evaluation.services.write_plan import plan_value


class Command(ExampleCommand):
    """Writes regression fixtures."""

    help = "Write questions of a sealed sweep as regression fixtures, one archive each, for sweep --pack."
    examples = """
Examples:
  manage.py export_pack 3 --question opening --question deposit --out regressions
  manage.py export_pack latest --lost --out regressions    every question whose support the candidate lost
  manage.py sweep --pack regressions                       replay them, in CI for instance

A fixture holds the source texts it needs: keep it where those may be kept.
Exit code: 0; 1 when the sweep is not sealed; 2 for an argument to mend.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("sweep", help="number of the sweep, or “latest”")
        parser.add_argument("--question", action="append", default=[], metavar="ID", help="may be given repeatedly")
        parser.add_argument("--lost", action="store_true", help="every question whose support the candidate lost")
        parser.add_argument("--candidate", default="", metavar="ARM", help="another candidate than the plan's own")
        parser.add_argument("--out", required=True, metavar="FOLDER", help="where to write; no file is overwritten")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write and say what was written."""
        if bool(options["question"]) is options["lost"]:
            raise CommandError("Name questions with --question, or take --lost.", returncode=USAGE)
        sweep = find_sweep(options["sweep"])
        with refusals():
            candidate = options["candidate"] or plan_value(sweep.plan).decision.candidate
            try:
                asked = options["question"] or lost_questions(table_of_results(sweep), candidate)
                paths = export_pack(OPERATOR, sweep, Path(options["out"]), asked, candidate)
            except LookupError as missing:
                raise CommandError(f"{str(missing)[:1].upper()}{str(missing)[1:]}.", returncode=USAGE) from missing
        count_reading(OPERATOR, sweep, "manage.py export_pack")
        for path in paths:
            self.stdout.write(str(path))
        self.stdout.write(f"{len(paths)} fixtures" if paths else "The candidate lost no question.")

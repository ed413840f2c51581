"""A sweep and everything it was made of, as one folder that another machine can check."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotate.permissions import OPERATOR
from evaluation.management.command import FAILED, USAGE, ExampleCommand, refusals
from evaluation.management.commands.results import find_sweep
from evaluation.services.count_reading import count_reading
from evaluation.services.export_artefacts import export_artefacts
from ledger.services import LedgerError, WrongUsage


class Command(ExampleCommand):
    """Writes an artefact bundle."""

    help = "Write a sealed sweep's artefact bundle: ledger lines, plan, decision, fixtures, sources, visible contexts."
    examples = """
Examples:
  manage.py export_artefacts latest release-2026-11
  manage.py export_artefacts 3 shared --text-free --key-file text.key    no text; short spans carry keyed digests
  manage.py verify_ledger --bundle release-2026-11                       on any machine, without a database

Exit code: 0; 1 when the sweep is not sealed or its rows are damaged; 2 for an argument to mend.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("sweep", help="number of the sweep, or “latest”")
        parser.add_argument("path", metavar="PATH", help="folder to make; it must not exist")
        parser.add_argument("--text-free", action="store_true", help="leave text out; short spans get keyed digests")
        parser.add_argument("--key-file", metavar="FILE", help="file with the key of --text-free, at least 16 bytes")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write and say what was written."""
        if options["text_free"] != (options["key_file"] is not None):
            raise CommandError("--text-free and --key-file go together: give both or neither.", returncode=USAGE)
        sweep = find_sweep(options["sweep"])
        try:
            key = Path(options["key_file"]).read_bytes().rstrip(b"\r\n") if options["key_file"] else None
            with refusals():
                manifest = export_artefacts(OPERATOR, sweep, Path(options["path"]), text_key=key)
        except WrongUsage as error:
            raise CommandError(str(error), returncode=USAGE) from error
        except LedgerError as error:
            raise CommandError(str(error), returncode=FAILED) from error
        except OSError as error:
            what = f"{error.filename or options['path']}: {error.strerror or error}; nothing was exported."
            raise CommandError(what, returncode=USAGE) from error
        # After the export: the bundle tells who had read the results before it was made.
        count_reading(OPERATOR, sweep, "manage.py export_artefacts")
        counts, files = manifest["counts"], len(manifest["attachments"])
        self.stdout.write(
            f"{options['path']}: {counts['records']} records, {counts['results']} results, {files} files beside them"
        )
        for limit in manifest["limits"]:
            self.stdout.write(f"note: {limit}")

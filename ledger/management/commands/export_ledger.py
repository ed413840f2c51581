"""`manage.py export_ledger`: take the ledger away as files."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ledger.services import LedgerError, WrongUsage, export_bundle

USAGE = 2


class Command(BaseCommand):
    """Export the ledger."""

    help = "Write the ledger's records and results as JSON Lines with a manifest into a new folder."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        """Keep the example's line breaks in --help."""
        return super().create_parser(
            prog_name,
            subcommand,
            formatter_class=RawDescriptionHelpFormatter,
            epilog=(
                "examples:\n"
                "  manage.py export_ledger ledger-2026-06\n"
                '  python -c "import secrets; print(secrets.token_hex(32))" > text.key\n'
                "  manage.py export_ledger shared --text-free --key-file text.key"
            ),
            **kwargs,
        )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("path", metavar="PATH", help="folder to make; it must not exist")
        parser.add_argument("--scope", action="append", metavar="S", help="only this scope (may be given repeatedly)")
        parser.add_argument("--text-free", action="store_true", help="replace text by keyed digests")
        parser.add_argument("--key-file", metavar="FILE", help="file with the key of --text-free, at least 16 bytes")

    def handle(self, *args: Any, **options: Any) -> None:
        """Export and say what was written."""
        if options["text_free"] != (options["key_file"] is not None):
            raise CommandError("--text-free and --key-file go together: give both or neither.", returncode=USAGE)
        progress = self._progress if sys.stderr.isatty() else None
        try:
            key = Path(options["key_file"]).read_bytes().rstrip(b"\r\n") if options["key_file"] else None
            manifest = export_bundle(Path(options["path"]), scopes=options["scope"], text_key=key, progress=progress)
        except WrongUsage as error:
            raise CommandError(str(error), returncode=USAGE) from error
        except OSError as error:
            where = error.filename or options["path"]
            raise CommandError(
                f"{where}: {error.strerror or error}; nothing was exported.", returncode=USAGE
            ) from error
        except LedgerError as error:
            raise CommandError(str(error)) from error
        counts = manifest["counts"]
        self.stdout.write(f"{options['path']}: {counts['records']} records, {counts['results']} results")
        for limit in manifest["limits"]:
            self.stdout.write(f"note: {limit}")

    def _progress(self, count: int) -> None:
        self.stderr.write(f"\r{count} rows", ending="")

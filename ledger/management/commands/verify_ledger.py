"""`manage.py verify_ledger`: recompute the whole ledger, or an exported bundle."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ledger.services import ExternalHead, LedgerError, Report, verify, verify_bundle

FINDINGS, USAGE = 1, 2


class Command(BaseCommand):
    """Verify the ledger."""

    help = "Recompute every digest, link and seal of the ledger and compare its records with the rows they describe."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        """Keep the example's line breaks in --help."""
        return super().create_parser(
            prog_name,
            subcommand,
            formatter_class=RawDescriptionHelpFormatter,
            epilog=(
                "exit codes: 0 clean, 1 findings, 2 wrong usage\n\n"
                "example, keeping the head outside the database:\n"
                "  manage.py verify_ledger --write-head head.json\n"
                "  manage.py verify_ledger --head head.json"
            ),
            **kwargs,
        )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--head", metavar="FILE", help="file with a head noted earlier; the chain must contain it")
        parser.add_argument("--bundle", metavar="PATH", help="verify this exported folder, not the database")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")
        parser.add_argument("--write-head", metavar="FILE", help="write the head to FILE where nothing was found")

    def handle(self, *args: Any, **options: Any) -> None:
        """Verify, print the report, and end with an exit code that tells."""
        head = _read_head(options["head"])
        progress = self._progress if sys.stderr.isatty() else None
        try:
            if options["bundle"]:
                report = verify_bundle(Path(options["bundle"]), head, progress=progress)
            else:
                report = verify(head, progress=progress)
        except LedgerError as error:
            raise CommandError(str(error), returncode=USAGE) from error
        if options["json"]:
            self.stdout.write(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
        else:
            self._print(report)
        if not report.ok:
            raise CommandError(f"{report.total_findings} findings: the ledger does not hold.", returncode=FINDINGS)
        if options["write_head"]:
            try:
                Path(options["write_head"]).write_text(report.head.to_text() + "\n", encoding="utf-8")
            except OSError as error:
                raise CommandError(f"--write-head: {error}", returncode=USAGE) from error

    def _progress(self, count: int) -> None:
        self.stderr.write(f"\r{count} rows", ending="")

    def _print(self, report: Report) -> None:
        self.stdout.write(f"{report.records} records, {report.results} results, {report.seals} seals")
        for finding in report.findings:
            self.stdout.write(f"finding: {finding}")
        if report.total_findings > len(report.findings):
            self.stdout.write(f"… and {report.total_findings - len(report.findings)} more findings")
        for note in report.notes:
            self.stdout.write(f"note: {note}")
        self.stdout.write(f"head: {report.head.to_text()}")
        if report.ok:
            self.stdout.write(self.style.SUCCESS("clean"))


def _read_head(name: str | None) -> ExternalHead | None:
    if name is None:
        return None
    try:
        return ExternalHead.parse(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"--head {name}: {error}", returncode=USAGE) from error

"""`manage.py import_sources`: a file, or a folder with or without a `sources.toml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotate.management.study_command import StudyCommand, parse_day
from annotate.models import Study
from annotate.permissions import By
from annotate.services.import_folder import import_folder


class Command(StudyCommand):
    """Import source versions, all of them or none."""

    help = "Import a file or a folder of sources. Bytes are kept as they are; importing the same again is harmless."
    example = 'manage.py import_sources policies/ --study policies --create-study "Our policies"'

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the path and what is said about files without a `sources.toml`."""
        parser.add_argument("path", type=Path, help="a file, a folder, or a sources.toml")
        super().add_arguments(parser)
        parser.add_argument(
            "--observed", metavar="DATE", help="observation date of files nobody describes (default: today)"
        )
        parser.add_argument("--version-label", default="", help="version label of files nobody describes")
        parser.add_argument(
            "--encoding", metavar="NAME", help="transcode every file from this encoding, on record, e.g. cp1252"
        )

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Import and print what became of each file."""
        with self.progress("importing") as progress:
            outcomes = import_folder(
                by,
                study,
                options["path"],
                observed=parse_day(options["observed"]) if options["observed"] else None,
                version_label=options["version_label"],
                encoding=options["encoding"],
                progress=progress,
            )
        for item in outcomes:
            word = "imported " if item.created else "unchanged"
            note = f"  ({item.note})" if item.created and item.note else ""
            self.stdout.write(
                f"{word}  {item.version.sha256[:12]}  {item.version.byte_length:>9} bytes  {item.file}{note}"
            )
        new = sum(item.created for item in outcomes)
        self.stdout.write(self.style.SUCCESS(f"{new} imported, {len(outcomes) - new} unchanged, study {study.slug}"))

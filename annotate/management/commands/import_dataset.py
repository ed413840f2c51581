"""`manage.py import_dataset`: a public data set as a retrieval-only study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from annotate.domain.vocabulary import Partition, StudyKind
from annotate.management.study_command import BAD_INPUT, StudyCommand
from annotate.models import Study
from annotate.permissions import By
from annotate.services.import_dataset import FORMATS, import_dataset


class Command(StudyCommand):
    """Import an external data set, every reference verified against the bytes."""

    help = "Import an external data set as a retrieval-only study; every reference is verified against the bytes."
    example = (
        "manage.py import_dataset --format chunking-evaluation data/chunking-evaluation "
        '--study external --create-study "Public corpora"'
    )
    new_study_kind = StudyKind.RETRIEVAL_ONLY

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the path, the format, and whether to write."""
        parser.add_argument("path", type=Path, help="the data set's folder")
        parser.add_argument("--format", required=True, choices=FORMATS, dest="dataset_format")
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="read and check only, write nothing")
        parser.add_argument(
            "--partition",
            choices=[word.value for word in Partition],
            default=Partition.HELD_OUT.value,
            help="where the questions belong (default: held-out)",
        )

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Import and print the report: each mismatch and each repeated quote with its row, then the figures."""
        with self.progress("settling") as progress:
            report = import_dataset(
                by,
                study,
                options["path"],
                options["dataset_format"],
                dry_run=options["dry_run"],
                partition=Partition(options["partition"]),
                progress=progress,
            )
        for line in report.mismatches:
            self.stdout.write(self.style.ERROR(f"mismatch   {line}"))
        for line in report.repeated:
            self.stdout.write(f"ambiguous  {line}")
        for line in report.doubled:
            self.stdout.write(f"doubled    {line}")
        for name, value in report.counts().items():
            self.stdout.write(f"{name.replace('_', ' ')}: {value}")
        if options["dry_run"]:
            # A study that --create-study made goes too.
            transaction.set_rollback(True)
            self.stdout.write("dry run: nothing was written")
            if report.mismatches:
                raise CommandError(f"{len(report.mismatches)} mismatches, see above", returncode=BAD_INPUT)
        else:
            self.stdout.write(self.style.SUCCESS(f"{report.written} rows written, study {study.slug}"))

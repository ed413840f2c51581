"""`manage.py import_archive`: a fixture set that was exported elsewhere, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotate.management.commands.import_questions import read_file
from annotate.management.study_command import StudyCommand
from annotate.models import Study
from annotate.permissions import By
from annotate.services.import_archive import import_archive


class Command(StudyCommand):
    """Import a fixture archive."""

    help = "Take in a fixture archive: its sources, questions and settled evidence, frozen under the digest it had."
    example = "manage.py import_archive --study policies --name policies-2026-10 policies-2026-10.tar.gz"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the set's name and the file."""
        super().add_arguments(parser)
        parser.add_argument("--name", required=True, metavar="NAME", help="the set's name, used once per study")
        parser.add_argument("path", type=Path, metavar="PATH", help="the archive")

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Import the archive and print what it brought."""
        path = options["path"]
        made = import_archive(by, study, read_file(path), options["name"], where=path.name)
        self.stdout.write(
            self.style.SUCCESS(
                f"frozen: {made.fixture_set.name}, {made.fixture_set.fixtures.count()} fixtures "
                f"({made.new_questions} new), {made.new_sources} new source versions, digest {made.fixture_set.digest}"
            )
        )

"""`manage.py export_archive`: a fixture set as one file that a stranger can verify."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotate.management.commands.freeze import set_called
from annotate.management.study_command import StudyCommand
from annotate.models import Study
from annotate.permissions import By
from annotate.services.export_archive import export_archive


class Command(StudyCommand):
    """Export a fixture set as one archive."""

    help = "Write a fixture set as one .tar.gz: canonical fixtures, digests, schemas, a script that checks it."
    example = "manage.py export_archive --study policies --set policies-2026-10 --sources policies-2026-10.tar.gz"
    can_create = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the set, the file and whether the source texts go in."""
        super().add_arguments(parser)
        parser.add_argument("--set", required=True, metavar="NAME", dest="fixture_set", help="the fixture set's name")
        parser.add_argument("--sources", action="store_true", help="put the source texts in (needed to import it)")
        parser.add_argument("path", type=Path, metavar="PATH", help="a new file")

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Write the file and print the set's digest."""
        fixture_set = set_called(study, options["fixture_set"])
        made = export_archive(by, fixture_set, options["path"], sources=options["sources"])
        self.stdout.write(
            self.style.SUCCESS(
                f"{made.fixtures} fixtures, {made.sources} texts in {options['path']}; set {fixture_set.digest}"
            )
        )

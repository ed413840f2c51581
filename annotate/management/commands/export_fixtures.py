"""`manage.py export_fixtures`: a fixture set as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotate.management.commands.freeze import set_called
from annotate.management.study_command import StudyCommand
from annotate.models import Study
from annotate.permissions import By
from annotate.services.export_fixtures import export_fixtures


class Command(StudyCommand):
    """Export a fixture set."""

    help = "Write a fixture set as files: set.json and canonical/ (the bytes that are hashed), published/ (to be read)."
    example = "manage.py export_fixtures --study policies --set policies-2026-10 fixtures/"
    can_create = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the set and the folder."""
        super().add_arguments(parser)
        parser.add_argument("--set", required=True, metavar="NAME", dest="fixture_set", help="the fixture set's name")
        parser.add_argument("path", type=Path, metavar="PATH", help="a new folder")

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Write the files, and say what the published layout leaves out."""
        exported = export_fixtures(by, set_called(study, options["fixture_set"]), options["path"])
        self.stderr.write(f"not in published/ (all of it is in canonical/): {', '.join(exported.not_carried)}")
        self.stdout.write(self.style.SUCCESS(f"{exported.fixtures} fixtures in {exported.path}"))

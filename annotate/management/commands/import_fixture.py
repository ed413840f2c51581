"""`manage.py import_fixture`: one fixture in its published layout."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotate.management.commands.import_questions import read_file
from annotate.management.study_command import StudyCommand, parse_day
from annotate.models import Study
from annotate.permissions import By
from annotate.services.import_fixture import import_fixture


class Command(StudyCommand):
    """Import a published JSON fixture: source, question and settled content."""

    help = "Import a published JSON fixture: its source version, question and settled content."
    example = "manage.py import_fixture temporary-retention-v1.json --study policies --observed 2026-10-21"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the path and the date the fixture itself does not hold."""
        parser.add_argument("path", type=Path, help="the fixture's JSON file")
        super().add_arguments(parser)
        parser.add_argument(
            "--observed", metavar="DATE", help="observation and as-of date, which a fixture lacks (default: today)"
        )

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Import and print the fixture's id and digest."""
        observed = parse_day(options["observed"]) if options["observed"] else datetime.date.today()
        imported = import_fixture(by, study, read_file(options["path"]), observed=observed, where=options["path"].name)
        word = "imported" if imported.created else "unchanged"
        self.stdout.write(
            self.style.SUCCESS(f"{word}: {imported.fixture_id}, content {imported.result.digest}, study {study.slug}")
        )

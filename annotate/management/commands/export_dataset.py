"""`manage.py export_dataset`: a study's sources, questions and settled marks as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotate.domain.errors import BadInput
from annotate.management.study_command import StudyCommand
from annotate.models import Study
from annotate.permissions import By
from annotate.services.export_dataset import export_dataset


class Command(StudyCommand):
    """Export a study's sources, questions and settled marks."""

    help = "Export a study's sources, questions and settled marks as one JSON file (offsets in UTF-8 bytes)."
    example = "manage.py export_dataset --study policies --output policies.json"
    can_create = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Add where to write, and whether with the sources' text."""
        super().add_arguments(parser)
        parser.add_argument("--output", type=Path, metavar="FILE", help="write there (default: standard output)")
        parser.add_argument("--without-text", action="store_true", help="leave the sources' text out")

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Say what the file will not hold, then write it."""
        exported = export_dataset(by, study, with_text=not options["without_text"])
        self.stderr.write(f"not in this export: {', '.join(exported['left_out'])}")
        data = json.dumps(exported, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        if options["output"] is None:
            self.stdout.write(data, ending="")
            return
        try:
            options["output"].write_bytes(data.encode())
        except OSError as error:
            raise BadInput(
                str(options["output"]), error.strerror or "it cannot be written", "Name another file."
            ) from error
        self.stdout.write(
            self.style.SUCCESS(f"{len(exported['questions'])} questions, {len(exported['sources'])} source versions")
        )

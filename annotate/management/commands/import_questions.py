"""`manage.py import_questions`: a `questions.toml`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotate.domain.errors import BadInput
from annotate.management.study_command import StudyCommand
from annotate.models import Study
from annotate.permissions import By
from annotate.services.import_questions import import_questions


class Command(StudyCommand):
    """Write questions, all of them or none."""

    help = "Import questions from a questions.toml. A question is never changed once a pass on it was submitted."
    example = "manage.py import_questions questions.toml --study policies"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the path."""
        parser.add_argument("path", type=Path, help="a questions.toml")
        super().add_arguments(parser)

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Import and print how many questions were written."""
        outcomes = import_questions(by, study, read_file(options["path"]), options["path"].name)
        counts = Counter(item.outcome for item in outcomes)
        told = ", ".join(f"{counts[word]} {word}" for word in ("written", "rewritten", "unchanged"))
        self.stdout.write(self.style.SUCCESS(f"{told}, study {study.slug}"))


def read_file(path: Path) -> bytes:
    """Return a file's bytes; raises BadInput when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(str(path), error.strerror or "it cannot be read", "Check the path.") from error

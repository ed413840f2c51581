"""`manage.py freeze`: lock a study's settled questions as a fixture set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotate.domain.errors import BadInput
from annotate.domain.partition import APART
from annotate.domain.spans import decode_utf8_or_refuse
from annotate.management.commands.import_questions import read_file
from annotate.management.study_command import StudyCommand
from annotate.models import FixtureSet, Study
from annotate.permissions import By
from annotate.selectors.fixtures import survey
from annotate.selectors.freeze_preview import cluster_count, freeze_preview
from annotate.services.freeze_fixtures import freeze_fixtures


class Command(StudyCommand):
    """Freeze a fixture set."""

    help = "Lock a study's settled questions as a fixture set; everything that blocks it is listed first."
    example = "manage.py freeze --study policies --name policies-2026-10"
    can_create = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the set's name and which questions go in."""
        super().add_arguments(parser)
        parser.add_argument("--name", required=True, metavar="NAME", help="the set's name, used once per study")
        parser.add_argument(
            "--questions", type=Path, metavar="FILE", help="question keys, one a line (default: all of the study)"
        )
        parser.add_argument("--successor-of", metavar="NAME", help="the set this one replaces")
        parser.add_argument(
            "--apart",
            action="append",
            choices=APART,
            default=[],
            help="keep every document, or template, on one side of the partition too; may be given twice",
        )
        parser.add_argument("--look", action="store_true", help="say what would be frozen and what blocks it, and stop")

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Freeze and print the set's digest."""
        keys = None
        if options["questions"] is not None:
            text = decode_utf8_or_refuse(read_file(options["questions"]), str(options["questions"]))
            keys = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        predecessor = set_called(study, options["successor_of"]) if options["successor_of"] else None
        if options["look"]:
            self._look(by, study, keys, options["apart"])
            return
        frozen = freeze_fixtures(by, study, options["name"], keys, successor_of=predecessor, apart=options["apart"])
        self.stdout.write(
            self.style.SUCCESS(f"frozen: {frozen.name}, {frozen.fixtures.count()} fixtures, digest {frozen.digest}")
        )

    def _look(self, by: By, study: Study, keys: list[str] | None, apart: list[str]) -> None:
        """Print what the page shows before a freeze."""
        found = survey(by, study, keys, apart)
        for line in freeze_preview(found):
            self.stdout.write(f"{line.partition}, {line.segment}, {line.sample}: {line.questions} questions")
        self.stdout.write(f"{cluster_count(found)} document clusters, {len(found.blocks)} blocks")
        for block in found.blocks:
            self.stdout.write(f"  {block}")


def set_called(study: Study, name: str) -> FixtureSet:
    """Return the study's fixture set of this name; BadInput lists those there are."""
    found = FixtureSet.objects.filter(study=study, name=name).first()
    if found is None:
        known = ", ".join(FixtureSet.objects.filter(study=study).values_list("name", flat=True)) or "none yet"
        raise BadInput(f"fixture set {name}", f"the study {study.slug} has none of this name", f"Known: {known}.")
    return found

"""What the commands on one study share: naming the study and who acts, and saying what is wrong with an exit code."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from rich.console import Console
from rich.progress import Progress

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import StudyKind
from annotate.models import Person, Study
from annotate.permissions import OPERATOR, By, NotAllowed
from annotate.services.studies import create_study

#: Exit codes: 2 for input that cannot be used, 3 for a person who may not.
BAD_INPUT, NOT_ALLOWED = 2, 3


class StudyCommand(BaseCommand):
    """A command on `--study`, run as the operator or as `--as` somebody; subclasses give `run` and `example`."""

    example = ""
    new_study_kind = StudyKind.FULL
    can_create = True

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Show the example under the options."""
        return super().create_parser(prog_name, subcommand, epilog=f"Example: {self.example}", **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--study`, `--create-study` and `--as`."""
        parser.add_argument("--study", required=True, metavar="SLUG", help="the study's short name")
        if self.can_create:
            parser.add_argument("--create-study", metavar="TITLE", help="create the study first, if there is none")
        parser.add_argument(
            "--as", dest="username", metavar="USER", help="act as this person, by their roles (default: the operator)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Find the study and the actor, run, and turn refusals into a message and an exit code."""
        try:
            by = self._actor(options["username"])
            # Nothing stays half-written: a study made for an import that is refused goes with it.
            with transaction.atomic():
                self.run(by, self._study(by, options), options)
        except BadInput as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from problem
        except NotAllowed as problem:
            raise CommandError(str(problem), returncode=NOT_ALLOWED) from problem

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Do the command's work."""
        raise NotImplementedError

    def _actor(self, username: str | None) -> By:
        if username is None:
            return OPERATOR
        person = Person.objects.filter(username=username).first()
        if person is None:
            raise BadInput(f"--as {username}", "there is no such person", "Check the user name.")
        return person

    def _study(self, by: By, options: dict[str, Any]) -> Study:
        slug = options["study"]
        study = Study.objects.filter(slug=slug).first()
        if study is not None:
            return study
        if options.get("create_study"):
            return create_study(by, slug, options["create_study"], kind=self.new_study_kind)
        known = ", ".join(Study.objects.values_list("slug", flat=True)[:10]) or "none yet"
        create = ' or create it with --create-study "TITLE"' if self.can_create else ""
        raise BadInput(f"--study {slug}", "there is no such study", f"Known: {known}. Name one of them{create}.")

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[int, int, str], None]]:
        """Yield a callback (done, of, what) that draws a bar on a terminal and is silent elsewhere."""
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task(title)
            yield lambda done, of, what: bar.update(task, completed=done, total=of, description=f"{title} {what}")


def parse_day(text: str) -> datetime.date:
    """Read a `YYYY-MM-DD` option; raises BadInput."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise BadInput(f"date {text}", "it is no date", "Write one such as 2026-10-21.") from error

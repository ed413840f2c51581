"""What the commands of this app share: examples in --help, and refusals as exit codes."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotate.domain.errors import BadInput
from annotate.permissions import NotAllowed
from evaluation.domain.plan_schema import PlanRefused
from evaluation.services.problems import Conflict

FAILED, USAGE, STANDS = 1, 2, 3


class ExampleCommand(BaseCommand):
    """A command whose `examples` stand in its --help as they are written."""

    examples = ""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        """Keep the examples' line breaks."""
        return super().create_parser(
            prog_name, subcommand, formatter_class=RawDescriptionHelpFormatter, epilog=self.examples, **kwargs
        )


@contextmanager
def refusals() -> Iterator[None]:
    """Turn refusals of services into one readable message: exit code 2 for input to mend, 1 for a state or a
    permission."""
    try:
        yield
    except PlanRefused as refused:
        lines = "\n".join(f"  {problem}" for problem in refused.problems)
        raise CommandError(f"The plan cannot be used:\n{lines}", returncode=USAGE) from refused
    except BadInput as bad:
        raise CommandError(str(bad), returncode=USAGE) from bad
    except (Conflict, NotAllowed) as refused:
        raise CommandError(str(refused), returncode=FAILED) from refused

"""The demo: from an empty machine to a swept study one can sign in to."""

from __future__ import annotations

import hashlib
import os
import socket
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from annotate.domain.vocabulary import Role
from annotate.models import Person, Study
from annotate.services.members import random_password
from evaluation.management.address import require_free
from evaluation.management.command import FAILED, ExampleCommand, refusals
from evaluation.management.progress import drain_with_progress, results_with_progress
from evaluation.management.tables import console_on, print_disposition, print_results
from evaluation.models import Plan, Sweep
from evaluation.services.count_reading import count_reading
from evaluation.services.decide_release import decide_release
from evaluation.services.load_demo import DemoStudy, load_demo
from evaluation.services.load_practice import load_practice
from evaluation.services.lock_plan import lock_plan
from evaluation.services.start_sweep import start_sweep
from evaluation.services.write_plan import write_plan

PLAN = Path(settings.BASE_DIR) / "evaluation" / "plans" / "demo.toml"
GENERATOR = 'generator = "extractive"'


class Command(ExampleCommand):
    """Loads, sweeps, shows and serves the demo study."""

    help = "Load the demo study, sweep it, print its results, and serve the site with fresh sign-ins."
    examples = """
Examples:
  manage.py demo                      everything, then the site at http://127.0.0.1:8000/
  manage.py demo --no-serve           stop after the tables
  manage.py demo --load-only          load and print the sign-ins; sweep nothing (where workers run elsewhere)
  manage.py demo --port 9000          another port
  manage.py demo --generator none     the same plan with another generator; locked later, so it is post hoc

Run again, it finds what is there: nothing is loaded or swept twice. The sign-ins are new each time; old ones end.
Exit code: 0; 1 when a cell failed for good; 2 when the port is taken or a file of the demo does not fit.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("--no-serve", action="store_true", help="stop after the tables and the sign-ins")
        parser.add_argument("--load-only", action="store_true", help="load the study, print the sign-ins and stop")
        parser.add_argument("--generator", metavar="NAME", help="a generator other than the plan's")
        parser.add_argument("--port", type=int, default=8000, help="port on this machine (default 8000)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the demo."""
        if not (options["no_serve"] or options["load_only"]):
            require_free("127.0.0.1", options["port"])
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        console = console_on(self.stdout)
        call_command("migrate", verbosity=0, interactive=False)
        with refusals():
            demo = _load(console)
            practice = load_practice(demo.people)
            if options["load_only"]:
                console.print(_sign_ins(demo, practice))
                return
            plan = _plan(demo, options["generator"])
            sweep = start_sweep(demo.people.lead, plan, idempotency_key=_key(plan))
        drain_with_progress(sweep, f"demo:{socket.gethostname()}:{os.getpid()}", console)
        if sweep.state != Sweep.State.SEALED:
            raise CommandError(f"Sweep {sweep.pk} was {sweep.state}: {sweep.problem}", returncode=FAILED)
        count_reading(demo.people.lead, sweep, "manage.py demo")
        print_results(console, results_with_progress(sweep, console))
        print_disposition(console, decide_release(sweep))
        console.print(f"Sealed root {sweep.root}")
        if sweep.problem:
            raise CommandError(sweep.problem, returncode=FAILED)
        console.print(_sign_ins(demo, practice))
        self.stdout.flush()
        if not options["no_serve"]:
            call_command("serve", port=options["port"], stdout=self.stdout, stderr=self.stderr)


def _load(console: Console) -> DemoStudy:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("Loading the demo study", total=None)
        return load_demo(lambda done, of, what: progress.update(task, completed=done, total=of, description=what))


def _plan(demo: DemoStudy, generator: str | None) -> Plan:
    """Return the locked plan of the demo, locked by its lead now unless it is there."""
    toml = PLAN.read_text(encoding="utf-8")
    if generator:
        toml = toml.replace(GENERATOR, f'generator = "{generator}"')
    lead = demo.people.lead
    written = write_plan(lead, fixture_set=demo.fixture_set, toml=toml)
    there = Plan.objects.filter(fixture_set=demo.fixture_set, digest=written.digest).exclude(locked_at=None).first()
    return there or lock_plan(lead, written)


def _key(plan: Plan) -> str:
    return hashlib.sha256(f"demo/{plan.pk}/{plan.digest}".encode()).hexdigest()


def _sign_ins(demo: DemoStudy, practice: Study) -> Table:
    """Give every person of the demo a fresh password (which ends their sessions) and return the table of them."""
    table = Table(title="Sign-ins, made new just now", title_justify="left", caption_justify="left")
    table.caption = f"Work is left to try in “{practice.title}”: tasks for both annotators, items for the adjudicator."
    for name in ("role", "user name", "password"):
        table.add_column(name, no_wrap=True)
    people: list[tuple[Role, Person]] = [(Role.ANNOTATOR, person) for person in demo.people.annotators]
    people += [(Role.ADJUDICATOR, demo.people.adjudicator), (Role.LEAD, demo.people.lead)]
    people += [(Role.OBSERVER, demo.people.observer)]
    for role, person in people:
        password = random_password()
        person.set_password(password)
        person.save(update_fields=["password"])
        table.add_row(str(role), person.username, password)
    return table

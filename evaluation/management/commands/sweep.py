"""From a plan file to sealed results in one command."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from rich.console import Console

from annotate.models import FixtureSet, Study
from annotate.permissions import OPERATOR
from evaluation.domain.plan_toml import parse_plan
from evaluation.domain.sweep_limits import NAMES, read_limits
from evaluation.management.command import FAILED, STANDS, USAGE, ExampleCommand, refusals
from evaluation.management.commands.results import write_json
from evaluation.management.progress import drain_with_progress, results_with_progress
from evaluation.management.replayed import print_replayed, replayed_data, summary
from evaluation.management.tables import console_on, print_disposition, print_estimate, print_results
from evaluation.models import Plan, Sweep
from evaluation.services.count_reading import count_reading
from evaluation.services.decide_release import decide_release
from evaluation.services.estimate_plan import estimate_text
from evaluation.services.limit_sweep import resume_sweep
from evaluation.services.lock_plan import lock_plan
from evaluation.services.operations import results_document
from evaluation.services.plugins import installed_plugins
from evaluation.services.replay_pack import replay_pack
from evaluation.services.start_sweep import start_sweep
from evaluation.services.write_plan import plan_digest, write_plan


class Command(ExampleCommand):
    """Writes and locks a plan, starts its sweep, and with --wait computes it here."""

    help = "Lock a plan and sweep it; with --wait compute its cells in this process (beside any other worker)."
    examples = """
Examples:
  manage.py sweep plan.toml --study demo                         lock, start, leave the work to the workers
  manage.py sweep plan.toml --study demo --wait --json out.json  compute here and write the results
  manage.py sweep plan.toml --study demo --fixture-set v2        another fixture set than the study's newest
  manage.py sweep plan.toml --study demo --estimate --price-input 0.15 --price-output 0.60
                                                                 how much it will be; nothing is locked or started
  manage.py sweep plan.toml --study demo --wait --max-cells 200 --max-minutes 30
                                                                 stop at a cap
  manage.py sweep plan.toml --study demo --resume --max-cells none --wait
                                                                 raise the cap and go on
  manage.py sweep --pack regressions                             replay regression fixtures (export_pack); no database
  manage.py sweep plan.toml --pack regressions --json out.json   the same with the arms of another plan

The same plan on the same fixture set is locked and swept once: the command run again goes on with that sweep. Use
--again for another sweep of the same plan. It takes the deterministic cells that an earlier sweep of the plan computed
with the same pins, and says "reused" in its operations; --again --recompute computes them all, which is how to see that
a second run comes to the same root.
Ctrl-C or SIGTERM during --wait lets the cell in work finish; what is done stays.
Caps count cells begun, minutes of work summed over all workers, and money by your prices (per million tokens).
Cells in work are finished; what is done is kept.
A replayed fixture regresses where support was complete after a stage and is not any more; with a plan, where its arms
lose what the fixture's baseline had in the prompt.

Exit code: 0; 1 when a fixture regressed, a cell failed for good or the sweep was cancelled; 2 for a plan or an argument
to mend; 3 when it was capped or paused; 130 or 143 when it was stopped.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("plan", metavar="PLAN.toml", nargs="?", help="the plan (may be left out with --pack)")
        parser.add_argument(
            "--pack", metavar="PATH", help="replay the regression fixture or the folder of them at PATH"
        )
        parser.add_argument("--study", help="short name of the study (not needed when there is one only)")
        parser.add_argument("--fixture-set", help="name of the fixture set (default: the study's newest)")
        parser.add_argument("--wait", action="store_true", help="compute cells here until the sweep is sealed")
        parser.add_argument(
            "--json",
            metavar="PATH",
            help="with --wait: write the results, with --estimate: the estimate, to PATH (“-”: standard output)",
        )
        parser.add_argument(
            "--estimate", action="store_true", help="say how much it will be, from a few cells run now; start nothing"
        )
        parser.add_argument(
            "--resume", action="store_true", help="let a capped or paused sweep of this plan go on with these caps"
        )
        for name, what in NAMES.items():
            kind = "cap on" if name.startswith("max_") else "for estimates and --max-cost:"
            parser.add_argument(f"--{name.replace('_', '-')}", metavar="N", default="", help=f"{kind} {what}")
        parser.add_argument(
            "--again",
            action="store_true",
            help="start another sweep of a plan that was swept before; with --estimate: measure anew",
        )
        parser.add_argument(
            "--recompute",
            action="store_true",
            help="with --again: compute every cell, take none from an earlier sweep of the plan",
        )
        parser.add_argument("--seed", type=_seed, metavar="N", help="order of the cells (default: drawn and recorded)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Lock, start, wait, show."""
        if options["pack"]:
            self._replay(options)
            return
        if options["plan"] is None:
            raise CommandError("Name a PLAN.toml, or a --pack to replay.", returncode=USAGE)
        if options["json"] and not (options["wait"] or options["estimate"]):
            raise CommandError("--json needs --wait: without it nothing is computed yet.", returncode=USAGE)
        if options["estimate"] and (options["wait"] or options["resume"]):
            raise CommandError("--estimate starts nothing: drop --wait and --resume.", returncode=USAGE)
        if options["resume"] and options["again"]:
            raise CommandError("--resume goes on with a sweep, --again starts another: choose one.", returncode=USAGE)
        if options["recompute"] and not options["again"]:
            raise CommandError(
                "--recompute needs --again: without it the command goes on with the sweep there is.", returncode=USAGE
            )
        toml = _text(options["plan"])
        fixture_set = find_fixture_set(find_study(options["study"]), options["fixture_set"])
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        if options["estimate"]:
            self._estimate(fixture_set, toml, options)
            return
        with refusals():
            plan, sweep = (
                _resumed(fixture_set, toml, options) if options["resume"] else _started(fixture_set, toml, options)
            )
        said = self.stderr if options["json"] == "-" else self.stdout
        said.write(
            f"sweep {sweep.pk} of plan “{plan.name}” ({plan.digest[:12]}): {sweep.cells.count()} cells"
            + (", post hoc: it cannot accept" if plan.post_hoc else "")
        )
        if options["wait"]:
            self._wait(sweep, options["json"], console_on(said))

    def _replay(self, options: dict[str, Any]) -> None:
        """Replay a pack; nothing is read from or written to the database."""
        beside = [name for name in ("wait", "estimate", "resume", "again", "study", "fixture_set") if options[name]]
        if beside:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in beside)
            raise CommandError(f"--pack replays fixtures and starts no sweep: drop {names}.", returncode=USAGE)
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        said = self.stderr if options["json"] == "-" else self.stdout
        replayed = []
        with refusals():
            toml = _text(options["plan"]) if options["plan"] else ""
            plan = parse_plan(toml, installed_plugins().known_names()) if options["plan"] else None
            for one in replay_pack(Path(options["pack"]), plan):
                replayed.append(one)
                print_replayed(said, one)
        regressed = [one.question for one in replayed if not one.holds]
        if options["json"]:
            write_json(replayed_data(replayed), options["json"], self.stdout)
        said.write(summary(replayed))
        if regressed:
            raise CommandError(f"Regressed: {', '.join(regressed)}.", returncode=FAILED)

    def _estimate(self, fixture_set: FixtureSet, toml: str, options: dict[str, Any]) -> None:
        with refusals():
            prices = read_limits(options).prices
            found = estimate_text(OPERATOR, fixture_set, toml, prices, again=options["again"])
        if options["json"]:
            write_json(found.data(), options["json"], self.stdout)
        if options["json"] != "-":
            print_estimate(console_on(self.stdout), found)

    def _wait(self, sweep: Sweep, json_path: str | None, console: Console) -> None:
        drain_with_progress(sweep, f"sweep:{socket.gethostname()}:{os.getpid()}", console)
        if sweep.state in Sweep.STANDING_STATES:
            raise CommandError(
                f"Sweep {sweep.pk} stands still. {sweep.problem} Go on with --resume, past a cap with a higher one.",
                returncode=STANDS,
            )
        if sweep.state != Sweep.State.SEALED:
            raise CommandError(f"Sweep {sweep.pk} was {sweep.state}: {sweep.problem}", returncode=FAILED)
        results = results_with_progress(sweep, console)
        count_reading(OPERATOR, sweep, "manage.py sweep")
        if json_path:
            write_json(results_document(sweep, results), json_path, self.stdout)
        print_results(console, results)
        print_disposition(console, decide_release(sweep))
        console.print(f"Sealed root {sweep.root}")
        if sweep.problem:
            raise CommandError(sweep.problem, returncode=FAILED)


def _started(fixture_set: FixtureSet, toml: str, options: dict[str, Any]) -> tuple[Plan, Sweep]:
    limits = read_limits(options)
    plan = locked_plan(fixture_set, toml)
    key = _key(plan, again=options["again"])
    return plan, start_sweep(
        OPERATOR,
        plan,
        idempotency_key=key,
        seed=options["seed"],
        limits=limits,
        recompute=options["recompute"],
    )


def _resumed(fixture_set: FixtureSet, toml: str, options: dict[str, Any]) -> tuple[Plan, Sweep]:
    """Find the newest sweep of this plan that is not over, and give it the caps; raises CommandError for none."""
    value = parse_plan(toml, installed_plugins().known_names())
    sweep = (
        Sweep.objects.select_related("plan__study", "plan__fixture_set")
        .filter(plan__fixture_set=fixture_set, plan__digest=plan_digest(value), state__in=Sweep.OPEN_STATES)
        .order_by("-pk")
        .first()
    )
    if sweep is None:
        raise CommandError("There is no capped or paused sweep of this plan to go on with.", returncode=USAGE)
    return sweep.plan, resume_sweep(OPERATOR, sweep, options)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}.", returncode=USAGE) from error


def _seed(text: str) -> int:
    """Read a seed as the database and the API hold it."""
    if not text.isdecimal() or not text.isascii() or len(text) > 19 or int(text) >= 2**63:
        raise ArgumentTypeError(f"{text[:40]!r} is no whole number from 0 to 2^63 - 1")
    return int(text)


def locked_plan(fixture_set: FixtureSet, toml: str) -> Plan:
    """Return the locked plan of this text on this fixture set, written and locked now unless it is there."""
    with transaction.atomic():
        return _locked(fixture_set, toml)


def _locked(fixture_set: FixtureSet, toml: str) -> Plan:
    written = write_plan(OPERATOR, fixture_set=fixture_set, toml=toml)
    there = Plan.objects.filter(fixture_set=fixture_set, digest=written.digest).exclude(locked_at=None).first()
    return there or lock_plan(OPERATOR, written)


def find_study(slug: str | None) -> Study:
    """Return the study; raises CommandError naming those there are."""
    studies = list(Study.objects.order_by("slug"))
    if slug is None and len(studies) == 1:
        return studies[0]
    for study in studies:
        if study.slug == slug:
            return study
    names = ", ".join(study.slug for study in studies) or "none yet"
    what = f"There is no study {slug!r}." if slug else "Name the study with --study."
    raise CommandError(f"{what} Studies: {names}.", returncode=USAGE)


def find_fixture_set(study: Study, name: str | None) -> FixtureSet:
    """Return the named fixture set of the study, or its newest; raises CommandError naming those there are."""
    sets = study.fixture_sets.order_by("-pk")
    found = sets.filter(name=name).first() if name else sets.first()
    if found is None:
        names = ", ".join(sets.values_list("name", flat=True)) or "none yet: run manage.py freeze"
        what = f"The study {study.slug} has no fixture set {name!r}." if name else "There is nothing to sweep."
        raise CommandError(f"{what} Fixture sets: {names}.", returncode=USAGE)
    return found


def _key(plan: Plan, *, again: bool) -> str:
    """Return the idempotency key: one per locked plan, so that the command run twice is one sweep."""
    suffix = f"/{time.time_ns()}" if again else ""
    return hashlib.sha256(f"command/{plan.pk}/{plan.digest}{suffix}".encode()).hexdigest()

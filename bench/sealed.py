"""A whole sweep through the real services on an embedded SQLite database, in a process of its own.

Imports and freezes the data set (not timed: it happens once per study), then times starting the sweep, computing every
cell and sealing it, then the same plan again: the same sweep, another one that may take the first one's cells, and one
that recomputes them. Prints one JSON object. Run by `bench/sweep.py`.

    python bench/sealed.py JOB.json
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

PLAN = Path(__file__).resolve().parent.parent / "evaluation" / "plans" / "chunking-evaluation.toml"


def plan_of(job: dict[str, Any]) -> str:
    """The shipped plan of this data set with the job's phases, ceilings and arms."""
    plan = PLAN.read_text()
    plan = plan.replace("evidence_tokens = [400, 800]", f"evidence_tokens = {job['ceilings']}")
    plan = plan.replace("grid = 16", job["phases"]).replace("held_out_openings = 1", "held_out_openings = 9")
    if job["one_arm"]:
        # A plan compares two arms, so the one arm stands there twice, with and without its contained tails.
        first, second = "capacity = 256\noverlap = 0\n", 'factor = "overlap"'
        plan = plan.replace(first, "capacity = 256\noverlap = 64\n").replace(second, 'factor = "tails"\ntails = "drop"')
    return plan


@contextmanager
def timed(spent: dict[str, list[float]], name: str) -> Iterator[None]:
    """Add the seconds of a block: on the clock, and of this process's processors."""
    began, worked = time.perf_counter(), time.process_time()
    yield
    spent[name] = [time.perf_counter() - began, time.process_time() - worked]


def main(arguments: list[str]) -> int:
    """Do the job of a file in a throw-away folder."""
    job = json.loads(Path(arguments[0]).read_text())
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        os.environ |= {
            "CUTLINE_VAR": folder,
            "CUTLINE_SECRET_KEY": "only-for-benches-" + "x" * 40,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "TOKENIZERS_PARALLELISM": "false",
        }
        os.environ.pop("DATABASE_URL", None)
        print(json.dumps(run(job, Path(folder))))
    return 0


def run(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Import, freeze, sweep, sweep again."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db.models.functions import Length

    from evaluation.models import Sweep
    from ledger.models import Result

    with open(os.devnull, "w") as nowhere:
        call_command("migrate", verbosity=0, stdout=nowhere)
        study = ("--study", "bench", "--create-study", "Bench")
        call_command("import_dataset", job["data"], "--format", "chunking-evaluation", *study, stdout=nowhere)
        call_command("freeze", "--study", "bench", "--name", "v1", stdout=nowhere)
    plan = folder / "plan.toml"
    plan.write_text(plan_of(job))
    before = size_of_database()
    spent: dict[str, list[float]] = {}
    with timed(spent, "first"):
        sealed(plan, "one")
    after = size_of_database()
    payloads = sum(Result.objects.annotate(size=Length("payload")).values_list("size", flat=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if job["again"]:
        with timed(spent, "same_again"):
            sealed(plan, "one")
        with timed(spent, "another_sweep"):
            sealed(plan, "two")
        with timed(spent, "recomputed"):
            sealed(plan, "three", recompute=True)
    first, *others = Sweep.objects.order_by("pk")
    return {
        "spent": spent,
        "cells": first.cells.count(),
        "roots_equal": all(one.root == first.root for one in others),
        "payload_bytes": payloads,
        "bytes_grown": after - before,
        "peak_megabytes": peak,
    }


def size_of_database() -> int:
    """Bytes of the database's file, free pages and journal written back."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("VACUUM")
    return Path(str(connection.settings_dict["NAME"])).stat().st_size


def sealed(plan: Path, key: str, *, recompute: bool = False) -> None:
    """Lock, start and compute until the sweep is sealed, as `manage.py sweep --wait` does, without the report."""
    from annotate.models import FixtureSet
    from annotate.permissions import OPERATOR
    from evaluation.management.commands.sweep import locked_plan
    from evaluation.models import Sweep
    from evaluation.services.start_sweep import start_sweep
    from evaluation.services.work import drain

    locked = locked_plan(FixtureSet.objects.get(), plan.read_text())
    sweep = start_sweep(OPERATOR, locked, idempotency_key=key, seed=1, recompute=recompute)
    drain("bench", sweep_id=sweep.pk)
    sweep.refresh_from_db()
    if sweep.state != Sweep.State.SEALED:
        raise RuntimeError(f"the sweep is {sweep.state}: {sweep.problem}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

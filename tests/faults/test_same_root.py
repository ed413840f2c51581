"""One plan, one root: this database and a fresh embedded installation beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.services.work import drain
from tests.evaluation.sweeps import started
from tests.faults.processes import ROOT

CHILD = """
import django; django.setup()
from django.core.management import call_command
from tests.evaluation.sweeps import started
from evaluation.services.work import drain
call_command("migrate", verbosity=0)
sweep = started(seed=1, block_size=2)
drain("elsewhere", sweep_id=sweep.pk)
sweep.refresh_from_db()
print(sweep.root)
"""


@pytest.mark.django_db
def test_embedded_installation_comes_to_the_same_root(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings", "CUTLINE_VAR": str(tmp_path)}
    child = subprocess.run(
        [sys.executable, "-c", CHILD], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    sweep = started(seed=2, block_size=2)
    drain("here")
    sweep.refresh_from_db()
    assert sweep.root == child.stdout.strip() != ""

"""Every way into the program has one thread of linear algebra, and says so before NumPy is there to read it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

CHILD = """
import os, sys
told = []

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy" and not told:
            told.append([os.environ.get(one) for one in {names!r}])

sys.meta_path.insert(0, Watch())
{entry}
import numpy
numpy.ones((600, 600)) @ numpy.ones((600, 600))
print(*told[0])
print(len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 1)
"""

ENTRIES = {
    "gunicorn": "import config.wsgi",
    "celery": "import config.celery, django; django.setup()",
    "manage.py": "import django; django.setup(); import evaluation.services.work, evaluation.domain.retrieval.latent",
}


def child(tmp_path: Path, entry: str, **more: str) -> list[str]:
    """Return what a process that comes in by `entry` prints: the variables NumPy found, and how many threads it has."""
    environment = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", *NAMES}}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings", "CUTLINE_VAR": str(tmp_path), **more}
    code = CHILD.format(names=NAMES, entry=entry)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_computes_on_one_thread(tmp_path: Path, entry: str) -> None:
    assert child(tmp_path, ENTRIES[entry]) == ["1 1 1", "1"]


def test_who_sets_another_number_gets_it(tmp_path: Path) -> None:
    assert child(tmp_path, ENTRIES["manage.py"], OPENBLAS_NUM_THREADS="2")[0] == "1 2 1"

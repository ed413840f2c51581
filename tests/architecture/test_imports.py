"""The rooms of the house: who may import whom, and what a module may be called."""

import subprocess
import sys
from pathlib import Path

from tests.architecture.tree import APPS, ROOT, python_files, read

NAMES_THAT_SAY_NOTHING = {"utils.py", "util.py", "helpers.py", "helper.py", "misc.py", "common.py"}
LONGEST_MODULE = 400


def test_import_contracts_hold() -> None:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_modules_are_named_by_what_they_are() -> None:
    assert [str(path) for path in python_files(*APPS, "tests", "bench") if path.name in NAMES_THAT_SAY_NOTHING] == []


def test_modules_stay_readable_in_one_go() -> None:
    lengths = {str(path): read(path).count("\n") for path in python_files(*APPS)}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE} == {}

"""The project's own files, as these tests read them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ("annotate", "config", "evaluation", "ledger")


@cache
def tracked() -> tuple[Path, ...]:
    """Return every tracked file and every new one that is not ignored, relative to the root.

    Raises RuntimeError outside a git checkout: a test that sees no file would pass for nothing.
    """
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, check=False)
    names = [name for name in done.stdout.decode().split("\0") if name]
    if done.returncode or not names:
        raise RuntimeError(f"git ls-files found nothing in {ROOT}: {done.stderr.decode()}")
    return tuple(Path(name) for name in names if (ROOT / name).is_file())


def python_files(*folders: str) -> list[Path]:
    """Return the Python files under `folders`, migrations left out, relative to the root."""
    return [
        path
        for path in tracked()
        if path.suffix == ".py" and path.parts[0] in folders and "migrations" not in path.parts
    ]


def read(path: Path) -> str:
    """Return the text of a file given relative to the root."""
    return (ROOT / path).read_text(encoding="utf-8")

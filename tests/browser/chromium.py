"""Which Chromium the browser tests drive, and the flags it needs in a container."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_APPLICATION = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
_INSTALL_SECONDS = 600


def executable(playwrights_own: str) -> str:
    """Return the path of a Chromium that starts: the system's, Playwright's (`playwrights_own`), or one installed now.

    Raises RuntimeError with everything that was tried and what to do. Two workers looking at once take turns, so that
    an installation happens once.
    """
    with (Path(tempfile.gettempdir()) / "cutline-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tried: list[str] = []
        for install in (None, *_installations()):
            if install is not None:
                tried.append(_run(install))
            for candidate in (*filter(None, map(shutil.which, NAMES)), str(_APPLICATION), playwrights_own):
                if Path(candidate).exists() and (problem := _run([candidate, "--version", "--no-sandbox"])):
                    tried.append(problem)
                elif Path(candidate).exists():
                    return candidate
    raise RuntimeError(
        "No Chromium for the browser tests. Install one ('apt-get install chromium', or 'playwright install chromium') "
        "and run again. Tried:\n" + "\n".join(filter(None, tried))
    )


def _installations() -> list[list[str]]:
    """Return the commands worth trying: the system's packages as root, then Playwright's own download."""
    commands = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        commands.insert(0, ["sh", "-c", "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium"])
    return commands


def _run(command: list[str]) -> str:
    """Run `command`; return an empty string when it succeeded, else its name and the end of what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{' '.join(command)}: {error}"
    return "" if done.returncode == 0 else f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-800:]}"

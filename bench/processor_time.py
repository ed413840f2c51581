"""Processor time of process trees, from /proc: what a request cost, whatever else the machine was doing. Linux only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/stat after the command: parent, and user and system time of itself and of its reaped children.
_PARENT, _TIMES = 1, slice(11, 15)


def _processes() -> dict[int, tuple[int, int]]:
    """Return process → (its parent, its ticks with those of reaped children)."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended while we looked
            found[int(folder.name)] = (int(fields[_PARENT]), sum(map(int, fields[_TIMES])))
    return found


def processor_seconds(roots: Mapping[str, int]) -> dict[str, float]:
    """Return user and system seconds of each root process and everything below it, children that ended included."""
    processes = _processes()

    def top(pid: int) -> str | None:
        while pid:
            for name, root in roots.items():
                if pid == root:
                    return name
            pid = processes.get(pid, (0, 0))[0]
        return None

    seconds = dict.fromkeys(roots, 0.0)
    for pid, (_, ticks) in processes.items():
        name = top(pid)
        if name is not None:
            seconds[name] += ticks / _TICK
    return seconds

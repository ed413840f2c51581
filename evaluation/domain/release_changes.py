"""What changed between two releases: settings of their plans, arms and gates by name, and the readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evaluation.domain.decision import Decision, VetoReading
from evaluation.domain.gates import GateReading

ABSENT = ""
"""What stands for a setting that one of the two plans does not have."""


@dataclass(frozen=True)
class Setting:
    """A setting that differs: its path (`arms.wide.capacity`), and its value before and after, as text."""

    path: str
    before: str
    after: str


@dataclass(frozen=True)
class ReadingPair:
    """A gate by name, as each release read it; None where a release has no such gate."""

    gate: str
    before: GateReading | None
    after: GateReading | None

    @property
    def turned(self) -> bool:
        """Whether the reading is another one, or stands in one release only."""
        return (self.before and self.before.reading) != (self.after and self.after.reading)


@dataclass(frozen=True)
class VetoPair:
    """A veto by name, as each release read it."""

    veto: str
    before: VetoReading | None
    after: VetoReading | None


def setting_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Setting]:
    """Return the settings in which two plan payloads differ, in the order of their paths.

    Arms and gates are compared by name, whatever their order; a setting one plan does not have is `ABSENT`.
    """
    old, new = dict(_flat("", before)), dict(_flat("", after))
    paths = [path for path in [*old, *(path for path in new if path not in old)] if old.get(path) != new.get(path)]
    return [Setting(path, old.get(path, ABSENT), new.get(path, ABSENT)) for path in paths]


def reading_pairs(before: Decision, after: Decision) -> list[ReadingPair]:
    """Return every gate of either release, those of the first in its order, then new ones."""
    old, new = ({one.gate: one for one in decision.readings} for decision in (before, after))
    names = [*old, *(name for name in new if name not in old)]
    return [ReadingPair(name, old.get(name), new.get(name)) for name in names]


def veto_pairs(before: Decision, after: Decision) -> list[VetoPair]:
    """Return every veto of either release."""
    old, new = ({one.veto: one for one in decision.vetoes} for decision in (before, after))
    names = [*old, *(name for name in new if name not in old)]
    return [VetoPair(name, old.get(name), new.get(name)) for name in names]


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _flat(f"{path}.{name}" if path else name, member)
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) and "name" in one for one in value):
        for one in value:
            yield from _flat(f"{path}.{one['name']}", {key: member for key, member in one.items() if key != "name"})
    elif value is not None and value != []:
        yield path, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_text(one) for one in value)
    return repr(value) if isinstance(value, str) and (not value or value != value.strip()) else str(value)

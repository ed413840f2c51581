"""Whether a source version still says what a question may rely on, as of the question's date."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class VersionDates:
    """When a version holds: `effective_to` is the first day it no longer does; `supersedes` is the key of another."""

    key: int
    title: str
    observation_date: date
    effective_from: date | None
    effective_to: date | None
    supersedes: int | None

    def in_force(self, as_of: date) -> bool:
        """Whether the version is effective on `as_of`."""
        return (self.effective_from is None or self.effective_from <= as_of) and (
            self.effective_to is None or as_of < self.effective_to
        )

    def begins(self) -> date:
        """Return the day from which it replaces what it supersedes: effective, or else observed."""
        return self.effective_from or self.observation_date


def stale_reason(key: int, versions: Iterable[VersionDates], as_of: date) -> str:
    """Return why marks on the version `key` are stale on `as_of`, or an empty string.

    They are where the version is not in force that day, or where one that supersedes it (directly or by way of others)
    has begun by then and is in force. Raises KeyError for an unknown version.
    """
    by_key = {version.key: version for version in versions}
    version = by_key[key]
    if not version.in_force(as_of):
        return f"“{version.title}” is not in force on {as_of.isoformat()}"
    for other in sorted(by_key.values(), key=lambda other: (other.begins(), other.key)):
        if other.begins() <= as_of and other.in_force(as_of) and _replaces(other, key, by_key):
            return f"“{version.title}” is superseded by “{other.title}” on {as_of.isoformat()}"
    return ""


def _replaces(version: VersionDates, key: int, by_key: dict[int, VersionDates]) -> bool:
    seen: set[int] = set()
    older = version.supersedes
    while older is not None and older not in seen:
        if older == key:
            return True
        seen.add(older)
        older = by_key[older].supersedes if older in by_key else None
    return False

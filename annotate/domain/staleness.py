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
    versions = tuple(versions)
    version = {other.key: other for other in versions}[key]
    if not version.in_force(as_of):
        return f"“{version.title}” is not in force on {as_of.isoformat()}"
    other = next(iter(replacements(key, versions, as_of)), None)
    return f"“{version.title}” is superseded by “{other.title}” on {as_of.isoformat()}" if other else ""


def replacements(key: int, versions: Iterable[VersionDates], as_of: date) -> tuple[VersionDates, ...]:
    """Return the successors of the version `key` that have begun by `as_of` and are in force then, in that order."""
    return tuple(other for other in successors(key, versions) if other.begins() <= as_of and other.in_force(as_of))


def successors(key: int, versions: Iterable[VersionDates]) -> tuple[VersionDates, ...]:
    """Return the versions that supersede `key`, directly or by way of others, in the order they begin."""
    newer: dict[int, list[VersionDates]] = {}
    for version in versions:
        if version.supersedes is not None:
            newer.setdefault(version.supersedes, []).append(version)
    found: dict[int, VersionDates] = {}
    waiting = [key]
    while waiting:
        for version in newer.get(waiting.pop(), ()):
            if version.key != key and version.key not in found:
                found[version.key] = version
                waiting.append(version.key)
    return tuple(sorted(found.values(), key=lambda version: (version.begins(), version.key)))

"""Whether a source version still says what a question may rely on, as of the question's date."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class VersionDates:
    """When a version holds. `effective_to` is the first day it no longer does; `supersedes` is a SHA-256 or None."""

    sha256: str
    title: str
    observation_date: date
    effective_from: date | None
    effective_to: date | None
    supersedes: str | None

    def in_force(self, as_of: date) -> bool:
        """Whether the version is effective on `as_of`."""
        return (self.effective_from is None or self.effective_from <= as_of) and (
            self.effective_to is None or as_of < self.effective_to
        )

    def begins(self) -> date:
        """Return the day from which it replaces what it supersedes: effective, or else observed."""
        return self.effective_from or self.observation_date


def stale_reason(sha256: str, versions: Iterable[VersionDates], as_of: date) -> str:
    """Return why marks on the version `sha256` are stale on `as_of`, or an empty string.

    They are where the version is not in force that day, or where one that supersedes it (directly or by way of others)
    has begun by then and is in force. Raises KeyError for an unknown version.
    """
    by_digest = {version.sha256: version for version in versions}
    version = by_digest[sha256]
    if not version.in_force(as_of):
        return f"“{version.title}” is not in force on {as_of.isoformat()}"
    for other in sorted(by_digest.values(), key=lambda other: (other.begins(), other.sha256)):
        if other.begins() <= as_of and other.in_force(as_of) and _replaces(other, sha256, by_digest):
            return f"“{version.title}” is superseded by “{other.title}” on {as_of.isoformat()}"
    return ""


def _replaces(version: VersionDates, sha256: str, by_digest: dict[str, VersionDates]) -> bool:
    seen: set[str] = set()
    older = version.supersedes
    while older is not None and older not in seen:
        if older == sha256:
            return True
        seen.add(older)
        older = by_digest[older].supersedes if older in by_digest else None
    return False

"""The frozen world a sweep runs in: documents as bytes and questions with their adjudicated support.

Everything here is a value built once from a locked fixture set; no row, no clock, no network.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from annotate.domain.vocabulary import DependencyType, MissingBehaviour, Partition, Sample, Segment


@dataclass(frozen=True)
class RestrictedRange:
    """Bytes `[start, end)` that a reader may see only with every one of `labels`."""

    start: int
    end: int
    labels: frozenset[str]


@dataclass(frozen=True)
class Document:
    """One immutable source version. `digest` is the hex SHA-256 of `content` (UTF-8 bytes, never normalised)."""

    document_id: str
    version_label: str
    digest: str
    content: bytes
    observation_date: date
    effective_from: date | None = None
    effective_to: date | None = None
    media_type: str = "text/plain"
    locale: str = "en"
    tenant: str = ""
    supersedes: str | None = None
    access_labels: frozenset[str] = frozenset()
    access_ranges: tuple[RestrictedRange, ...] = ()

    def in_force(self, as_of: date) -> bool:
        """Whether this version is effective on `as_of`; `effective_to` is the first day it no longer is."""
        return (self.effective_from is None or self.effective_from <= as_of) and (
            self.effective_to is None or as_of < self.effective_to
        )


@dataclass(frozen=True, order=True)
class Interval:
    """Bytes `[start, end)` of the version with this digest."""

    version: str
    start: int
    end: int


@dataclass(frozen=True)
class SupportSpan:
    """An adjudicated span inside a support set; `necessary` is False for one the adjudicator called merely topical."""

    name: str
    interval: Interval
    label: str = "evidence"
    necessary: bool = True


@dataclass(frozen=True)
class FrozenQuestion:
    """One frozen question. `support_sets` are alternatives: any one of them, wholly visible, is complete support."""

    question_id: str
    text: str
    answerable: bool
    support_sets: tuple[tuple[SupportSpan, ...], ...]
    segment: Segment
    sample: Sample
    partition: Partition
    cluster: str
    reader_labels: frozenset[str]
    as_of: date
    locale: str = "en"
    group: str = ""
    expected_answer: str = ""
    scope: str = ""
    qualification: str = ""
    dependency: DependencyType = DependencyType.NONE
    missing_behaviour: MissingBehaviour = MissingBehaviour.ABSTAIN
    missing_text: str = ""
    mandatory: bool = False
    slice_tags: tuple[str, ...] = ()
    forbidden: tuple[Interval, ...] = ()

    @property
    def condition_dependent(self) -> bool:
        """Whether the answer needs a condition beyond the matching statement (design, section 9)."""
        return self.answerable and self.dependency is not DependencyType.NONE

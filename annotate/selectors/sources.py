"""Sources and their texts as one person sees them: by role in the study, by labels, by byte range.

A version whose labels the person does not hold does not exist for them; neither does a source all of whose versions are
hidden, since its title alone may say too much.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from annotate.domain.access import (
    LabelledRange,
    TextPart,
    hidden_ranges,
    may_read,
    readable_parts,
    touches_hidden,
)
from annotate.domain.spans import ByteSpan
from annotate.models import Membership, Source, SourceVersion
from annotate.permissions import By, Operator


@dataclass(frozen=True)
class ReadableText:
    """One version's text for one reader. `hidden` are byte ranges of it, merged and in order; lengths are no secret."""

    version: str
    length: int
    parts: tuple[TextPart, ...]
    hidden: tuple[ByteSpan, ...]

    def shows(self, start: int, end: int) -> bool:
        """Whether every byte of `[start, end)` may be shown."""
        return not touches_hidden(ByteSpan(start, end), self.hidden)

    def part(self, start: int, end: int) -> tuple[TextPart, ...]:
        """Return the parts of `[start, end)`, cut at its edges; hidden bytes stay out."""
        cut = []
        for part in self.parts:
            first, last = max(part.start, start), min(part.end, end)
            if first < last:
                content = None if part.content is None else part.content[first - part.start : last - part.start]
                cut.append(TextPart(first, last, content))
        return tuple(cut)


def visible_to(by: By) -> QuerySet[Source]:
    """Return the sources of the person's studies of which at least one version is visible to them."""
    if isinstance(by, Operator):
        return Source.objects.all()
    return Source.objects.filter(pk__in=versions_visible_to(by).order_by().values("source_id"))


def versions_visible_to(by: By) -> QuerySet[SourceVersion]:
    """Return the versions the person may read, without their bytes (`content` and `derived` load when asked for).

    Two queries find which labelled versions are hidden; labels are compared per study.
    """
    versions = SourceVersion.objects.select_related("source").defer("content", "derived")
    if isinstance(by, Operator):
        return versions
    clearances = clearances_of(by)
    if not clearances:
        return versions.none()
    labelled = SourceVersion.objects.filter(source__study_id__in=clearances).exclude(access_labels=[])
    hidden = [
        pk
        for pk, study_id, labels in labelled.order_by().values_list("pk", "source__study_id", "access_labels")
        if not may_read(labels, clearances[study_id])
    ]
    return versions.filter(Q(source__study_id__in=clearances) & ~Q(pk__in=hidden))


def clearances_of(by: By) -> dict[int, set[str]]:
    """Return the labels the person holds in each study they have a role in; none when deactivated. One query."""
    if isinstance(by, Operator) or not by.is_active or by.pk is None:
        return {}
    clearances: dict[int, set[str]] = {}
    for study_id, labels in Membership.objects.filter(person_id=by.pk).values_list("study_id", "clearance"):
        clearances.setdefault(study_id, set()).update(labels)
    return clearances


def hidden_from(version: SourceVersion, clearance: Collection[str]) -> tuple[ByteSpan, ...]:
    """Return the byte ranges of `version` that a reader with `clearance` may not see; reads no bytes."""
    ranges = [LabelledRange(start, end, frozenset(labels)) for start, end, labels in version.access_ranges]
    return hidden_ranges(version.access_labels, ranges, clearance, version.byte_length)


def readable_text(version: SourceVersion, clearance: Collection[str]) -> ReadableText:
    """Return the text of `version` as a reader with `clearance` may see it."""
    hidden = hidden_from(version, clearance)
    parts = readable_parts(bytes(version.content), hidden)
    return ReadableText(version.sha256, version.byte_length, parts, hidden)

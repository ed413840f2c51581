"""Who reads what of a question's discussion: adjudicators all of it, an annotator what is about their returned pass."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, F, Max, OuterRef, QuerySet

from annotate.domain.vocabulary import NoteKind, Role
from annotate.models import AdjudicatedResult, AdjudicationItem, Assignment, DiscussionNote, Membership

ANNOTATOR, ADJUDICATOR, LEAD = "annotator", "adjudicator", "lead"


@dataclass(frozen=True)
class NoteView:
    """One contribution without a name. `side` is A or B where it is about a pass of the item shown, else empty."""

    kind: NoteKind
    author: str
    side: str
    round: int
    text: str
    written_at: datetime


def was_returned(assignment: Assignment) -> bool:
    """Whether the pass was ever sent back to its annotator, which opens its discussion to them. One query."""
    return assignment.notes.filter(kind=NoteKind.RETURNED).exists()


def thread_of(item: AdjudicationItem, as_of: datetime | None = None) -> list[NoteView]:
    """Return the whole discussion of an item's question, in order, up to `as_of`. For its adjudicators; two queries."""
    letters = {
        item.submission_a.work.assignment_id: "A",
        item.submission_b.work.assignment_id: "B",
    }
    notes = DiscussionNote.objects.filter(question_id=item.question_id)
    return _views(notes.filter(written_at__lte=as_of) if as_of else notes, letters)


def own_thread(assignment: Assignment) -> list[NoteView]:
    """Return what the annotator of a pass may read: all that is about it, once it was returned; else nothing."""
    return _views(assignment.notes.all(), {}) if was_returned(assignment) else []


def is_reopened(item: AdjudicationItem) -> bool:
    """Whether the item was settled and opened again since. One query."""
    return AdjudicationItem.objects.filter(reopened(), pk=item.pk).exists()


def is_settled(item: AdjudicationItem) -> bool:
    """Whether the item has a result and was not opened again since: nothing is decided about it then. One query."""
    return AdjudicationItem.objects.filter(~reopened(), pk=item.pk, results__isnull=False).exists()


def settled_questions(questions: Collection[int]) -> frozenset[int]:
    """Return those of `questions` whose newest item is settled, not opened again since and waits for no pass."""
    found = (
        AdjudicationItem.objects.filter(question__in=questions)
        .alias(newest=Max("question__items__round"))
        .filter(~reopened(), round=F("newest"), results__isnull=False)
        .exclude(question__assignments__state__in=[Assignment.State.OPEN, Assignment.State.RETURNED])
    )
    return frozenset(found.values_list("question_id", flat=True))


def reopened() -> Exists:
    """Return the condition on items that were opened again after their newest result."""
    settled = AdjudicatedResult.objects.filter(item=OuterRef(OuterRef("pk"))).order_by("-ordinal")
    since = DiscussionNote.objects.filter(
        question=OuterRef("question_id"),
        round=OuterRef("round"),
        kind=NoteKind.REOPENED,
        written_at__gt=settled.values("settled_at")[:1],
    )
    return Exists(since)


def _views(notes: QuerySet[DiscussionNote], letters: dict[int, str]) -> list[NoteView]:
    rows = list(notes.select_related("assignment", "question").order_by("question_id", "ordinal"))
    study = rows[0].question.study_id if rows else 0
    judging = set(Membership.objects.filter(study_id=study, role=Role.ADJUDICATOR).values_list("person_id", flat=True))
    return [
        NoteView(
            NoteKind(row.kind),
            _author(row, judging),
            letters.get(row.assignment_id or 0, ""),
            row.round,
            row.text,
            row.written_at,
        )
        for row in rows
    ]


def _author(note: DiscussionNote, judging: set[int]) -> str:
    if note.assignment and note.assignment.annotator_id == note.written_by_id:
        return ANNOTATOR
    return ADJUDICATOR if note.written_by_id in judging else LEAD

"""Stop work on tasks for a while, and let it go on."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import NoteKind
from annotate.models import Assignment, DiscussionNote, Study
from annotate.permissions import By
from annotate.records_pauses import record_pause
from annotate.services.authorise import authorise

MAX_REASON = 2_000


def pause_tasks(by: By, study: Study, tasks: Sequence[Assignment], reason: str) -> int:
    """Pause the tasks that take work; their annotators see `reason`. Returns how many were paused just now.

    Nothing of the work changes. Raises NotAllowed, and BadInput without a reason, for one beyond `MAX_REASON`
    characters, or for a task of another study.
    """
    _check(by, study, tasks)
    if not reason.strip() or len(reason) > MAX_REASON or "\x00" in reason:
        raise BadInput("reason", "it is empty or too long", f"Say in 1 to {MAX_REASON} characters why.")
    with transaction.atomic():
        held = list(_locked(tasks).filter(paused=False, state__in=[Assignment.State.OPEN, Assignment.State.RETURNED]))
        if held:
            Assignment.objects.filter(pk__in=[task.pk for task in held]).update(paused=True, note=reason)
            record_pause(study, held, by, reason)
    return len(held)


def resume_tasks(by: By, study: Study, tasks: Sequence[Assignment]) -> int:
    """Let paused tasks go on; returns how many there were. A returned pass shows again why it was returned.

    Raises NotAllowed or BadInput.
    """
    _check(by, study, tasks)
    with transaction.atomic():
        held = list(_locked(tasks).filter(paused=True))
        for task in held:
            task.paused, task.note = False, _why_returned(task)
        if held:
            Assignment.objects.bulk_update(held, ["paused", "note"])
            record_pause(study, held, by, None)
    return len(held)


def _locked(tasks: Sequence[Assignment]) -> QuerySet[Assignment]:
    """Return the tasks' rows in one order, held until the end of the transaction: two leads pause once."""
    rows = Assignment.objects.select_for_update(of=("self",)).select_related("question", "annotator")
    return rows.filter(pk__in=[task.pk for task in tasks]).order_by("pk")


def _why_returned(task: Assignment) -> str:
    if task.state != Assignment.State.RETURNED:
        return ""
    notes = DiscussionNote.objects.filter(assignment=task, kind=NoteKind.RETURNED).order_by("-ordinal")
    return notes.values_list("text", flat=True).first() or ""


def _check(by: By, study: Study, tasks: Sequence[Assignment]) -> None:
    authorise(by, study, "question.assign")
    if any(task.question.study_id != study.pk for task in tasks):
        raise BadInput("task", "it belongs to another study", "Choose tasks of this study.")

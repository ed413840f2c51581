"""Stop work on tasks for a while, and let it go on."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import NoteKind
from annotate.domain.written import written
from annotate.models import Assignment, DiscussionNote, Study
from annotate.permissions import By
from annotate.records_pauses import record_pause
from annotate.services.authorise import authorise
from annotate.services.lock_questions import lock_questions

MAX_REASON = 2_000


def pause_tasks(by: By, study: Study, tasks: Sequence[Assignment], reason: str) -> int:
    """Pause the tasks that take work; their annotators see `reason`. Returns how many were paused just now.

    Nothing of the work changes. Raises NotAllowed, and BadInput without a reason, for one beyond `MAX_REASON`
    characters, or for a task of another study.
    """
    _check(by, study, tasks)
    if not written(reason, "reason", MAX_REASON).strip():
        raise BadInput("reason", "it is empty", f"Say in 1 to {MAX_REASON} characters why.")
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
        why = _why_returned(held)
        for task in held:
            task.paused, task.note = False, why.get(task.pk, "")
        if held:
            Assignment.objects.bulk_update(held, ["paused", "note"])
            record_pause(study, held, by, None)
    return len(held)


def _locked(tasks: Sequence[Assignment]) -> QuerySet[Assignment]:
    """Return the tasks' rows in one order, held until the end of the transaction: two leads pause once.

    Their questions are locked first, as by whoever gives several tasks to others and records each.
    """
    lock_questions({task.question_id for task in tasks})
    rows = Assignment.objects.select_for_update(of=("self",)).select_related("question", "annotator")
    return rows.filter(pk__in=[task.pk for task in tasks]).order_by("pk")


def _why_returned(tasks: Sequence[Assignment]) -> dict[int, str]:
    """Return the last reason of each task that stands returned, by its key; one query."""
    back = [task.pk for task in tasks if task.state == Assignment.State.RETURNED]
    notes = DiscussionNote.objects.filter(assignment__in=back, kind=NoteKind.RETURNED).order_by("ordinal")
    return dict(notes.values_list("assignment_id", "text"))


def _check(by: By, study: Study, tasks: Sequence[Assignment]) -> None:
    authorise(by, study, "question.assign")
    if any(task.question.study_id != study.pk for task in tasks):
        raise BadInput("task", "it belongs to another study", "Choose tasks of this study.")

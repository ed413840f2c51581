"""Stop work on tasks for a while, and let it go on."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from annotate.domain.errors import BadInput
from annotate.models import Assignment, Study
from annotate.permissions import By
from annotate.services.authorise import authorise


def pause_tasks(by: By, study: Study, tasks: Sequence[Assignment], reason: str) -> int:
    """Pause the tasks that take work; their annotators see `reason`. Returns how many were paused just now.

    Nothing of the work changes, and nothing is recorded: a pause is no statement about a question. Raises NotAllowed,
    and BadInput without a reason or for a task of another study.
    """
    _check(by, study, tasks)
    if not reason.strip() or "\x00" in reason:
        raise BadInput("reason", "it is empty", "Say why, so that its annotator knows.")
    with transaction.atomic():
        open_ones = Assignment.objects.filter(pk__in=[task.pk for task in tasks], paused=False)
        return open_ones.filter(state__in=[Assignment.State.OPEN, Assignment.State.RETURNED]).update(
            paused=True, note=reason
        )


def resume_tasks(by: By, study: Study, tasks: Sequence[Assignment]) -> int:
    """Let paused tasks go on; returns how many there were. Raises NotAllowed or BadInput."""
    _check(by, study, tasks)
    return Assignment.objects.filter(pk__in=[task.pk for task in tasks], paused=True).update(paused=False, note="")


def _check(by: By, study: Study, tasks: Sequence[Assignment]) -> None:
    authorise(by, study, "question.assign")
    if any(task.question.study_id != study.pk for task in tasks):
        raise BadInput("task", "it belongs to another study", "Choose tasks of this study.")

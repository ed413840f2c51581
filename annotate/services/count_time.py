"""Count the time a person worked on a task without changing it."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from annotate.models import Assignment, Pass, Person
from annotate.services import pass_writing as writing
from annotate.services.edit_pass import MAX_SECONDS


def count_time(person: Person, assignment: Assignment, seconds: int) -> int:
    """Add `seconds` (at most an hour at once) to the task's time and return the sum.

    Time is no content: no revision is made. A task that takes no work takes no time either. Raises NotAllowed,
    AlreadySubmitted, NotNow.
    """
    writing.require_own(person, assignment, "pass.edit")
    with transaction.atomic():
        work = writing.pass_of(assignment)
        writing.refuse_closed(work)
        Pass.objects.filter(pk=work.pk).update(active_seconds=F("active_seconds") + min(max(seconds, 0), MAX_SECONDS))
    work.refresh_from_db(fields=["active_seconds"])
    return work.active_seconds

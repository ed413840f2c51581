"""How far the work is: a person's own, and for whoever oversees a study everybody's, by person and by segment."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from annotate.domain.vocabulary import Role
from annotate.models import Assignment, Person, Study
from annotate.selectors.passes import assignments_of


@dataclass(frozen=True)
class Progress:
    """Counts of assignments, each in one state. `paused` ones are not submitted, whatever else they were; `started` are
    open ones with something saved; `seconds` the time on task.
    """

    total: int
    submitted: int
    returned: int
    started: int
    seconds: int
    paused: int

    @property
    def to_do(self) -> int:
        """Those nobody has begun and nothing holds back."""
        return self.total - self.submitted - self.returned - self.paused - self.started

    @property
    def per_task(self) -> int | None:
        """Mean seconds of a submitted task; None while there is none."""
        return self.seconds // self.submitted if self.submitted else None


_COUNTS = {
    "total": Count("pk"),
    "submitted": Count("pk", filter=Q(state=Assignment.State.SUBMITTED)),
    "returned": Count("pk", filter=Q(state=Assignment.State.RETURNED, paused=False)),
    "started": Count("pk", filter=Q(state=Assignment.State.OPEN, paused=False, work__revision__gt=0)),
    "seconds": Coalesce(Sum("work__active_seconds"), 0),
    # Last, for from here on the name means the count.
    "paused": Count("pk", filter=Q(paused=True) & ~Q(state=Assignment.State.SUBMITTED)),
}


def progress_of(person: Person, study: Study | None = None) -> Progress:
    """Return the person's own progress, in one study or in all that are not archived. One query."""
    mine = assignments_of(person, study).filter(question__study__archived_at=None).order_by()
    return Progress(**mine.aggregate(**_COUNTS))


def by_person(study: Study) -> list[tuple[Person, Progress]]:
    """Return every annotator's progress by name, those without a task too. For `progress.view` only. Two queries."""
    rows = _held(study).values_list("annotator_id").annotate(**_COUNTS)
    found = {pk: Progress(*counts) for pk, *counts in rows}
    people = Person.objects.filter(
        Q(pk__in=found) | Q(memberships__study=study, memberships__role=Role.ANNOTATOR)
    ).distinct()
    nothing = Progress(0, 0, 0, 0, 0, 0)
    return [(person, found.get(person.pk, nothing)) for person in people.order_by("username")]


def by_segment(study: Study) -> list[tuple[str, Progress]]:
    """Return the progress of each segment that has assignments, by its value. For `progress.view` only. One query."""
    rows = _held(study).values_list("question__segment").annotate(**_COUNTS).order_by("question__segment")
    return [(segment, Progress(*counts)) for segment, *counts in rows]


def _held(study: Study) -> QuerySet[Assignment]:
    return Assignment.objects.filter(question__study=study).exclude(state=Assignment.State.WITHDRAWN).order_by()

"""Home: the next task or step first, then the queues by state, then the studies with what is to do in each."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from annotate.models import Assignment
from annotate.permissions import actors_for
from annotate.selectors.guidelines import newest_numbers
from annotate.selectors.next_steps import next_steps
from annotate.selectors.passes import assignments_of
from annotate.selectors.progress import progress_of
from annotate.selectors.studies import visible_to
from annotate.views.respond import respond
from annotate.views.study_nav import asker

#: Rows of one queue on the page; the rest is counted.
ROWS = 30


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Show the person's next task, their queues by state with their own progress, and their studies."""
    person = asker(request)
    mine = assignments_of(person).filter(question__study__archived_at=None).select_related("work__guideline")
    rows = list(mine)
    numbers = newest_numbers({row.question.study_id for row in rows})
    for row in rows:
        work = getattr(row, "work", None)
        row.begun = bool(work and work.revision)  # type: ignore[attr-defined]
        kept = work.guideline.number if work and work.guideline else None
        row.guideline_number = kept or numbers.get(row.question.study_id)  # type: ignore[attr-defined]
    queues = _queues(rows)
    waiting = [row for queue in queues for row in queue["rows"] if queue["open"]]
    studies = list(visible_to(person).filter(archived_at=None))
    steps, actors = next_steps(person, studies), actors_for(person, studies)
    # Who has no task left goes on with the first study that waits for them.
    step = next(((one, steps[one.pk]) for one in studies if one.pk in steps and not steps[one.pk].looks_on), None)
    context = {
        "queues": queues,
        "next": waiting[0] if waiting else None,
        "progress": progress_of(person),
        "studies": [(study, ", ".join(sorted(actors[study.pk].roles)), steps.get(study.pk)) for study in studies],
        "step": step,
        # Said above the list already, with the same button: not twice on one page.
        "stepped": step[0].pk if step and not waiting else None,
    }
    return respond(request, "annotate/home.html", context)


def _queues(rows: list[Assignment]) -> list[dict[str, Any]]:
    """Return the queues in the order of the day: what came back, what was begun, what is new; then what is not open."""
    kinds = (
        ("Returned", lambda row: row.state == Assignment.State.RETURNED and not row.paused, True),
        ("In progress", lambda row: row.state == Assignment.State.OPEN and row.begun and not row.paused, True),
        ("To do", lambda row: row.state == Assignment.State.OPEN and not row.begun and not row.paused, True),
        ("Paused", lambda row: row.paused and row.state != Assignment.State.SUBMITTED, False),
        ("Submitted", lambda row: row.state == Assignment.State.SUBMITTED, False),
    )
    queues = []
    for title, holds, is_open in kinds:
        found = [row for row in rows if holds(row)]
        if found:
            queues.append({"title": title, "count": len(found), "rows": found[:ROWS], "open": is_open})
    return queues

"""Home: the next task first, then the studies."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from annotate.models import Assignment
from annotate.selectors.passes import assignments_of
from annotate.selectors.studies import visible_to
from annotate.views.respond import respond
from annotate.views.study_nav import asker


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Show the person's next task, their queue by state, and their studies."""
    person = asker(request)
    mine = assignments_of(person).filter(question__study__archived_at=None)
    todo = list(mine.exclude(state=Assignment.State.SUBMITTED))
    context = {
        "todo": todo,
        "next": todo[0] if todo else None,
        "total": mine.count(),
        "done": mine.filter(state=Assignment.State.SUBMITTED).count(),
        "studies": visible_to(person).filter(archived_at=None),
    }
    return respond(request, "annotate/home.html", context)

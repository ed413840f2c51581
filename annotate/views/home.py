"""Home: the next task first, then the studies."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from annotate.models import Assignment, Study
from annotate.views.respond import respond


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Show the person's next task, their queue by state, and their studies."""
    mine = Assignment.objects.filter(annotator=request.user, question__study__archived_at=None).select_related(
        "question", "question__study"
    )
    todo = list(mine.exclude(state=Assignment.State.SUBMITTED).order_by("question__key", "pk"))
    studies = Study.objects.filter(memberships__person=request.user, archived_at=None).distinct()
    context = {
        "todo": todo,
        "next": todo[0] if todo else None,
        "total": mine.count(),
        "done": mine.filter(state=Assignment.State.SUBMITTED).count(),
        "studies": studies,
    }
    return respond(request, "annotate/home.html", context)

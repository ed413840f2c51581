"""What an annotator is told of their submitted pass: what was decided and why, and the discussion of it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.domain.errors import BadInput
from annotate.models import Assignment, Person
from annotate.selectors.discussion import own_thread, was_returned
from annotate.selectors.own_decisions import OwnDecisions, own_decisions
from annotate.selectors.passes import assignments_of
from annotate.selectors.sources import versions_visible_to
from annotate.services.discuss import reply
from annotate.views.adjudication_rows import words
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker


@require_http_methods(["GET", "POST"])
@login_required
def decisions(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what was decided about the person's own pass, and its discussion once it was returned; on POST reply."""
    person = asker(request)
    assignment = get_object_or_404(assignments_of(person), pk=pk)
    refusal: BadInput | None = None
    if request.method == "POST":
        try:
            reply(person, assignment, request.POST.get("text", ""))
            return HttpResponseRedirect(request.path)
        except BadInput as caught:
            refusal = caught
    told = own_decisions(person, assignment)
    context: dict[str, Any] = {
        "assignment": assignment,
        "question": assignment.question,
        "nav_study": assignment.question.study.slug,
        "told": told,
        "rows": _rows(person, assignment, told) if told else [],
        "thread": own_thread(assignment),
        "may_reply": was_returned(assignment),
        "refusal": refusal,
        "crumbs": crumbs(
            ("Home", reverse("home")),
            (assignment.question.key, reverse("workspace", args=[assignment.pk])),
            ("What was decided", ""),
        ),
    }
    return respond(request, "annotate/own_decisions.html", context, status=422 if refusal else 200)


def _rows(person: Person, assignment: Assignment, told: OwnDecisions) -> list[dict[str, Any]]:
    versions = versions_visible_to(person).filter(source__study=assignment.question.study)
    titles = {version.sha256: f"{version.source.title} {version.version_label}" for version in versions}
    return [
        {
            "kind": one.kind.value.replace("-", " "),
            "subject": one.subject,
            "yours": words(one.kind, one.yours, told, titles),
            "taken": one.taken,
            "settled": words(one.kind, one.settled, told, titles),
            "code": one.reason_code.value.replace("-", " "),
            "reason": one.reason,
        }
        for one in told.decisions
    ]

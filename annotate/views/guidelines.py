"""Every version of a study's guideline, with the span labels each offers: what any pass was made by stays readable."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.permissions import allows
from annotate.selectors.guidelines import offered_labels, versions_of
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_and_actor, study_links


@require_GET
@login_required
def guidelines(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the versions, newest first; how many passes each was used for is for whoever sees everybody's progress."""
    study, actor = study_and_actor(request, slug, "study.view")
    overseer = allows(actor, "progress.view")
    rows = [
        {
            "guideline": row.guideline,
            "labels": [text for _, text in offered_labels(row.guideline)],
            "submitted": row.submitted if overseer else None,
            "mine": row.mine,
        }
        for row in versions_of(study, asker(request))
    ]
    context = {
        "study": study,
        "study_links": study_links(actor, study, "guidelines"),
        "rows": rows,
        "may_publish": allows(actor, "study.manage"),
        "crumbs": crumbs(
            ("Home", reverse("home")), (study.title, reverse("study", args=[study.slug])), ("Guideline", "")
        ),
    }
    return respond(request, "annotate/guidelines.html", context)

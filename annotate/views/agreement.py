"""Agreement of a study, on first submissions, each figure with its n and its undefined cases."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.selectors.agreement import agreement_of
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_and_actor, study_links


@require_GET
@login_required
def agreement(request: HttpRequest, slug: str) -> HttpResponse:
    """Show every agreement measure of the study."""
    study, actor = study_and_actor(request, slug, "agreement.view")
    context = {
        "study": study,
        "study_links": study_links(actor, study, "agreement"),
        "measures": [
            {
                "name": measure.name,
                "value": None if measure.value is None else f"{float(measure.value):.3f}",
                "n": measure.n,
                "unit": measure.unit,
                "note": measure.note,
            }
            for measure in agreement_of(asker(request), study)
        ],
        "crumbs": crumbs(
            ("Home", reverse("home")), (study.title, reverse("study", args=[study.slug])), ("Agreement", "")
        ),
    }
    return respond(request, "annotate/agreement.html", context)

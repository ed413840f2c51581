"""A study's overview: where the work stands and what comes next for the person who asks."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.models import Study
from annotate.permissions import Actor, allows
from annotate.selectors import questions, sources
from annotate.selectors.adjudication import unsettled_items, visible_items
from annotate.selectors.next_steps import next_steps
from annotate.selectors.passes import assignments_of, open_assignments_of
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, further_steps, study_and_actor, study_links


@require_GET
@login_required
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the steps of the main job with their state, as far as the person's roles let them see it."""
    found, actor = study_and_actor(request, slug, "study.view")
    context = {
        "study": found,
        "study_links": study_links(actor, found, "study"),
        "steps": _steps(request, found, actor),
        "next_step": next_steps(asker(request), [found]).get(found.pk),
        "roles": sorted(actor.roles),
        "clearance": sorted(actor.clearance),
        "crumbs": crumbs(("Home", reverse("home")), (found.title, "")),
    }
    return respond(request, "annotate/study.html", context)


def _steps(request: HttpRequest, found: Study, actor: Actor) -> list[dict[str, Any]]:
    person = asker(request)
    steps: list[dict[str, Any]] = []
    if allows(actor, "pass.edit"):
        total = assignments_of(person, found).count()
        todo = open_assignments_of(person, found).first()
        left = open_assignments_of(person, found).count()
        steps.append(
            {
                "title": "Your passes",
                "state": f"{total - left} of {total} submitted",
                "tone": "accept" if total and not left else "",
                "detail": "Read the source, mark the evidence, write the answer contract.",
                "url": reverse("workspace", args=[todo.pk]) if todo else reverse("home"),
            }
        )
    if allows(actor, "source.view"):
        count = sources.versions_visible_to(person).filter(source__study=found).count()
        steps.append(
            _step(
                "Sources",
                f"{count} version{pluralize(count)}",
                "Immutable bytes that every mark refers to.",
                "sources",
                found,
            )
        )
    if allows(actor, "question.view"):
        asked = questions.visible_to(person).filter(study=found)
        progress = questions.with_progress(asked)
        settled = progress.filter(settled=True).count()
        steps.append(
            _step("Questions", f"{settled} of {asked.count()} settled", "Two blind passes each.", "questions", found)
        )
    if allows(actor, "item.view"):
        left = unsettled_items(person, found).count()
        total = visible_items(person, found).count()
        state = f"{total - left} of {total} settled"
        steps.append(_step("Adjudication", state, "Settle every difference.", "adjudication", found))
    if allows(actor, "fixture.view"):
        count = found.fixture_sets.count()
        steps.append(_step("Fixture sets", f"{count} frozen", "What every later number rests on.", "fixtures", found))
    return [*steps, *further_steps(person, found, actor)]


def _step(title: str, state: str, detail: str, url_name: str, found: Study) -> dict[str, Any]:
    return {"title": title, "state": state, "tone": "", "detail": detail, "url": reverse(url_name, args=[found.slug])}

"""The row of links inside a study. Upper apps add theirs when Django starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse

from annotate.models import Person, Study
from annotate.permissions import Actor, NotAllowed, actor_for, allows
from annotate.selectors import studies

type Steps = Callable[[Person, Study, Actor], list[dict[str, Any]]]
"""What an upper app adds to a study's overview: rows of title, state, tone, detail and url."""

_STEPS: list[Steps] = []


def register_steps(steps: Steps) -> None:
    """Add rows to the overview of every study; the function decides by the actor what may be shown."""
    _STEPS.append(steps)


def further_steps(person: Person, study: Study, actor: Actor) -> list[dict[str, Any]]:
    """Return the rows that upper apps add to a study's overview."""
    return [step for steps in _STEPS for step in steps(person, study, actor)]


@dataclass(frozen=True, order=True)
class _Link:
    order: int
    text: str
    url_name: str
    action: str


_LINKS: list[_Link] = []


def register(order: int, text: str, url_name: str, action: str) -> None:
    """Add a link that is shown to whoever may do `action`; `url_name` takes the study's slug."""
    _LINKS.append(_Link(order, text, url_name, action))


register(0, "Overview", "study", "study.view")
register(10, "Sources", "sources", "source.view")
register(20, "Questions", "questions", "question.view")
register(25, "Guideline", "guidelines", "study.view")
register(30, "People", "people", "member.manage")
register(35, "Assignments", "assignments", "question.assign")
register(40, "Adjudication", "adjudication", "item.view")
register(50, "Agreement", "agreement", "agreement.view")
register(60, "Fixture sets", "fixtures", "fixture.view")


def asker(request: HttpRequest) -> Person:
    """Return who is signed in (the views require it)."""
    person = request.user
    if not isinstance(person, Person):
        raise TypeError("the view was reached without a sign-in")
    return person


def study_and_actor(request: HttpRequest, slug: str, action: str) -> tuple[Study, Actor]:
    """Return the study and what the person is in it.

    Raises Http404 for a study the person has no role in (its existence is no news for strangers), NotAllowed without
    the action.
    """
    study = get_object_or_404(studies.visible_to(asker(request)), slug=slug)
    actor = actor_for(asker(request), study)
    if not allows(actor, action):
        raise NotAllowed(action, actor)
    return study, actor


def study_links(actor: Actor, study: Study, current: str) -> list[dict[str, object]]:
    """Return the links `actor` may follow, in order; `current` is the url name of the page shown."""
    return [
        {"text": link.text, "url": reverse(link.url_name, args=[study.slug]), "current": link.url_name == current}
        for link in sorted(_LINKS)
        if allows(actor, link.action)
    ]

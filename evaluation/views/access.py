"""Finds a study, plan or sweep for whoever is signed in, and answers refusals of the services with pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse

from annotate.domain.errors import BadInput
from annotate.models import Study
from annotate.permissions import Actor, actor_for, require
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_links
from evaluation.domain.floating import floating_names
from evaluation.domain.plan_schema import PlanRefused
from evaluation.models import Plan, Sweep
from evaluation.selectors.pages import plans_visible_to, sweeps_visible_to
from evaluation.services.problems import CannotAccept, Conflict, ReasonMissing
from evaluation.services.write_plan import plan_value

type View = Callable[..., HttpResponseBase]


def page(view: View) -> View:
    """Wrap a view: signed-in people only, and a service's Conflict becomes a page of 409, a bad choice one of 422.

    A plan another person locked meanwhile, a sweep cancelled in another window: nothing was changed and the page says
    so. NotAllowed and BadInput are answered by annotate's middleware.
    """

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except Conflict as conflict:
            return refused(request, "This is not how things stand", [BadInput("", str(conflict).rstrip("."), "")], 409)
        except PlanRefused as unread:
            # A form's own text is answered where it was sent; this is a plan that an older version locked.
            problems = [BadInput(one.where, one.what.rstrip("."), one.mend) for one in unread.problems]
            return refused(request, "This version of Cutline does not read this plan", problems, 409)
        except (ReasonMissing, CannotAccept) as bad:
            return refused(request, "This was not accepted", [BadInput("", str(bad).rstrip("."), "")], 422)

    return login_required(answered)


def refused(request: HttpRequest, title: str, problems: Sequence[BadInput], status: int) -> HttpResponse:
    """Return the refusal page, or its partial for htmx."""
    context = {"refusal": title, "problems": problems, "status": status}
    return respond(request, "errors/refusal.html", context, partial="body", status=status)


def plan_for(request: HttpRequest, pk: int, action: str) -> tuple[Plan, Actor]:
    """Return a plan and what the person is in its study.

    Raises Http404 for a plan of a study the person has no role in, NotAllowed without the action.
    """
    person = asker(request)
    plan = get_object_or_404(plans_visible_to(person), pk=pk)
    actor = actor_for(person, plan.study)
    require(actor, action)
    return plan, actor


def sweep_for(request: HttpRequest, pk: int, action: str) -> tuple[Sweep, Actor]:
    """Return a sweep and what the person is in its study; raises as `plan_for` does."""
    person = asker(request)
    sweep = get_object_or_404(sweeps_visible_to(person), pk=pk)
    actor = actor_for(person, sweep.plan.study)
    require(actor, action)
    return sweep, actor


def frame(actor: Actor, study: Study, *trail: tuple[str, str], section: str = "plans") -> dict[str, Any]:
    """Return what every evaluation page shows around its content; `trail` continues home › study › the section, which
    is the route of its list: plans or releases."""
    return {
        "study": study,
        "nav_study": study.slug,
        "study_links": study_links(actor, study, section),
        "crumbs": crumbs(
            ("Home", reverse("home")),
            (study.title, reverse("study", args=[study.slug])),
            (section.capitalize(), reverse(section, args=[study.slug]) if trail else ""),
            *trail,
        ),
    }


def sweep_frame(actor: Actor, sweep: Sweep, *trail: tuple[str, str]) -> dict[str, Any]:
    """Return the frame of a page below a sweep."""
    plan = sweep.plan
    return {
        "sweep": sweep,
        "plan": plan,
        "floating": floating_names(plan_value(plan)),
        **frame(
            actor,
            plan.study,
            (plan.name, reverse("plan", args=[plan.pk])),
            (f"Sweep {sweep.pk}", reverse("sweep", args=[sweep.pk]) if trail else ""),
            *trail,
        ),
    }

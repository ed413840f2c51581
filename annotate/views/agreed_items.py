"""The reviewed batch: items whose passes agree in full, looked over on one page and settled together."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.domain.errors import BadInput
from annotate.domain.pass_check import set_name
from annotate.domain.vocabulary import Necessity, Segment
from annotate.models import AdjudicatedResult, Study
from annotate.permissions import Actor, require
from annotate.selectors.adjudication_queue import AgreedItem, agreed_items
from annotate.services.settle_agreed import Reviewed, settle_agreed
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_and_actor, study_links

#: As many as a person looks over without losing the thread.
SHOWN = 20


@require_http_methods(["GET", "POST"])
@login_required
def agreed(request: HttpRequest, slug: str) -> HttpResponse:
    """Show items in full agreement; on POST settle those that were ticked, all or none."""
    study, actor = study_and_actor(request, slug, "item.view")
    if request.method == "GET":
        return _page(request, study, actor)
    require(actor, "item.decide")
    try:
        done = settle_agreed(asker(request), _reviewed(request, study), request.POST.get("reason", "").strip())
    except BadInput as refusal:
        return _page(request, study, actor, refusal)
    messages.success(request, f"{len(done)} items are settled.")
    return HttpResponseRedirect(request.path)


def _reviewed(request: HttpRequest, study: Study) -> list[Reviewed]:
    post = request.POST
    ticked = set(post.getlist("item"))
    reason = post.get("reason", "").strip()
    batch = []
    for one in agreed_items(asker(request), study, SHOWN):
        pk = str(one.item.pk)
        if pk not in ticked:
            continue
        words = {name: _necessity(post.get(f"necessity:{pk}:{name}", "")) for name, _, _ in one.spans}
        batch.append(
            Reviewed(
                one.item,
                _segment(post.get(f"segment:{pk}", "")),
                {name: (word, reason) for name, word in words.items()},
            )
        )
    if len(batch) < len(ticked):
        raise BadInput("batch", "some of the items are settled or returned by now", "Look over what is left.")
    return batch


def _necessity(word: str) -> Necessity:
    try:
        return Necessity(word)
    except ValueError as error:
        raise BadInput("necessity", f"{word!r} is none", f"Use one of {', '.join(Necessity)}.") from error


def _segment(word: str) -> Segment:
    try:
        return Segment(word)
    except ValueError as error:
        raise BadInput("segment", f"{word!r} is none", f"Use one of {', '.join(Segment)}.") from error


def _page(request: HttpRequest, study: Study, actor: Actor, refusal: BadInput | None = None) -> HttpResponse:
    ticked = set(request.POST.getlist("item"))
    context = {
        "study": study,
        "study_links": study_links(actor, study, "adjudication"),
        "rows": [_row(one, str(one.item.pk) in ticked) for one in agreed_items(asker(request), study, SHOWN)],
        "segments": AdjudicatedResult._meta.get_field("segment").choices,
        "reason": request.POST.get("reason", ""),
        "refusal": refusal,
        "crumbs": crumbs(
            ("Home", reverse("home")),
            (study.title, reverse("study", args=[study.slug])),
            ("Adjudication", reverse("adjudication", args=[study.slug])),
            ("In full agreement", ""),
        ),
    }
    return respond(request, "annotate/agreed_items.html", context, status=422 if refusal else 200)


def _row(one: AgreedItem, ticked: bool) -> dict[str, Any]:
    return {
        "pk": one.item.pk,
        "question": one.item.question,
        "contract": one.content.contract,
        "sets": [(set_name(index), ", ".join(members)) for index, members in enumerate(one.content.sets)],
        "spans": one.spans,
        "segment": one.segment.value,
        "ticked": ticked,
    }

"""The reviewed batch: items whose passes agree in full, looked over on one page and settled together."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.domain.conflicts import Conflict
from annotate.domain.errors import BadInput
from annotate.domain.necessity import set_spans
from annotate.domain.pass_check import set_name
from annotate.domain.vocabulary import Necessity, Segment
from annotate.models import AdjudicatedResult, AdjudicationItem, Study
from annotate.permissions import Actor, require
from annotate.selectors.adjudication_queue import AgreedItem, agreed_items
from annotate.selectors.passes import submitted_content
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
    """Return what was said of each item that is ticked, settled or not by now; raises BadInput for what is none."""
    post = request.POST
    reason = post.get("reason", "").strip()
    ticked = {pk for pk in post.getlist("item") if pk.isascii() and pk.isdigit() and len(pk) < 18}
    items = (
        AdjudicationItem.objects.filter(question__study=study, pk__in=ticked)
        .exclude(question__assignments__annotator=asker(request))
        .select_related("question__study", "submission_a")
    )
    batch = []
    for item in items.order_by("question__key", "pk"):
        names = set_spans(submitted_content(item.submission_a))
        try:
            words = {name: _necessity(name, post.get(f"necessity:{item.pk}:{name}", "")) for name in sorted(names)}
            segment = _segment(post.get(f"segment:{item.pk}", ""))
        except BadInput as problem:
            raise problem.inside(f"question {item.question.key}") from problem
        spans = {name: (word, reason) for name, word in words.items()}
        batch.append(Reviewed(item, segment, spans, post.get(f"seen:{item.pk}", "")))
    if len(batch) < len(set(post.getlist("item"))):
        raise BadInput("batch", "what was ticked is no item of this study", "Reload the page.")
    return batch


def _necessity(name: str, word: str) -> Necessity:
    try:
        return Necessity(word)
    except ValueError as error:
        what = f"{word!r} is none" if word else "nobody said whether it is necessary"
        raise BadInput(f"necessity of span “{name}”", what, f"Use one of {', '.join(Necessity)}.") from error


def _segment(word: str) -> Segment:
    try:
        return Segment(word)
    except ValueError as error:
        raise BadInput("segment", f"{word!r} is none", f"Use one of {', '.join(Segment)}.") from error


def _page(request: HttpRequest, study: Study, actor: Actor, refusal: BadInput | None = None) -> HttpResponse:
    post = request.POST
    context = {
        "study": study,
        "study_links": study_links(actor, study, "adjudication"),
        "rows": [_row(one, post) for one in agreed_items(asker(request), study, SHOWN)],
        "segments": AdjudicatedResult._meta.get_field("segment").choices,
        "reason": post.get("reason", ""),
        "refusal": refusal,
        "crumbs": crumbs(
            ("Home", reverse("home")),
            (study.title, reverse("study", args=[study.slug])),
            ("Adjudication", reverse("adjudication", args=[study.slug])),
            ("In full agreement", ""),
        ),
    }
    status = 200 if refusal is None else (409 if isinstance(refusal, Conflict) else 422)
    return respond(request, "annotate/agreed_items.html", context, status=status)


def _row(one: AgreedItem, post: QueryDict) -> dict[str, Any]:
    """Return an item as the page draws it; what a refused form said of it stays where it did not change since."""
    pk = one.item.pk
    unchanged = post.get(f"seen:{pk}") == one.state
    return {
        "pk": pk,
        "question": one.item.question,
        "contract": one.content.contract,
        "sets": [(set_name(index), ", ".join(members)) for index, members in enumerate(one.content.sets)],
        "spans": [
            (name, label, quote, post.get(f"necessity:{pk}:{name}", "") if unchanged else "")
            for name, label, quote in one.spans
        ],
        "segment": post.get(f"segment:{pk}", one.segment.value),
        "ticked": unchanged and str(pk) in post.getlist("item"),
        "state": one.state,
        "changed": str(pk) in post.getlist("item") and not unchanged,
    }

"""Adjudication: the queue, and the A/B page on which one difference after another is settled."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from annotate.domain.conflicts import Conflict
from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput
from annotate.domain.necessity import supersets
from annotate.domain.severity import Severity
from annotate.domain.vocabulary import Choice, DisagreementType, Necessity, ReasonCode, Segment
from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Disagreement,
    Guideline,
    Person,
    SourceVersion,
    SpanDecision,
)
from annotate.permissions import Actor
from annotate.selectors.adjudication import (
    ItemView,
    item_for,
    require_adjudicator,
    settled_content,
    state_of,
    suggested_segment,
)
from annotate.selectors.adjudication_queue import queue_rows
from annotate.selectors.discussion import is_reopened, is_settled, thread_of
from annotate.services.decide import confirm_agreed, decide
from annotate.services.discuss import add_note
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.settle_item import settle_item
from annotate.views import adjudication_rows as table
from annotate.views.item_address import item_at, submission_of
from annotate.views.item_history import moment_of, moments_of, result_rows, round_at
from annotate.views.item_source import Place, marked_versions, source_texts, stale_notes
from annotate.views.respond import crumbs, respond, wants_fragment
from annotate.views.study_nav import asker, study_and_actor, study_links
from annotate.views.workspace_form import whole_number

#: Items of one page, and settled ones from which on they are folded.
PER_PAGE, UNFOLDED = 25, 10
#: Severities as words, gravest first.
GRADES = tuple(grade.word for grade in sorted(Severity, reverse=True))


@require_GET
@login_required
def adjudication(request: HttpRequest, slug: str) -> HttpResponse:
    """List the items the person may adjudicate, gravest first; those of questions they marked do not appear.

    `?type=` and `?severity=` choose among the open ones.
    """
    study, actor = study_and_actor(request, slug, "item.view")
    every = queue_rows(asker(request), study)
    kind = request.GET.get("type", "") if request.GET.get("type", "") in set(DisagreementType) else ""
    grade = request.GET.get("severity", "") if request.GET.get("severity", "") in GRADES else ""
    rows = [row for row in every if kind in ("", *row.kinds) and grade in ("", row.severity.word)]
    unsettled = [row for row in every if row.is_ready]
    settled = [row for row in every if row.is_settled]
    context = {
        "study": study,
        "study_links": study_links(actor, study, "adjudication"),
        "open": Paginator([row for row in rows if row.is_ready], PER_PAGE).get_page(request.GET.get("page")),
        "waiting": [row for row in every if row.waits],
        "settled": Paginator(settled, PER_PAGE).get_page(request.GET.get("settled")),
        "settled_open": "settled" in request.GET or len(settled) < UNFOLDED,
        "unsettled": len(unsettled),
        "agreed": sum(row.severity is Severity.AGREED for row in unsettled),
        "kinds": [
            {"value": k.value, "count": n, "chosen": k == kind}
            for k, n in sorted(Counter(k for row in unsettled for k in row.kinds).items())
        ],
        "grades": [
            {"value": word, "count": n, "chosen": word == grade}
            for word in GRADES
            if (n := sum(row.severity.word == word for row in unsettled))
        ],
        "chosen": bool(kind or grade),
        "crumbs": crumbs(
            ("Home", reverse("home")), (study.title, reverse("study", args=[study.slug])), ("Adjudication", "")
        ),
    }
    return respond(request, "annotate/adjudication.html", context)


@require_http_methods(["GET", "POST"])
@login_required
def adjudicate(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an item as A and B without names; on POST decide, confirm, settle, discuss, return a pass, or re-open.

    `?as_of=` (a moment as ISO 8601) shows it as it stood then, and only shows it.
    """
    person = asker(request)
    item = item_at(request, pk)
    actor = require_adjudicator(person, item, "item.view")
    refusal: BadInput | None = None
    if request.method == "POST":
        try:
            said = _act(request, item)
            if said:
                messages.success(request, said)
            if not getattr(request, "htmx", None):
                return HttpResponseRedirect(request.path)
        except BadInput as caught:
            refusal = caught
    elif earlier := _earlier_round(request, item):
        return HttpResponseRedirect(earlier)
    return _page(request, item, actor, refusal)


def _earlier_round(request: HttpRequest, item: AdjudicationItem) -> str:
    """Return the address of the round that was open at `?as_of=`, where it was an earlier one; else nothing."""
    try:
        at = moment_of(request)
        then = round_at(item, at) if at else item
    except BadInput:
        return ""
    return f"{reverse('adjudicate', args=[then.pk])}?{request.GET.urlencode()}" if then.round < item.round else ""


def _act(request: HttpRequest, item: AdjudicationItem) -> str:
    post, person = request.POST, asker(request)
    action = post.get("action", "")
    if action == "confirm":
        confirm_agreed(person, item, reason=post.get("reason", ""))
        return ""
    if action == "note":
        about = submission_of(item, post.get("side", ""))
        add_note(person, item, post.get("text", ""), about.work.assignment if about else None)
        return ""
    if action == "return":
        about = submission_of(item, post.get("side", ""))
        if about is None:
            raise BadInput("pass", "none is chosen", "Choose A or B.")
        return_pass(person, about.work.assignment, post.get("text", ""), about)
        return f"{item.question.key} waits for the returned pass."
    if action == "reopen":
        reopen_item(person, item, post.get("text", ""))
        return f"{item.question.key} is open again."
    if action == "settle":
        content = settled_content(item)
        names = {name for members in content.sets for name in members}
        necessity = {
            name: (_word(Necessity, post[f"necessity:{name}"]), post.get(f"reason:{name}", "").strip())
            for name in names
            if post.get(f"necessity:{name}")
        }
        segment = _word(Segment, post.get("segment", ""))
        settle_item(person, item, segment, necessity, post.get("alternatives_reason", ""), post.get("seen"))
        return f"{item.question.key} is settled."
    choice = _word(Choice, action)
    disagreement = _disagreement(item, post.get("disagreement", ""))
    value = table.edited_value(DisagreementType(disagreement.kind), post) if choice is Choice.EDITED else None
    code = _word(ReasonCode, post.get("reason_code", ReasonCode.OTHER.value))
    seen = whole_number(post["seen"], "seen") if "seen" in post else None
    decide(person, item, disagreement, choice, value, code, post.get("reason", "").strip(), seen)
    return ""


def _disagreement(item: AdjudicationItem, raw: str) -> Disagreement:
    found = (
        item.disagreements.filter(pk=int(raw)).first() if raw.isascii() and raw.isdigit() and len(raw) < 18 else None
    )
    if found is None:
        raise BadInput("difference", "it is none of this item's", "Reload the page.")
    return found


def _word[W: (Necessity, Segment, Choice, ReasonCode)](kind: type[W], value: str) -> W:
    try:
        return kind(value)
    except ValueError as error:
        raise BadInput(kind.__name__, f"{value!r} is none", f"Use one of {', '.join(kind)}.") from error


def _page(request: HttpRequest, item: AdjudicationItem, actor: Actor, refusal: BadInput | None) -> HttpResponse:
    as_of = None
    try:
        as_of = moment_of(request)
        if as_of is not None:
            round_at(item, as_of)
    except BadInput as caught:
        refusal = refusal or caught
    # Before what is shown is read: what comes in between is a conflict when the page is answered, never overlooked.
    state = state_of(item)
    view = item_for(asker(request), item, as_of)
    study = item.question.study
    versions = marked_versions(asker(request), study, view.a, view.b)
    titles = {sha: f"{version.source.title} {version.version_label}" for sha, version in versions.items()}
    closed = as_of is None and is_settled(item)
    # What was typed into a form that came too late stays on the page, though the item is settled by now.
    late = refusal is not None and request.POST.get("action") == "settle"
    settled, settle_problem = _settled(item, view) if as_of is None and (late or not closed) else (None, "")
    given = dict(_given(view)) | (_typed(request.POST) if refusal else {})
    known = _known(request, state)
    kept = set() if known is None else table.unchanged(view, known, request.POST.get("disagreement", ""))
    rows = table.rows(view, titles, request.POST if refusal else None, kept)
    # The sources stay on the page as they stand, read and scrolled: no decision changes them.
    reading_kept = request.method == "POST" and wants_fragment(request)
    context: dict[str, Any] = {
        "item": item,
        "state": state,
        "view": view,
        "question": item.question,
        "nav_study": study.slug,
        "study": study,
        "rows": rows,
        "discussion_kept": known is not None and request.POST.get("action") not in _DISCUSSING,
        "settle_kept": known is not None and request.POST.get("action") == "note" and request.POST["state"] == state,
        "agreed": table.agreed(view, titles),
        "segments": AdjudicatedResult._meta.get_field("segment").choices,
        "segment": view.result.segment if view.result else (suggested_segment(settled).value if settled else ""),
        "guidelines": _guidelines(item),
        "next_item": _next(asker(request), item) if view.result else None,
        "settled": settled,
        "settle_problem": settle_problem,
        "span_rows": table.span_rows(settled, view, given) if settled else [],
        "set_rows": table.set_rows(view),
        "supersets": supersets(settled) if settled else [],
        "reading_kept": reading_kept,
        "texts": [] if reading_kept else _texts(request, actor, view, versions, _places(request, rows, versions)),
        "as_of": as_of,
        "moments": moments_of(item),
        "rounds": item.question.items.order_by("round") if item.round > 1 or view.waiting else [],
        "closed": closed,
        "was_settled": result_rows(view) if (as_of or closed) and view.result else None,
        "thread": thread_of(item, as_of),
        "reopened": as_of is None and is_reopened(item),
        "refusal": refusal,
        "crumbs": crumbs(
            ("Home", reverse("home")),
            (study.title, reverse("study", args=[study.slug])),
            ("Adjudication", reverse("adjudication", args=[study.slug])),
            (item.question.key, ""),
        ),
    }
    if known is not None and refusal is None:
        # The parts find their own places: nothing that stays is taken out of the page and put back.
        changed = respond(request, "annotate/adjudicate_changed.html", context)
        changed["HX-Reswap"] = "none"
        return changed
    status = 200 if refusal is None else (409 if isinstance(refusal, Conflict) else 422)
    return respond(request, "annotate/adjudicate.html", context, partial="item", status=status)


#: Buttons of the discussion's own form, which is drawn anew when one of them was pressed.
_DISCUSSING = ("note", "return", "reopen")


def _known(request: HttpRequest, state: str) -> int | None:
    """Return up to which decision the page that asks is drawn; None where all of it is to be drawn anew.

    What did not change since is left as it stands there, with whatever is typed into it: htmx keeps it in place.
    """
    htmx = getattr(request, "htmx", None)
    decided, _, rest = request.POST.get("state", "").partition("-")
    if not htmx or not decided.isascii() or not decided.isdigit() or len(decided) > 9:
        return None
    # Settled or opened again since: other buttons are there.
    return int(decided) if rest == state.partition("-")[2] else None


def _settled(item: AdjudicationItem, view: ItemView) -> tuple[PassContent | None, str]:
    if view.open_count:
        return None, f"{view.open_count} differences are still open."
    if view.confirmed is None:
        return None, "What both passes say alike is not confirmed yet."
    try:
        return settled_content(item), ""
    except BadInput as problem:
        return None, str(problem)


def _guidelines(item: AdjudicationItem) -> str:
    """Return which guideline each pass was made by, in words; empty where the study has none."""
    a, b = item.submission_a.guideline, item.submission_b.guideline
    if a is None and b is None:
        return ""
    if a == b:
        return f"both by {_named(a)}"
    return f"A by {_named(a)}, B by {_named(b)}"


def _named(guideline: Guideline | None) -> str:
    return f"guideline v{guideline.number}" if guideline else "no guideline"


def _next(person: Person, item: AdjudicationItem) -> int | None:
    """Return the key of the gravest item that is open beside this one."""
    rows = queue_rows(person, item.question.study)
    return next((row.pk for row in rows if row.is_ready and row.pk != item.pk), None)


def _given(view: ItemView) -> list[tuple[str, tuple[str, str]]]:
    if view.result is None:
        return []
    rows = SpanDecision.objects.filter(result=view.result)
    return [(row.span_name, (row.necessity, row.reason)) for row in rows]


def _typed(post: QueryDict) -> dict[str, tuple[str, str]]:
    """Return what a refused form said of each span, so that nobody writes it twice."""
    names = [key.removeprefix("reason:") for key in post if key.startswith("reason:")]
    return {name: (post.get(f"necessity:{name}", ""), post.get(f"reason:{name}", "")) for name in names}


def _texts(
    request: HttpRequest, actor: Actor, view: ItemView, versions: dict[str, SourceVersion], places: list[Place]
) -> list[dict[str, Any]]:
    """Return the sources as the page draws them, each with why marks on it are stale."""
    stale = stale_notes(asker(request), view.question, versions.values())
    texts = source_texts(versions.values(), actor, view.a, view.b, places)
    return [text | {"stale": stale[text["pk"]]} for text in texts]


def _places(request: HttpRequest, rows: list[dict[str, Any]], versions: dict[str, SourceVersion]) -> list[Place]:
    """Return where the source is read first: at the byte `?at=` of `?version=`, and at the first open difference."""
    places = [row["place"] for row in rows if row["place"] and not row["decision"]]
    found = [Place(place["version"], place["start"]) for place in places[:1]]
    raw, wanted = request.GET.get("at", ""), request.GET.get("version", "")
    named = next((sha for sha, version in versions.items() if str(version.pk) == wanted), None)
    if named and raw.isascii() and raw.isdigit() and len(raw) < 10:
        found.append(Place(named, int(raw)))
    return found

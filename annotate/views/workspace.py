"""The annotator's workspace: one task, one form, every button sends the whole of it."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import date
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.domain.access import touches_hidden
from annotate.domain.conflicts import Conflict, StaleRevision
from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput
from annotate.domain.pass_check import set_name
from annotate.domain.spans import ByteSpan, check_span, locate_quote
from annotate.domain.vocabulary import SpanLabel
from annotate.models import Assignment, ContractRevision, Mark, Pass, SourceVersion, Submission
from annotate.permissions import Actor
from annotate.selectors.guidelines import guideline_of, offered_labels
from annotate.selectors.passes import content_of, open_assignments_of, pass_content
from annotate.selectors.progress import progress_of
from annotate.selectors.source_text import layout_of
from annotate.selectors.sources import hidden_from, versions_visible_to
from annotate.selectors.succession import moved, moves_of, standings
from annotate.services.save_pass import save_pass
from annotate.services.submit_pass import submit_pass
from annotate.views import workspace_form as form
from annotate.views import workspace_state as state
from annotate.views.respond import crumbs, respond
from annotate.views.source_blocks import draw_blocks, highlights_of, mark_styles
from annotate.views.study_nav import asker
from annotate.views.workspace_source import own_task

#: Drawn before the page is sent, beside the one before them; the others load as they come into view.
FIRST_BLOCKS = 3
#: Up to so many versions are all tabs.
FEW_SOURCES = 8
_BLANK = form.NewSpan("", SpanLabel.RULE, "", "", None, None, None, 0)


@require_http_methods(["GET", "POST"])
@login_required
def workspace(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a task; on POST do what the pressed button says and show it again (422 refused, 409 changed elsewhere)."""
    person = asker(request)
    assignment, actor = own_task(request, pk)
    versions = list(versions_visible_to(person).filter(source__study=assignment.question.study))
    version = _chosen(request, versions, assignment)
    if request.method == "GET":
        return _page(request, assignment, actor, versions, version)
    return _write(request, assignment, actor, versions, version)


def _write(
    request: HttpRequest,
    assignment: Assignment,
    actor: Actor,
    versions: list[SourceVersion],
    version: SourceVersion | None,
) -> HttpResponse:
    """Do what the pressed button says and answer with the page as it then is."""
    person, action = asker(request), request.POST.get("action", "save")
    revision, current = content_of(assignment)
    extra: dict[str, Any] = {"revision": revision}
    try:
        expected = form.revision(request.POST)
        extra["content"] = edited = form.content(request.POST, current)
        done = _act(request.POST, action, edited, actor, version, versions, assignment.question.as_of, extra)
        save_pass(person, assignment, expected, done)
        if action == "submit":
            submit_pass(person, assignment, content_of(assignment)[0], request.POST.get("idempotency_key", ""))
    except BadInput as refusal:
        if _repeated_submit(request, assignment, action):
            return HttpResponseRedirect(reverse("workspace", args=[assignment.pk]))
        extra["revision"], _ = content_of(assignment)
        status = 409 if isinstance(refusal, Conflict) else 422
        said = {"stale": refusal} if isinstance(refusal, StaleRevision) else {"refusal": refusal}
        return _page(request, assignment, actor, versions, version, status=status, **said, **extra)
    if extra.get("preview") is not None:
        return _page(request, assignment, actor, versions, version, preview=extra["preview"], new=extra["new"])
    if not getattr(request, "htmx", None):
        return HttpResponseRedirect(request.get_full_path())
    assignment.refresh_from_db()
    return _page(request, assignment, actor, versions, version)


def _repeated_submit(request: HttpRequest, assignment: Assignment, action: str) -> bool:
    """Whether this is the second half of a double click: the same key already sealed this very pass."""
    key = request.POST.get("idempotency_key", "")
    if action != "submit" or not key.isprintable() or not key:
        return False
    return Submission.objects.filter(
        work__assignment=assignment, idempotency_key=key, submitted_by=asker(request)
    ).exists()


def _act(
    post: QueryDict,
    action: str,
    edited: PassContent,
    actor: Actor,
    version: SourceVersion | None,
    versions: list[SourceVersion],
    as_of: date,
    extra: dict[str, Any],
) -> PassContent:
    """Return the content after the pressed button; a span is found or checked in the bytes the person may read."""
    verb, _, argument = action.partition(":")
    if verb in {"add-span", "preview"}:
        if version is None:
            raise BadInput("new span", "there is no source to mark", "Choose a source first.")
        extra["new"] = new = form.new_span(post, version.sha256)
        span = _located(new, version, actor)
        if verb == "preview":
            extra["preview"] = bytes(version.content)[span.start : span.end].decode()
            extra["new"] = replace(new, start=span.start, end=span.end)
            return edited
        return form.with_span(edited, new, span.start, span.end)
    if verb == "remove-span":
        return form.without_span(edited, argument)
    if verb == "move-span":
        return moved(edited, moves_of(edited, versions, actor, as_of), [argument])
    if verb in {"add-set", "remove-set"}:
        gone = len(edited.sets) if verb == "add-set" else form.whole_number(argument, "action")
        more = ((),) if verb == "add-set" else ()
        return replace(edited, sets=(*(s for i, s in enumerate(edited.sets) if i != gone), *more))
    if verb in {"save", "submit"}:
        # A set nobody filled is no alternative; it only was an open card.
        return replace(edited, sets=tuple(s for s in edited.sets if s)) if verb == "submit" else edited
    raise BadInput("action", f"{action!r} is no button of this page", "Reload the page.")


def _located(new: form.NewSpan, version: SourceVersion, actor: Actor) -> ByteSpan:
    content, hidden = bytes(version.content), hidden_from(version, actor.clearance)
    if new.start is None or new.end is None:
        return locate_quote(content, new.quote, new.occurrence, hidden)
    # Before the bytes are looked at: what is wrong with a span may name the characters around it.
    if touches_hidden(ByteSpan(new.start, new.end), hidden):
        raise BadInput("new span", "it touches a range that you may not read", "Mark text that is shown to you.")
    return check_span(content, new.start, new.end)


def _chosen(request: HttpRequest, versions: list[SourceVersion], assignment: Assignment) -> SourceVersion | None:
    """Return the version of the address, else the one of the first mark, else the first."""
    wanted = request.GET.get("version", "")
    named = next((version for version in versions if str(version.pk) == wanted), None)
    if named is not None or not versions:
        return named
    marked = Mark.objects.filter(work__assignment=assignment, retired_revision=None).order_by("pk")
    first = marked.values_list("version_id", flat=True).first()
    return next((version for version in versions if version.pk == first), versions[0])


def _page(
    request: HttpRequest,
    assignment: Assignment,
    actor: Actor,
    versions: list[SourceVersion],
    version: SourceVersion | None,
    *,
    status: int = 200,
    **extra: Any,
) -> HttpResponse:
    person = asker(request)
    work = Pass.objects.filter(assignment=assignment).select_related("guideline").first()
    stored = pass_content(work) if work else PassContent()
    content: PassContent = extra.pop("content", stored)
    stale: StaleRevision | None = extra.pop("stale", None)
    if stale is not None:
        extra["stale"] = {"current": stale.current_revision, "theirs": stale.theirs}
    extra.pop("revision", None)
    spans = state.quoted(content, versions, actor)
    tabs = _tabs(versions, version, content)
    standing = standings(versions, {*tabs, *(row.version for row in spans if row.version)}, assignment.question.as_of)
    rows = Paginator(spans, state.ROWS).get_page(request.GET.get("rows"))
    letters = [set_name(index).removeprefix("set ") for index in range(len(content.sets))]
    guideline, newest = guideline_of(assignment, work)
    mine = progress_of(person, assignment.question.study)
    context: dict[str, Any] = {
        "assignment": assignment,
        "question": assignment.question,
        "nav_study": assignment.question.study.slug,
        "content": content,
        "revision": work.revision if work else 0,
        "saved_at": work.updated_at if work and work.revision else None,
        "submitted": assignment.state == Assignment.State.SUBMITTED,
        "closed": state.closed(assignment),
        "idempotency_key": secrets.token_urlsafe(24),
        "tabs": [
            {"pk": v.pk, "title": v.source.title, "version_label": v.version_label, "stale": standing[v.pk].note}
            for v in tabs
        ],
        "standing": standing[version.pk] if version else None,
        "more_sources": len(versions) > len(tabs),
        "version": version,
        "labels": offered_labels(guideline),
        "dependencies": ContractRevision._meta.get_field("dependency").choices,
        "behaviours": ContractRevision._meta.get_field("missing_behaviour").choices,
        "set_cards": [{"index": i, "letter": letter} for i, letter in enumerate(letters)],
        "set_choices": [{"index": i, "letter": letter} for i, letter in enumerate(letters)] or [_first_set()],
        "rows": rows,
        "spans": state.form_rows(content, list(rows.object_list), standing),
        "state": state.page_state(person, assignment, work, content, spans, tabs, version, standing),
        "guideline": guideline,
        "newest_guideline": newest,
        "progress": mine,
        "next_task": open_assignments_of(person, assignment.question.study).exclude(pk=assignment.pk).first(),
        "new": extra.pop("new", _BLANK),
        "preview": extra.pop("preview", None),
        **_source(request, version, actor, content),
        "crumbs": crumbs(("Home", reverse("home")), (assignment.question.key, "")),
    }
    return respond(request, "annotate/workspace.html", context | extra, partial="workspace", status=status)


def _source(request: HttpRequest, version: SourceVersion | None, actor: Actor, content: PassContent) -> dict[str, Any]:
    """Return the blocks of the page: a few drawn, around `?at=` (a byte), the others as places to fill."""
    if version is None:
        return {"blocks": []}
    hidden = hidden_from(version, actor.clearance)
    layout = layout_of(version, hidden)
    raw = request.GET.get("at", "")
    at = int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 10 else 0
    first = layout.block_at(min(at, version.byte_length))
    drawn = draw_blocks(
        version,
        layout,
        hidden,
        range(max(0, first - 1), first + FIRST_BLOCKS),
        highlights_of(content, version),
        mark_styles(content),
    )
    return {
        "blocks": [
            {"index": i, "start": block.start, "end": block.end, "broken": block.broken, "html": drawn.get(i)}
            for i, block in enumerate(layout.blocks)
        ],
        "sentence_count": len(layout.sentence_starts),
    }


def _tabs(versions: list[SourceVersion], version: SourceVersion | None, content: PassContent) -> list[SourceVersion]:
    """Return the versions shown as tabs: all of a few, else the one shown and those with marks."""
    if len(versions) <= FEW_SOURCES:
        return versions
    marked = {span.version for span in content.spans}
    return [item for item in versions if item == version or item.sha256 in marked]


def _first_set() -> dict[str, Any]:
    return {"index": 0, "letter": "A (new)"}

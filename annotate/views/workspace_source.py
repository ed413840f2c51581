"""What the workspace's page asks for while somebody reads: blocks, sentence positions, finds, and other sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.domain.access import touches_hidden
from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput
from annotate.domain.find import around, find, phrase_pattern
from annotate.domain.spans import ByteSpan, check_span
from annotate.models import Assignment, SourceVersion
from annotate.permissions import Actor, actor_for, require
from annotate.selectors.passes import assignments_of, content_of, marks_between
from annotate.selectors.source_text import layout_of
from annotate.selectors.sources import hidden_from, versions_visible_to
from annotate.selectors.succession import moves_of, standings
from annotate.services.transcode import quotation_in_original
from annotate.views.source_blocks import draw_blocks, highlights_of, mark_styles
from annotate.views.study_nav import asker

#: Blocks in one answer.
MOST_BLOCKS = 16
#: Bytes of sources a search reads before it says that it stopped.
SEARCH_BYTES = 32 * 1024 * 1024
MOST_SOURCES = 40


@dataclass(frozen=True)
class Reading:
    """A task with one source version as its annotator may read it."""

    assignment: Assignment
    actor: Actor
    version: SourceVersion
    hidden: tuple[ByteSpan, ...]


def _reading(request: HttpRequest, pk: int) -> Reading:
    """Return what the address and `?version=` (the first one without it) lead to; raises Http404, NotAllowed."""
    assignment, actor = own_task(request, pk)
    versions = versions_visible_to(asker(request)).filter(source__study=assignment.question.study_id)
    wanted = request.GET.get("version")
    if wanted is None:
        version = versions.first()
    elif wanted.isascii() and wanted.isdigit() and len(wanted) < 19:
        version = versions.filter(pk=int(wanted)).first()
    else:
        version = None
    if version is None:
        raise Http404("there is no such version for this reader")
    return Reading(assignment, actor, version, hidden_from(version, actor.clearance))


def own_task(request: HttpRequest, pk: int) -> tuple[Assignment, Actor]:
    """Return the person's own assignment; raises Http404 for anybody else's, NotAllowed without the role."""
    person = asker(request)
    assignment = get_object_or_404(assignments_of(person), pk=pk)
    actor = actor_for(person, assignment.question.study)
    require(actor, "pass.edit")
    return assignment, actor


@require_GET
@login_required
def blocks(request: HttpRequest, pk: int) -> HttpResponse:
    """Return blocks `?from=` to `?to=` (not included, at most 16) as HTML, with the marks of the pass."""
    reading = _reading(request, pk)
    first = number_in(request, "from", 0)
    last = number_in(request, "to", first + MOST_BLOCKS)
    layout = layout_of(reading.version, reading.hidden)
    last = min(last, first + MOST_BLOCKS, len(layout.blocks))
    content = PassContent()
    if first < last:
        edges = layout.blocks[first].start, layout.blocks[last - 1].end
        content = marks_between(reading.assignment, reading.version.pk, *edges)
    drawn = draw_blocks(
        reading.version,
        layout,
        reading.hidden,
        range(first, last),
        highlights_of(content, reading.version),
        mark_styles(content),
    )
    return private(HttpResponse("".join(drawn.values())))


@require_GET
@login_required
def layout(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the byte positions of all numbered sentences, so that a number marks text that is not loaded yet."""
    reading = _reading(request, pk)
    found = layout_of(reading.version, reading.hidden)
    return private(JsonResponse({"starts": found.sentence_starts, "ends": found.sentence_ends}))


@require_GET
@login_required
def find_in_source(request: HttpRequest, pk: int) -> HttpResponse:
    """Return where `?q=` stands in the whole source, as bytes; 422 where it is no phrase."""
    reading = _reading(request, pk)
    phrase = request.GET.get("q")
    try:
        places = find(bytes(reading.version.content), phrase, reading.hidden) if phrase is not None else []
    except BadInput as refusal:
        return private(JsonResponse({"problems": [refusal.as_dict()]}, status=422))
    return private(JsonResponse({"places": [[span.start, span.end] for span in places]}))


@require_GET
@login_required
def find_sources(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the versions that `?q=` names or stands in, of those the person may read; all of them without `?q=`."""
    assignment, actor = own_task(request, pk)
    phrase = request.GET.get("q", "").strip()
    versions = versions_visible_to(asker(request)).filter(source__study=assignment.question.study_id)
    found: list[dict[str, Any]] = []
    read = 0
    if phrase:
        try:
            phrase_pattern(phrase)
        except BadInput as refusal:
            return private(JsonResponse({"problems": [refusal.as_dict()]}, status=422))
    every = list(versions.order_by("source__title", "observation_date", "pk"))
    standing = standings(every, every, assignment.question.as_of)
    for version in every:
        if len(found) >= MOST_SOURCES or read > SEARCH_BYTES:
            break
        named = f"{version.source.title} {version.source.document_id} {version.version_label}".casefold()
        hit = {"pk": version.pk, "stale": standing[version.pk].note, **_about(assignment, version)}
        if not phrase or all(word in named for word in phrase.casefold().split()):
            found.append(hit)
            continue
        read += version.byte_length
        hidden = hidden_from(version, actor.clearance)
        content = bytes(version.content)
        places = find(content, phrase, hidden, most=100)
        if places:
            before, text, after = around(content, places[0], hidden)
            found.append({**hit, "count": len(places), "at": places[0].start, "snippet": [before, text, after]})
    return private(JsonResponse({"sources": found, "stopped": read > SEARCH_BYTES or len(found) >= MOST_SOURCES}))


@require_GET
@login_required
def moves(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the marks on superseded text, with where each could go in the version that supersedes it, or why not.

    `from` is where each stood when this was found: the page may have moved it since.
    """
    assignment, actor = own_task(request, pk)
    versions = list(versions_visible_to(asker(request)).filter(source__study=assignment.question.study_id))
    found = [
        {
            "name": move.span.name,
            "from": {"version": move.span.version, "start": move.span.start, "end": move.span.end},
            "old": f"{move.old.source.title} {move.old.version_label}",
            "new": f"{move.new.source.title} {move.new.version_label}",
            "version": move.new.sha256,
            "start": move.place.start if move.place else None,
            "end": move.place.end if move.place else None,
            "problem": move.problem,
        }
        for move in moves_of(content_of(assignment)[1], versions, actor, assignment.question.as_of)
    ]
    return private(JsonResponse({"moves": found}))


@require_GET
@login_required
def original(request: HttpRequest, pk: int) -> HttpResponse:
    """Return where bytes `?start=` to `?end=` (all without them) stand in the file that the version was made from.

    An original is its own file. 422 where the bytes are no span of the version, or not for this reader.
    """
    reading = _reading(request, pk)
    version, lineage = reading.version, reading.version.derived
    start, end = number_in(request, "start", 0), number_in(request, "end", version.byte_length)
    try:
        if touches_hidden(ByteSpan(start, end), reading.hidden):
            raise BadInput("span", "it touches a range that you may not read", "Choose what is shown to you.")
        place = check_span(bytes(version.content), start, end)
        if lineage:
            place, _ = quotation_in_original(version, place)
    except BadInput as refusal:
        return private(JsonResponse({"problems": [refusal.as_dict()]}, status=422))
    parent = lineage["parent"] if lineage else version.sha256
    encoding = lineage["settings"]["encoding"] if lineage else ""
    return private(JsonResponse({"start": place.start, "end": place.end, "parent": parent, "encoding": encoding}))


def _about(assignment: Assignment, version: SourceVersion) -> dict[str, str]:
    return {
        "title": version.source.title,
        "label": version.version_label,
        "document": version.source.document_id,
        "url": f"{reverse('workspace', args=[assignment.pk])}?version={version.pk}",
    }


def number_in(request: HttpRequest, name: str, default: int) -> int:
    """Return the number (of a block, a byte) in `?name=`, `default` without it; raises Http404 for what is none."""
    raw = request.GET.get(name)
    if raw is None:
        return default
    if not raw.isascii() or not raw.isdigit() or len(raw) > 9:
        raise Http404(f"{name} is no number here")
    return int(raw)


def private(response: HttpResponse) -> HttpResponse:
    """Return the answer marked as nothing to be stored."""
    response["Cache-Control"] = "no-store"
    return response

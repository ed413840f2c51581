"""The sources of an item as blocks, with A's and B's marks: few with the page, the others as they come into view."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from annotate.domain.content import PassContent
from annotate.domain.rendering import Highlight
from annotate.models import Person, Question, SourceVersion, Study
from annotate.permissions import Actor
from annotate.selectors.adjudication import require_adjudicator
from annotate.selectors.fixtures import version_by_digest
from annotate.selectors.passes import submitted_content
from annotate.selectors.source_text import layout_of
from annotate.selectors.sources import hidden_from, versions_visible_to
from annotate.selectors.succession import standings
from annotate.views.item_address import item_at
from annotate.views.source_blocks import MarkStyle, draw_blocks
from annotate.views.study_nav import asker
from annotate.views.workspace_source import MOST_BLOCKS, number_in, private

#: Blocks drawn with the page: at the beginning, and where the first open difference is.
FIRST_BLOCKS = 2

_STYLES = {"A": MarkStyle("side-a", "A"), "B": MarkStyle("side-b", "B")}


@dataclass(frozen=True)
class Place:
    """A byte of a source version."""

    version: str
    start: int


def marked_versions(person: Person, study: Study, a: PassContent, b: PassContent) -> dict[str, SourceVersion]:
    """Return the versions that A or B marked and the person may know of, by digest; without their bytes."""
    named = {span.version for span in (*a.spans, *b.spans)}
    found = versions_visible_to(person).filter(source__study=study, sha256__in=named).defer("content")
    return version_by_digest(found)


def stale_notes(person: Person, question: Question, marked: Collection[SourceVersion]) -> dict[int, str]:
    """Return why marks on a version are stale for the question, by the version's key; empty where they are not."""
    every = list(versions_visible_to(person).filter(source__study=question.study_id))
    return {key: standing.note for key, standing in standings(every, marked, question.as_of).items()}


def source_texts(
    versions: Iterable[SourceVersion], actor: Actor, a: PassContent, b: PassContent, places: Sequence[Place]
) -> list[dict[str, Any]]:
    """Return each version as the page draws it: every block's edges, and the first ones and those at `places` drawn."""
    return [
        _text(version, actor, a, b, [one.start for one in places if one.version == version.sha256])
        for version in versions
    ]


def _text(
    version: SourceVersion, actor: Actor, a: PassContent, b: PassContent, starts: Sequence[int]
) -> dict[str, Any]:
    hidden = hidden_from(version, actor.clearance)
    layout = layout_of(version, hidden)
    marks, styles = _marks(version, a, b)
    html: dict[int, str] = {}
    for start in (0, *starts):
        first = layout.block_at(min(start, version.byte_length))
        wanted = [index for index in range(first, first + FIRST_BLOCKS) if index not in html]
        html |= draw_blocks(version, layout, hidden, wanted, marks, styles, numbered=False)
    return {
        "title": f"{version.source.title} {version.version_label}",
        "sha": version.sha256,
        "pk": version.pk,
        "locale": version.locale,
        "blocks": [
            {"index": i, "start": block.start, "end": block.end, "broken": block.broken, "html": html.get(i)}
            for i, block in enumerate(layout.blocks)
        ],
    }


def _marks(version: SourceVersion, a: PassContent, b: PassContent) -> tuple[list[Highlight], dict[str, MarkStyle]]:
    found = [
        Highlight(span.start, span.end, f"{side}·{span.name}")
        for side, content in (("A", a), ("B", b))
        for span in content.spans
        if span.version == version.sha256
    ]
    return found, {mark.key: _STYLES[mark.key[0]] for mark in found}


@require_GET
@login_required
def item_blocks(request: HttpRequest, pk: int) -> HttpResponse:
    """Return blocks `?from=` to `?to=` (not included, at most 16) of a version as HTML, with A's and B's marks.

    `?version=` names one that A or B marked; the first one without it.
    """
    person = asker(request)
    item = item_at(request, pk)
    actor = require_adjudicator(person, item, "item.view")
    a, b = submitted_content(item.submission_a), submitted_content(item.submission_b)
    versions = list(marked_versions(person, item.question.study, a, b).values())
    wanted = request.GET.get("version")
    version = next((one for one in versions if wanted is None or str(one.pk) == wanted), None)
    if version is None:
        raise Http404("there is no such version for this reader")
    hidden = hidden_from(version, actor.clearance)
    layout = layout_of(version, hidden)
    first = number_in(request, "from", 0)
    last = min(number_in(request, "to", first + MOST_BLOCKS), first + MOST_BLOCKS)
    drawn = draw_blocks(version, layout, hidden, range(first, last), *_marks(version, a, b), numbered=False)
    return private(HttpResponse("".join(drawn.values())))

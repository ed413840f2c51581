"""What the workspace's scripts start from, and the plain form's rows: the same content in two shapes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from annotate.domain.access import touches_hidden
from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.content_codec import contract_payload
from annotate.domain.keys import ACTIONS, keys_of
from annotate.domain.pass_check import set_name
from annotate.domain.spans import ByteSpan
from annotate.models import Assignment, Pass, Person, SourceVersion
from annotate.permissions import Actor
from annotate.selectors.sources import hidden_from
from annotate.selectors.succession import Standing
from annotate.views.source_runs import set_css

#: Characters of a quote that a list shows; the whole of it is in the source.
QUOTE = 240
#: Rows of the plain form on one page.
ROWS = 50


@dataclass(frozen=True)
class Quoted:
    """A span with the version it is of (None where the person may no longer read it) and its text, cut for a list."""

    span: MarkedSpan
    version: SourceVersion | None
    text: str


def quoted(content: PassContent, versions: Sequence[SourceVersion], actor: Actor) -> list[Quoted]:
    """Return every span with its quote; each version's bytes are read once."""
    by_digest = {version.sha256: version for version in versions}
    texts: dict[str, bytes] = {}
    hidden: dict[str, tuple[ByteSpan, ...]] = {}
    found = []
    for span in content.spans:
        version = by_digest.get(span.version)
        if version is not None and span.version not in texts:
            texts[span.version] = bytes(version.content)
            hidden[span.version] = hidden_from(version, actor.clearance)
        text = ""
        # A label may have been taken from the person since they marked it.
        if version is not None and not (
            hidden[span.version] and touches_hidden(ByteSpan(span.start, span.end), hidden[span.version])
        ):
            raw = texts[span.version][span.start : min(span.end, span.start + 4 * QUOTE)]
            text = raw.decode("utf-8", "ignore")[:QUOTE]
        found.append(Quoted(span, version, text))
    return found


def closed(assignment: Assignment) -> bool:
    """Whether the task takes no work now: it is submitted or paused."""
    return assignment.state == Assignment.State.SUBMITTED or assignment.paused


def page_state(
    person: Person,
    assignment: Assignment,
    work: Pass | None,
    content: PassContent,
    spans: Sequence[Quoted],
    tabs: Sequence[SourceVersion],
    version: SourceVersion | None,
    standing: Mapping[int, Standing],
) -> dict[str, Any]:
    """Return what the scripts start from, as JSON will hold it. Spans are [version's digest at, start, end, …] rows."""
    digests = list(dict.fromkeys([*(tab.sha256 for tab in tabs), *(row.span.version for row in spans)]))
    at = {digest: index for index, digest in enumerate(digests)}
    titles = {row.span.version: row.version for row in spans} | {tab.sha256: tab for tab in tabs}
    shown = [version.pk for version in titles.values() if version]
    derived = set(SourceVersion.objects.filter(pk__in=shown).exclude(derived={}).values_list("pk", flat=True))
    forbidden = set(content.forbidden)
    pk = assignment.pk
    return {
        "task": pk,
        "person": person.pk,
        "revision": work.revision if work else 0,
        "saveKey": work.save_key if work else "",
        "closed": closed(assignment),
        "version": version.sha256 if version else None,
        "versions": [_version(digest, titles.get(digest), standing, derived) for digest in digests],
        "spans": [
            [
                at[row.span.version],
                row.span.start,
                row.span.end,
                row.span.name,
                row.span.label.value,
                row.span.name in forbidden,
                row.text,
            ]
            for row in spans
        ],
        "sets": content.sets,
        "contract": contract_payload(content.contract),
        "keys": keys_of(person.keys),
        "actions": [[action.name, action.key, action.text] for action in ACTIONS],
        "urls": {
            "edits": reverse("api-task-edits", args=[pk]),
            "content": reverse("api-task-content", args=[pk]),
            "submit": reverse("api-task-submissions", args=[pk]),
            "time": reverse("api-task-time", args=[pk]),
            "keys": reverse("api-keys"),
            "blocks": reverse("workspace-blocks", args=[pk]),
            "layout": reverse("workspace-layout", args=[pk]),
            "find": reverse("workspace-find", args=[pk]),
            "sources": reverse("workspace-sources", args=[pk]),
            "original": reverse("workspace-original", args=[pk]),
            "moves": reverse("workspace-moves", args=[pk]),
            "page": reverse("workspace", args=[pk]),
            "signIn": reverse("sign-in"),
        },
    }


def _version(
    digest: str, version: SourceVersion | None, standing: Mapping[int, Standing], derived: Collection[int]
) -> dict[str, Any]:
    if version is None:
        return {"sha": digest, "pk": None, "title": "a source you may no longer read", "label": "", "stale": ""}
    return {
        "sha": digest,
        "pk": version.pk,
        "title": version.source.title,
        "label": version.version_label,
        "bytes": version.byte_length,
        "stale": standing[version.pk].note,
        "derived": version.pk in derived,
    }


def form_rows(content: PassContent, spans: Sequence[Quoted], standing: Mapping[int, Standing]) -> list[dict[str, Any]]:
    """Return the rows of the plain form."""
    letters = [set_name(index).removeprefix("set ") for index in range(len(content.sets))]
    rows = []
    for item in spans:
        span = item.span
        inside = [i for i, members in enumerate(content.sets) if span.name in members]
        rows.append(
            {
                "name": span.name,
                "label": span.label.value,
                "start": span.start,
                "end": span.end,
                "title": item.version.source.title if item.version else "a source you may no longer read",
                "quote": item.text,
                "letters": " ".join(letters[i] for i in inside),
                "css": set_css(inside[0]) if inside else "",
                "forbidden": span.name in content.forbidden,
                "standing": standing[item.version.pk] if item.version else None,
                "boxes": [{"index": i, "letter": letter, "on": i in inside} for i, letter in enumerate(letters)],
            }
        )
    return rows

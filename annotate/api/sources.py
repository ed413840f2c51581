"""Sources, their versions, and exact bytes. What a reader may not see does not exist, or is offsets without text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.endpoint import StudyEndpoint, attachment
from annotate.api.listing import name, number, paged, parameters
from annotate.api.studies import times
from annotate.domain.errors import BadInput
from annotate.models import Source, SourceVersion
from annotate.selectors import sources
from annotate.selectors.sources import hidden_from, readable_text


class Sources(StudyEndpoint):
    """The documents of a study of which the person may read a version."""

    actions = {"GET": "source.view"}

    def get(self, request: Request, slug: str) -> Response:
        """List them by document id."""
        rows = sources.visible_to(self.person).filter(study=self.study)
        return paged(request, rows, ("document_id", "pk"), self._shown)

    def _shown(self, rows: Sequence[Source]) -> list[dict[str, Any]]:
        return [
            {
                "document_id": row.document_id,
                "title": row.title,
                "tenant": row.tenant,
                "archived_at": times(row.archived_at),
            }
            for row in rows
        ]


class Versions(StudyEndpoint):
    """The versions the person may read, at least in part."""

    actions = {"GET": "source.view"}

    def get(self, request: Request, slug: str) -> Response:
        """List them by document, observation date and key; `?document=` names one document."""
        rows = sources.versions_visible_to(self.person).filter(source__study=self.study)
        order = ("source__document_id", "observation_date", "pk")
        return paged(request, rows, order, self._shown, document=(name, "source__document_id"))

    def _shown(self, rows: Sequence[SourceVersion]) -> list[dict[str, Any]]:
        return versions_shown(self, rows)


class VersionDetail(StudyEndpoint):
    """One version."""

    actions = {"GET": "source.view"}

    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return it with the byte ranges that are hidden from the person and how it was derived, if it was."""
        parameters(request, {})
        version = version_in(self, pk)
        derived = {key: value for key, value in version.derived.items() if key != "map"}
        return Response({**versions_shown(self, [version])[0], "derived": derived or None})


class VersionBytes(StudyEndpoint):
    """A version's exact bytes, or those of one range of it."""

    actions = {"GET": "source.view"}

    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Send bytes `[start, end)` (the whole text without the two); 422 where any of them are hidden or not there."""
        given = parameters(request, {"start": number, "end": number})
        version = version_in(self, pk)
        text = readable_text(version, self.actor.clearance)
        start, end = given.get("start", 0), given.get("end", text.length)
        if not 0 <= start <= end <= text.length:
            raise BadInput(
                "?start, ?end", f"[{start}, {end}) is no range of it", f"The version has {text.length} bytes."
            )
        if not text.shows(start, end):
            hidden = ", ".join(f"[{one.start}, {one.end})" for one in text.hidden)
            raise BadInput("?start, ?end", f"you may not read {hidden}", "Ask for ranges between these.")
        response = attachment(
            b"".join(part.content or b"" for part in text.part(start, end)), f"{version.sha256[:16]}.bin"
        )
        response["ETag"] = f'"{version.sha256}.{start}.{end}"'
        return response


def version_in(endpoint: StudyEndpoint, pk: int) -> SourceVersion:
    """Return a version of the endpoint's study that the person may read; Http404 for any other."""
    rows = sources.versions_visible_to(endpoint.person).filter(source__study=endpoint.study)
    found: SourceVersion = get_object_or_404(rows, pk=pk)
    if any((span.start, span.end) == (0, found.byte_length) for span in hidden_from(found, endpoint.actor.clearance)):
        raise Http404("nothing of it is for this reader")
    return found


def versions_shown(endpoint: StudyEndpoint, rows: Sequence[SourceVersion]) -> list[dict[str, Any]]:
    """Return versions as objects. One query more, for the digests of the versions they supersede, where visible."""
    wanted = {row.supersedes_id for row in rows if row.supersedes_id}
    older = dict(
        sources.versions_visible_to(endpoint.person).filter(pk__in=wanted).order_by().values_list("pk", "sha256")
    )
    return [
        {
            "id": row.pk,
            "document_id": row.source.document_id,
            "title": row.source.title,
            "version_label": row.version_label,
            "sha256": row.sha256,
            "byte_length": row.byte_length,
            "media_type": row.media_type,
            "locale": row.locale,
            "observation_date": times(row.observation_date),
            "effective_from": times(row.effective_from),
            "effective_to": times(row.effective_to),
            "supersedes": older.get(row.supersedes_id or 0),
            "access_labels": row.access_labels,
            "hidden": [[span.start, span.end] for span in hidden_from(row, endpoint.actor.clearance)],
            "url": reverse("api-version", args=[endpoint.study.slug, row.pk]),
            "bytes": reverse("api-version-bytes", args=[endpoint.study.slug, row.pk]),
        }
        for row in rows
    ]

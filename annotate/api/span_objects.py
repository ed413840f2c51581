"""Spans and contents as JSON for one reader: bytes they may not read are offsets without text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.urls import reverse

from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.content_codec import contract_payload, normalised, span_payload
from annotate.domain.vocabulary import DisagreementType
from annotate.models import Person, SourceVersion, Study
from annotate.permissions import Actor
from annotate.selectors.adjudication import quotes_for
from annotate.selectors.fixtures import version_by_digest
from annotate.selectors.sources import versions_visible_to

#: Differences whose values are spans.
SPAN_KINDS = frozenset(
    {DisagreementType.SPAN_BOUNDARY, DisagreementType.SPAN_MISSING, DisagreementType.FORBIDDEN_EVIDENCE}
)


class Reading:
    """What one reader may be told of some spans: their text, and the versions they lie in.

    A version whose labels the reader lacks is not named to them, not even by its digest, as on the pages.
    """

    def __init__(self, person: Person, actor: Actor, study: Study, spans: Iterable[MarkedSpan]) -> None:
        marked = list(spans)
        self._study = study
        self._quotes = quotes_for(actor, study, marked)
        named = {span.version for span in marked}
        self._versions = version_by_digest(versions_visible_to(person).filter(source__study=study, sha256__in=named))

    def span(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a span payload for the reader; `version` and `quote` are None where these are not for them."""
        quote = self._quotes.get((value["version"], value["start"], value["end"]))
        version = value["version"] if value["version"] in self._versions else None
        return {**value, "version": version, "quote": quote}

    def marked(self, span: MarkedSpan, **more: Any) -> dict[str, Any]:
        """Return a marked span for the reader, `more` beside its own members."""
        return {**self.span(span_payload(span)), **more}

    def content(self, content: PassContent) -> dict[str, Any]:
        """Return a whole content without its notes, which are their annotator's."""
        ordered = normalised(content)
        contract = contract_payload(ordered.contract)
        del contract["notes"]
        return {
            "contract": contract,
            "spans": [self.marked(span) for span in ordered.spans],
            "sets": [list(members) for members in ordered.sets],
            "forbidden": list(ordered.forbidden),
        }

    def value(self, kind: DisagreementType, value: Any) -> Any:
        """Return a side's or an edited value of a difference (their forms: `Difference`)."""
        if value is None:
            return None
        if kind in SPAN_KINDS:
            return self.span(value)
        if kind is DisagreementType.ANSWERABILITY and isinstance(value, Mapping):
            return {**value, "spans": [self.span(span) for span in value["spans"]]}
        return value

    def versions(self) -> list[dict[str, Any]]:
        """Return the versions that are named, by document id."""
        rows = sorted(self._versions.values(), key=lambda row: (row.source.document_id, row.pk))
        return [self._version(row) for row in rows]

    def _version(self, row: SourceVersion) -> dict[str, Any]:
        return {
            "digest": row.sha256,
            "document_id": row.source.document_id,
            "title": row.source.title,
            "version_label": row.version_label,
            "url": reverse("api-version", args=[self._study.slug, row.pk]),
        }


def spans_in(values: Iterable[Any]) -> list[MarkedSpan]:
    """Return every span that stands in values of differences: as the value itself, or in a whole content."""
    found: list[MarkedSpan] = []
    for value in values:
        if isinstance(value, Mapping):
            for one in value.get("spans", [value]):
                if {"version", "start", "end"} <= one.keys():
                    found.append(MarkedSpan(one["version"], one["start"], one["end"], "span"))
    return found

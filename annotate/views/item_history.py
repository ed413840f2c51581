"""An item as of an earlier moment: which moments there are, the one an address names, and the result of then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest

from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput
from annotate.models import AdjudicationItem
from annotate.selectors.adjudication import ItemView
from annotate.selectors.fixtures import result_content


@dataclass(frozen=True)
class Moment:
    """A moment after which the item stood differently; `value` is what an address holds, `what` what happened."""

    at: datetime
    what: str

    @property
    def value(self) -> str:
        """The moment in ISO 8601, UTC, to the microsecond."""
        return self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moments_of(item: AdjudicationItem) -> list[Moment]:
    """Return when the item was opened, decided, settled and discussed, in order. Three queries."""
    moments = [Moment(item.created_at, f"round {item.round} opened")]
    moments += [
        Moment(at, f"decision {ordinal}") for ordinal, at in item.decisions.values_list("ordinal", "decided_at")
    ]
    moments += [
        Moment(at, f"settled, result {ordinal}") for ordinal, at in item.results.values_list("ordinal", "settled_at")
    ]
    notes = item.question.notes.filter(written_at__gte=item.created_at).values_list("kind", "written_at")
    moments += [Moment(at, str(kind)) for kind, at in notes]
    return sorted(moments, key=lambda moment: moment.at)


def moment_of(request: HttpRequest) -> datetime | None:
    """Return the moment `?as_of=` names, None without one; raises BadInput for what is no moment."""
    raw = request.GET.get("as_of", "")
    return read_moment("as_of", raw) if raw else None


def read_moment(where: str, raw: str) -> datetime:
    """Return the moment that a text names in ISO 8601 with its offset from UTC; raises BadInput for any other text."""
    try:
        at = datetime.fromisoformat(raw) if len(raw) <= 40 else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or not 2000 <= at.year <= 2999:
        raise BadInput(where, "it is no moment", "Write it as 2026-11-30T09:00:00Z, or choose one on the page.")
    return at


def round_at(item: AdjudicationItem, at: datetime) -> AdjudicationItem:
    """Return the round of the item's question that was open at a moment; raises BadInput where none was yet."""
    found = item.question.items.filter(created_at__lte=at).order_by("-round").first()
    if found is None:
        raise BadInput("as_of", "the item was not there yet", "Choose one of the moments on the page.")
    return found


def result_rows(view: ItemView) -> dict[str, Any] | None:
    """Return the result the view has, read: its content, and each judged span with its quote; None without one."""
    if view.result is None:
        return None
    content: PassContent = result_content(view.result)
    spans = {span.name: span for span in content.spans}
    return {
        "content": content,
        "ordinal": view.result.ordinal,
        "at": view.result.settled_at,
        "spans": [
            {
                "name": row.span_name,
                "necessity": row.necessity,
                "reason": row.reason,
                "quote": view.quotes.get(spans[row.span_name].bytes_key) if row.span_name in spans else None,
            }
            for row in view.result.span_decisions.order_by("span_name")
        ],
    }

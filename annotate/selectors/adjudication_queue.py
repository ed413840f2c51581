"""The adjudicator's queue: what differs in each item, how grave it is, and the items that only want confirming."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef

from annotate.domain.content import PassContent
from annotate.domain.necessity import set_spans
from annotate.domain.severity import Severity, severity_of
from annotate.domain.vocabulary import DisagreementType, Segment
from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Assignment,
    Decision,
    Disagreement,
    Person,
    Question,
    Study,
)
from annotate.selectors.adjudication import item_for, state_of, suggested_segment, visible_items
from annotate.selectors.discussion import reopened


@dataclass(frozen=True)
class QueueRow:
    """One item of the queue; `kinds` are the types of its differences, `undecided` how many have no decision yet.

    `waits` says that a pass was returned: nothing can be decided until it is submitted again.
    """

    pk: int
    question: Question
    kinds: tuple[DisagreementType, ...]
    differences: int
    undecided: int
    severity: Severity
    is_settled: bool
    waits: bool

    @property
    def is_ready(self) -> bool:
        """Whether there is something to decide about it now."""
        return not (self.is_settled or self.waits)


@dataclass(frozen=True)
class AgreedItem:
    """An item without differences, ready to be looked over: the common content, spans with quotes, the segment.

    `state` is its `state_of`, read before the rest: what comes in between is a conflict when the page is answered.
    """

    item: AdjudicationItem
    content: PassContent
    spans: tuple[tuple[str, str, str | None], ...]
    segment: Segment
    state: str


_UNSUBMITTED = (Assignment.State.OPEN, Assignment.State.RETURNED)


def queue_rows(person: Person, study: Study) -> list[QueueRow]:
    """Return the items `person` may adjudicate, gravest first, then by key. Three queries, however many items."""
    items = list(
        visible_items(person, study).annotate(
            is_settled=Exists(AdjudicatedResult.objects.filter(item=OuterRef("pk"))),
            is_reopened=reopened(),
            waits=Exists(Assignment.objects.filter(question=OuterRef("question_id"), state__in=_UNSUBMITTED)),
        )
    )
    kinds: dict[int, list[DisagreementType]] = {}
    found = Disagreement.objects.filter(item__in=items).order_by("item_id", "position").values_list("item_id", "kind")
    for pk, kind in found:
        kinds.setdefault(pk, []).append(DisagreementType(kind))
    made = _decided_counts(item.pk for item in items)
    rows = [
        QueueRow(
            item.pk,
            item.question,
            tuple(sorted(set(kinds.get(item.pk, ())))),
            len(kinds.get(item.pk, ())),
            len(kinds.get(item.pk, ())) - made.get(item.pk, 0),
            severity_of(kinds.get(item.pk, ())),
            item.is_settled and not item.is_reopened and not item.waits,
            item.waits,
        )
        for item in items
    ]
    return sorted(rows, key=lambda row: (-row.severity, row.question.key))


def agreed_items(person: Person, study: Study, most: int) -> list[AgreedItem]:
    """Return the first `most` unsettled items of the person whose passes differ in nothing, by key."""
    alike = [row.pk for row in queue_rows(person, study) if row.severity is Severity.AGREED and row.is_ready]
    rows = AdjudicationItem.objects.filter(pk__in=alike).select_related(
        "question__study", "submission_a", "submission_b"
    )
    found: list[AgreedItem] = []
    for item in rows.order_by("question__key", "pk"):
        if len(found) == most:
            break
        state = state_of(item)
        view = item_for(person, item)
        named = set_spans(view.a)
        spans = tuple(
            (span.name, span.label.value, view.quotes[span.bytes_key]) for span in view.a.spans if span.name in named
        )
        found.append(AgreedItem(item, view.a, spans, suggested_segment(view.a), state))
    return found


def _decided_counts(items: Iterable[int]) -> dict[int, int]:
    found = (
        Decision.objects.filter(item_id__in=list(items))
        .exclude(disagreement=None)
        .order_by()
        .values_list("item_id")
        .annotate(n=Count("disagreement_id", distinct=True))
    )
    return dict(found)

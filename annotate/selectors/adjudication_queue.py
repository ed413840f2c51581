"""The adjudicator's queue: what differs in each item, how grave it is, and the items that only want confirming."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from annotate.permissions import actor_for
from annotate.selectors.adjudication import quotes_for, states_of, suggested_segment, visible_items
from annotate.selectors.discussion import reopened
from annotate.selectors.passes import submitted_content


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

    @property
    def is_to_confirm(self) -> bool:
        """Whether it is ready and its passes differ in nothing, so that it can be settled in a reviewed batch."""
        return self.is_ready and self.severity is Severity.AGREED


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


def rows_by_key(person: Person, study: Study) -> list[QueueRow]:
    """Return the rows of the queue by question key."""
    return sorted(queue_rows(person, study), key=lambda row: (row.question.key, row.pk))


def agreed_items(person: Person, study: Study, most: int) -> list[AgreedItem]:
    """Return the first `most` unsettled items of the person whose passes differ in nothing, by key."""
    return read_agreed(person, study, [row for row in rows_by_key(person, study) if row.is_to_confirm][:most])


def read_agreed(person: Person, study: Study, rows: Sequence[QueueRow]) -> list[AgreedItem]:
    """Return what is to be looked over of `rows` without a difference, in their order. Four queries for any number."""
    states = states_of([row.pk for row in rows])
    items = AdjudicationItem.objects.select_related("question__study", "submission_a", "submission_b").in_bulk(states)
    contents = {row.pk: submitted_content(items[row.pk].submission_a) for row in rows}
    marked = [span for content in contents.values() for span in content.spans]
    quotes = quotes_for(actor_for(person, study), study, marked)
    found: list[AgreedItem] = []
    for row in rows:
        content = contents[row.pk]
        named = set_spans(content)
        spans = tuple(
            (span.name, span.label.value, quotes[span.bytes_key]) for span in content.spans if span.name in named
        )
        found.append(AgreedItem(items[row.pk], content, spans, suggested_segment(content), states[row.pk]))
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

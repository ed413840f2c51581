"""What an adjudicator sees: two passes as A and B, without names, and never a question they marked themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet

from annotate.domain.access import LabelledRange, hidden_ranges, touches_hidden
from annotate.domain.alignment import Alignment, align
from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.disagreements import Difference
from annotate.domain.settle import Verdict, settle
from annotate.domain.spans import ByteSpan
from annotate.domain.vocabulary import (
    SUGGESTED_SEGMENT,
    Choice,
    DependencyType,
    DisagreementType,
    NoteKind,
    ReasonCode,
    Role,
    Segment,
)
from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Assignment,
    Decision,
    Disagreement,
    Person,
    Question,
    SourceVersion,
    Study,
)
from annotate.permissions import Actor, NotAllowed, actor_for, require
from annotate.records_passes import stored_value
from annotate.selectors.discussion import reopened
from annotate.selectors.passes import submitted_content

SpanKey = tuple[str, int, int]


class MarkedByYou(NotAllowed):
    """Nobody adjudicates a question they marked."""

    def __init__(self, action: str, actor: Actor) -> None:
        super().__init__(action, actor)
        self.args = ("You marked this question yourself. Somebody else adjudicates it.",)


@dataclass(frozen=True)
class DecisionView:
    """One decision as it was made; `value` only where it was edited."""

    ordinal: int
    choice: Choice
    value: Any
    reason_code: ReasonCode
    reason: str
    decided_by: str
    decided_at: datetime


@dataclass(frozen=True)
class DifferenceView:
    """One stored difference, the decision in force (None: open), and the earlier ones, oldest first."""

    disagreement_id: int
    position: int
    difference: Difference
    decision: DecisionView | None
    earlier: tuple[DecisionView, ...]


@dataclass(frozen=True)
class ItemView:
    """An item without names.

    `quotes` has the text of every span by its bytes; None where the adjudicator may not read it. `waiting` says why
    nothing can be decided now (empty: it can).
    """

    item_id: int
    round: int
    question: Question
    a: PassContent
    b: PassContent
    alignment: Alignment
    differences: tuple[DifferenceView, ...]
    confirmed: DecisionView | None
    result: AdjudicatedResult | None
    quotes: dict[SpanKey, str | None]
    waiting: str

    @property
    def open_count(self) -> int:
        """Number of differences without a decision."""
        return sum(view.decision is None for view in self.differences)


def visible_items(person: Person, study: Study | None = None) -> QuerySet[AdjudicationItem]:
    """Return the newest item of each question that `person` may adjudicate, by key."""
    found = AdjudicationItem.objects.filter(
        question__study__memberships__person_id=person.pk,
        question__study__memberships__role=Role.ADJUDICATOR,
        question__study__memberships__person__is_active=True,
    ).exclude(question__assignments__annotator_id=person.pk)
    if study is not None:
        found = found.filter(question__study=study)
    return (
        found.alias(newest=Max("question__items__round"))
        .filter(round=F("newest"))
        .select_related("question__study")
        .order_by("question__study_id", "question__key", "pk")
    )


def unsettled_items(person: Person, study: Study | None = None) -> QuerySet[AdjudicationItem]:
    """Return those of `visible_items` that have no result yet, or were opened again since."""
    return visible_items(person, study).filter(Q(results__isnull=True) | Q(reopened())).distinct()


def require_adjudicator(person: Person, item: AdjudicationItem, action: str) -> Actor:
    """Return the actor; raises NotAllowed without the role, and for a question the person marked."""
    actor = actor_for(person, item.question.study)
    require(actor, action)
    refuse_marked(actor, item, action)
    return actor


def refuse_marked(actor: Actor, item: AdjudicationItem, action: str) -> None:
    """Raise NotAllowed where the actor, whose role was asked for already, marked the item's question. One query."""
    refuse_own_question(actor, item.question, action)


def refuse_own_question(actor: Actor, question: Question, action: str) -> None:
    """Raise NotAllowed where the actor holds or held a task of the question. One query."""
    if Assignment.objects.filter(question=question, annotator_id=actor.person_id).exists():
        raise MarkedByYou(action, actor)


def waiting_for(item: AdjudicationItem) -> str:
    """Return why nothing can be decided about this item now, or an empty string. One query."""
    open_pass = Q(question__assignments__state__in=[Assignment.State.OPEN, Assignment.State.RETURNED])
    now = AdjudicationItem.objects.filter(question_id=item.question_id).aggregate(
        newest=Max("round"), open_passes=Count("question__assignments", filter=open_pass)
    )
    if now["newest"] is not None and now["newest"] > item.round:
        return "there is a newer round of this question"
    return "a pass was returned and is not submitted again yet" if now["open_passes"] else ""


def state_of(item: AdjudicationItem) -> str:
    """Return in short how far an item has come; it changes with each decision, result and re-opening. One query."""
    return states_of([item.pk])[item.pk]


def states_of(items: Collection[int]) -> dict[int, str]:
    """Return the `state_of` each item, by key. One query."""
    rows = (
        AdjudicationItem.objects.filter(pk__in=items)
        .order_by()
        .values("pk")
        .annotate(
            decided=Max("decisions__ordinal"),
            settled=Max("results__ordinal"),
            opened=Max("question__notes__ordinal", filter=Q(question__notes__kind=NoteKind.REOPENED)),
        )
    )
    return {row["pk"]: "-".join(str(row[name] or 0) for name in ("decided", "settled", "opened")) for row in rows}


def item_for(person: Person, item: AdjudicationItem, as_of: datetime | None = None) -> ItemView:
    """Return the item as `person` sees it, now or as it stood at `as_of`: with the decisions and the result of then.

    Raises NotAllowed as `require_adjudicator` does.
    """
    actor = require_adjudicator(person, item, "item.view")
    made_by_then, results = item.decisions.all(), item.results.all()
    if as_of is not None:
        made_by_then, results = made_by_then.filter(decided_at__lte=as_of), results.filter(settled_at__lte=as_of)
    a, b = submitted_content(item.submission_a), submitted_content(item.submission_b)
    decisions: dict[int | None, list[DecisionView]] = {}
    for row in made_by_then.select_related("decided_by").order_by("ordinal"):
        decisions.setdefault(row.disagreement_id, []).append(decision_view(row))
    views = []
    for stored in item.disagreements.order_by("position"):
        made = decisions.get(stored.pk, [])
        views.append(
            DifferenceView(
                stored.pk, stored.position, difference_of(stored), made[-1] if made else None, tuple(made[:-1])
            )
        )
    confirmations = decisions.get(None, [])
    return ItemView(
        item_id=item.pk,
        round=item.round,
        question=item.question,
        a=a,
        b=b,
        alignment=align(a, b),
        differences=tuple(views),
        confirmed=confirmations[-1] if confirmations else None,
        result=results.order_by("-ordinal").first(),
        quotes=quotes_for(actor, item.question.study, (*a.spans, *b.spans, *_decided_spans(views))),
        waiting=waiting_for(item),
    )


def difference_of(row: Disagreement) -> Difference:
    """Return a stored difference as a value."""
    return Difference(DisagreementType(row.kind), row.subject, stored_value(row.value_a), stored_value(row.value_b))


def verdicts_of(item: AdjudicationItem, up_to: int | None = None) -> dict[int, Verdict]:
    """Return the decisions in force (after the decision with ordinal `up_to`: then) by their difference's position."""
    found: dict[int, Verdict] = {}
    rows = item.decisions.exclude(disagreement=None)
    if up_to is not None:
        rows = rows.filter(ordinal__lte=up_to)
    for row in rows.select_related("disagreement").order_by("ordinal"):
        if row.disagreement is not None:
            found[row.disagreement.position] = Verdict(Choice(row.choice), stored_value(row.value))
    return found


def settled_content(item: AdjudicationItem) -> PassContent:
    """Return what the decisions in force make of the two passes; BadInputs naming the differences still open.

    It may be incomplete; `pass_check.problems` says what is missing. Its span names are what `settle_item` asks about.
    """
    return settle(submitted_content(item.submission_a), submitted_content(item.submission_b), verdicts_of(item))


def suggested_segment(content: PassContent) -> Segment:
    """Return the segment suggested by a content; UNCLASSIFIED for a routine question, which a person classes."""
    if content.contract.answerable is False:
        return Segment.UNANSWERABLE_CONTROL
    return SUGGESTED_SEGMENT.get(DependencyType(content.contract.dependency), Segment.UNCLASSIFIED)


def decision_view(row: Decision) -> DecisionView:
    """Return a decision as it was made; needs `decided_by`."""
    return DecisionView(
        ordinal=row.ordinal,
        choice=Choice(row.choice),
        value=stored_value(row.value),
        reason_code=ReasonCode(row.reason_code),
        reason=row.reason,
        decided_by=str(row.decided_by),
        decided_at=row.decided_at,
    )


def _decided_spans(views: Iterable[DifferenceView]) -> Iterable[MarkedSpan]:
    for view in views:
        value = view.decision.value if view.decision else None
        if isinstance(value, dict) and {"version", "start", "end"} <= value.keys():
            yield MarkedSpan(value["version"], value["start"], value["end"], view.difference.subject)


def quotes_for(actor: Actor, study: Study, spans: Iterable[MarkedSpan]) -> dict[SpanKey, str | None]:
    """Return the text of every span by its bytes; None where the actor may not read it."""
    wanted = {span.bytes_key for span in spans}
    versions = SourceVersion.objects.filter(source__study=study, sha256__in={key[0] for key in wanted})
    quotes: dict[SpanKey, str | None] = dict.fromkeys(sorted(wanted))
    for version in versions:
        ranges = [LabelledRange(start, end, frozenset(labels)) for start, end, labels in version.access_ranges]
        hidden = hidden_ranges(version.access_labels, ranges, actor.clearance, version.byte_length)
        content = bytes(version.content)
        for key in wanted:
            if key[0] == version.sha256 and not touches_hidden(ByteSpan(key[1], key[2]), hidden):
                quotes[key] = content[key[1] : key[2]].decode()
    return quotes

"""What an annotator is told of their submitted pass once it is adjudicated: what was decided, and why. No names.

Nothing is told before the item is settled, nor while it is open again: until then the other pass stays unseen.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.disagreements import Difference
from annotate.domain.vocabulary import Choice, DisagreementType, Necessity, ReasonCode, Segment
from annotate.models import AdjudicatedResult, AdjudicationItem, Assignment, Decision, Person
from annotate.permissions import actor_for
from annotate.records_passes import stored_value
from annotate.selectors.adjudication import SpanKey, difference_of, quotes_for, waiting_for
from annotate.selectors.discussion import is_reopened
from annotate.selectors.fixtures import result_content

YOURS, OTHERS, NEITHER, EDITED = "yours", "the other pass's", "neither", "another"


@dataclass(frozen=True)
class OwnDecision:
    """One difference as its annotator reads it: their own value, whose was taken, what stands now, and why."""

    kind: DisagreementType
    subject: str
    yours: Any
    taken: str
    settled: Any
    reason_code: ReasonCode
    reason: str


@dataclass(frozen=True)
class OwnSpan:
    """A span of the settled result with what was judged of it; `quote` is None where the annotator may not read it."""

    span: MarkedSpan
    quote: str | None
    necessity: Necessity
    reason: str


@dataclass(frozen=True)
class OwnDecisions:
    """All that was decided about one pass, as it was when the item was settled last."""

    content: PassContent
    segment: Segment
    settled_at: datetime
    round: int
    decisions: tuple[OwnDecision, ...]
    spans: tuple[OwnSpan, ...]
    quotes: dict[SpanKey, str | None]


def own_decisions(person: Person, assignment: Assignment) -> OwnDecisions | None:
    """Return what was decided about the person's own submitted pass; None as long as nothing is settled."""
    if assignment.annotator_id != person.pk or assignment.state != Assignment.State.SUBMITTED:
        return None
    item = (
        AdjudicationItem.objects.filter(question_id=assignment.question_id)
        .select_related("question__study", "submission_a__work", "submission_b__work")
        .order_by("-round")
        .first()
    )
    if item is None or waiting_for(item) or is_reopened(item):
        return None
    result = item.results.order_by("-ordinal").first()
    side = _side(item, assignment)
    if result is None or side is None:
        return None
    content = result_content(result)
    decisions = _decisions(item, result, side)
    quotes = quotes_for(
        actor_for(person, item.question.study), item.question.study, (*content.spans, *_decided_spans(decisions))
    )
    judged = {row.span_name: row for row in result.span_decisions.all()}
    spans = tuple(
        OwnSpan(span, quotes[span.bytes_key], Necessity(judged[span.name].necessity), judged[span.name].reason)
        for span in content.spans
        if span.name in judged
    )
    return OwnDecisions(
        content, Segment(result.segment), result.settled_at, item.round, tuple(decisions), spans, quotes
    )


def _side(item: AdjudicationItem, assignment: Assignment) -> Choice | None:
    if item.submission_a.work.assignment_id == assignment.pk:
        return Choice.A
    return Choice.B if item.submission_b.work.assignment_id == assignment.pk else None


def _decisions(item: AdjudicationItem, result: AdjudicatedResult, side: Choice) -> list[OwnDecision]:
    """Return the decisions the result was settled from: later ones are about the next."""
    in_force: dict[int, Decision] = {}
    rows = item.decisions.filter(decided_at__lte=result.settled_at).exclude(disagreement=None)
    for row in rows.select_related("disagreement").order_by("ordinal"):
        if row.disagreement is not None:
            in_force[row.disagreement.position] = row
    return [_one(difference_of(row.disagreement), row, side) for _, row in sorted(in_force.items()) if row.disagreement]


def _one(difference: Difference, row: Decision, side: Choice) -> OwnDecision:
    values = {Choice.A: difference.value_a, Choice.B: difference.value_b}
    choice = Choice(row.choice)
    taken = {side: YOURS, Choice.REJECT: NEITHER, Choice.EDITED: EDITED}.get(choice, OTHERS)
    settled = stored_value(row.value) if choice is Choice.EDITED else values.get(choice)
    return OwnDecision(
        difference.kind, difference.subject, values[side], taken, settled, ReasonCode(row.reason_code), row.reason
    )


def _decided_spans(decisions: list[OwnDecision]) -> list[MarkedSpan]:
    return [
        MarkedSpan(value["version"], value["start"], value["end"], one.subject)
        for one in decisions
        for value in (one.yours, one.settled)
        if isinstance(value, dict) and {"version", "start", "end"} <= value.keys()
    ]

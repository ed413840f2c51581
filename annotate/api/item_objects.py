"""An adjudication item as JSON: what its page shows, and no more. Who marked, decided or settled is not told."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from annotate.api.span_objects import Reading, spans_in
from annotate.api.studies import times
from annotate.domain.content import PassContent
from annotate.domain.disagreements import TEXT_FIELDS, behaviour_value, wording_of
from annotate.domain.errors import BadInput
from annotate.domain.necessity import set_spans, supersets, without
from annotate.domain.severity import SEVERITY
from annotate.domain.vocabulary import DisagreementType
from annotate.models import AdjudicatedResult, AdjudicationItem, Guideline, Person, Question
from annotate.permissions import Actor
from annotate.selectors.adjudication import (
    DecisionView,
    DifferenceView,
    ItemView,
    settled_content,
    state_of,
    suggested_segment,
    waiting_for,
)
from annotate.selectors.discussion import is_reopened, is_settled
from annotate.selectors.fixtures import result_content
from annotate.views.adjudication_rows import boundary, set_rows
from annotate.views.item_history import moments_of

READY, WAITING, SETTLED = "ready", "waiting", "settled"
STATES = (READY, WAITING, SETTLED)


def question_object(question: Question) -> dict[str, Any]:
    """Return what an adjudicator needs to know of a question."""
    return {
        "key": question.key,
        "text": question.text,
        "as_of": times(question.as_of),
        "locale": question.locale,
        "reader_labels": question.reader_labels,
    }


def standing_object(item: AdjudicationItem) -> dict[str, Any]:
    """Return how far an item has come. `seen` goes with the next write; it is read before the rest. Four queries."""
    seen, waiting = state_of(item), waiting_for(item)
    settled = is_settled(item)
    return {
        "id": item.pk,
        "study": item.question.study.slug,
        "round": item.round,
        "state": WAITING if waiting else SETTLED if settled else READY,
        "waiting": waiting,
        "reopened": is_reopened(item),
        "seen": seen,
        "url": reverse("api-item", args=[item.pk]),
    }


def item_object(
    person: Person, actor: Actor, item: AdjudicationItem, view: ItemView, standing: dict[str, Any] | None
) -> dict[str, Any]:
    """Return an item as `view` has it. What would be settled is told of one that stands so now (`standing`) alone."""
    would, why_not = _next_result(item, view, standing) if standing else (None, "")
    result = result_content(view.result) if view.result else None
    made = [decision for row in view.differences for decision in (*row.earlier, *filter(None, [row.decision]))]
    contents = [view.a, view.b, *filter(None, [would, result])]
    reading = Reading(
        person,
        actor,
        item.question.study,
        [*(span for content in contents for span in content.spans), *spans_in(decision.value for decision in made)],
    )
    return {
        "question": question_object(item.question),
        "created_at": times(item.created_at),
        "guidelines": {
            "a": _number(item.submission_a.guideline),
            "b": _number(item.submission_b.guideline),
        },
        "agreed": _agreed(view),
        "spans": [
            {
                "name": joint.name,
                "a": _side(reading, joint.name, joint.a, joint.forbidden_a),
                "b": _side(reading, joint.name, joint.b, joint.forbidden_b),
            }
            for joint in view.alignment.spans
        ],
        "sets": [
            {"name": row["name"], "how": row["how"], "a": _names(joint.a), "b": _names(joint.b)}
            for row, joint in zip(set_rows(view), view.alignment.sets, strict=True)
        ],
        "differences": [_difference(reading, view, row) for row in view.differences],
        "confirmed": decision_object(reading, None, view.confirmed),
        "would_settle": _would_settle(reading, would) if would else None,
        "cannot_settle": why_not,
        "result": result_object(reading, view.result, result) if view.result and result else None,
        "versions": reading.versions(),
        "moments": [{"at": moment.value, "what": moment.what} for moment in moments_of(item)],
        "rounds": [
            {"round": number, "url": reverse("api-item", args=[pk])}
            for pk, number in item.question.items.order_by("round").values_list("pk", "round")
        ],
    }


def decision_object(
    reading: Reading, kind: DisagreementType | None, made: DecisionView | None
) -> dict[str, Any] | None:
    """Return a decision about a difference of `kind` (None: what both say alike); None where there is none."""
    if made is None:
        return None
    return {
        "ordinal": made.ordinal,
        "choice": made.choice.value,
        "value": reading.value(kind, made.value) if kind else None,
        "reason_code": made.reason_code.value,
        "reason": made.reason,
        "decided_at": times(made.decided_at),
    }


def result_object(reading: Reading, result: AdjudicatedResult, content: PassContent) -> dict[str, Any]:
    """Return a settled result with what was judged of each span. One query."""
    return {
        "ordinal": result.ordinal,
        "segment": result.segment,
        "settled_at": times(result.settled_at),
        "content": reading.content(content),
        "spans": {
            row.span_name: {"necessity": row.necessity, "reason": row.reason}
            for row in result.span_decisions.order_by("span_name")
        },
        "alternatives_reason": result.alternatives_reason,
    }


def settled_at(result: AdjudicatedResult) -> dict[str, Any]:
    """Return which result was made, and when, without its content."""
    return {"ordinal": result.ordinal, "segment": result.segment, "settled_at": times(result.settled_at)}


def _next_result(item: AdjudicationItem, view: ItemView, standing: dict[str, Any]) -> tuple[PassContent | None, str]:
    """Return what would be settled now, or why nothing can be."""
    if standing["state"] != READY:
        return None, standing["waiting"] or "it is settled: open it again first"
    if view.open_count:
        return None, f"{view.open_count} difference{'s are' if view.open_count > 1 else ' is'} still open"
    if view.confirmed is None:
        return None, "what both passes say alike is not confirmed yet"
    try:
        return settled_content(item), ""
    except BadInput as problem:
        return None, str(problem)


def _would_settle(reading: Reading, content: PassContent) -> dict[str, Any]:
    judged = set_spans(content)
    return {
        "content": reading.content(content),
        "segment": suggested_segment(content).value,
        "to_judge": [
            {"name": span.name, "without": {name: list(left) for name, left in without(content, span.name)}}
            for span in content.spans
            if span.name in judged
        ],
        "supersets": [{"set": large, "holds": small} for large, small in supersets(content)],
    }


def _difference(reading: Reading, view: ItemView, row: DifferenceView) -> dict[str, Any]:
    kind = row.difference.kind
    return {
        "difference": row.position,
        "type": kind.value,
        "severity": SEVERITY[kind].word,
        "subject": row.difference.subject,
        "a": reading.value(kind, row.difference.value_a),
        "b": reading.value(kind, row.difference.value_b),
        "boundary": boundary(view, row.difference),
        "decision": decision_object(reading, kind, row.decision),
        "earlier": [decision_object(reading, kind, made) for made in row.earlier],
        "seen": row.decision.ordinal if row.decision else 0,
    }


def _agreed(view: ItemView) -> dict[str, Any]:
    """Return the members of the answer contract that both passes say alike, in the wording that stands."""
    differing = {row.difference.kind for row in view.differences}
    if DisagreementType.ANSWERABILITY in differing:
        return {}
    a, b = view.a.contract, view.b.contract
    found: dict[str, Any] = {"answerable": a.answerable}
    found |= {
        name: wording_of(getattr(a, name), getattr(b, name))
        for name, kind in TEXT_FIELDS.items()
        if kind not in differing
    }
    if DisagreementType.DEPENDENCY_TYPE not in differing:
        found["dependency"] = a.dependency.value
    if DisagreementType.MISSING_BEHAVIOUR not in differing:
        text = wording_of(a.missing_text, b.missing_text)
        found["missing_behaviour"] = {**behaviour_value(a), "text": text}
    return found


def _side(reading: Reading, name: str, span: Any, forbidden: bool) -> dict[str, Any] | None:
    # The joint name: what an annotator called it is theirs.
    return None if span is None else reading.marked(span, name=name, forbidden=forbidden)


def _names(members: tuple[str, ...] | None) -> list[str] | None:
    return None if members is None else list(members)


def _number(guideline: Guideline | None) -> int | None:
    return guideline.number if guideline else None

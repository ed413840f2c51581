"""Decide one difference, or confirm everything that was equal: each time a new row, of which the newest is in force."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Max

from annotate.domain.alignment import align
from annotate.domain.conflicts import Conflict
from annotate.domain.content import MarkedSpan
from annotate.domain.content_codec import content_from_payload
from annotate.domain.edits import base_span, check_choice, check_edit, read_span_edit
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Choice, DisagreementType, ReasonCode
from annotate.models import AdjudicationItem, Decision, Disagreement, Person
from annotate.permissions import Actor
from annotate.records_passes import DECISION_MADE, decision_payload, record_in_study
from annotate.selectors.adjudication import difference_of, refuse_marked, waiting_for
from annotate.selectors.passes import submitted_content
from annotate.services.authorise import authorise
from annotate.services.open_item import value_bytes
from annotate.services.pass_writing import check_spans

_SPAN_KINDS = (DisagreementType.SPAN_BOUNDARY, DisagreementType.SPAN_MISSING, DisagreementType.FORBIDDEN_EVIDENCE)
MAX_REASON = 5_000


def decide(
    person: Person,
    item: AdjudicationItem,
    disagreement: Disagreement,
    choice: Choice,
    value: Any = None,
    reason_code: ReasonCode = ReasonCode.OTHER,
    reason: str = "",
) -> Decision:
    """Append a decision about `disagreement`; a later one supersedes it and never overwrites it.

    `value` goes with Choice.EDITED alone (forms: `edits.check_edit`); spans in it are re-sliced from the stored bytes.
    Raises NotAllowed (own pass included), Conflict where the item is not the newest round or waits for a pass, and
    BadInput: a reason is required where both sides are overridden.
    """
    actor = _require(person, item)
    if disagreement.item_id != item.pk:
        raise BadInput("difference", "it belongs to another item", "Reload the page.")
    choice, reason_code, reason = _words(choice, reason_code, reason)
    difference = difference_of(disagreement)
    check_choice(difference.kind, choice, reason)
    if choice is not Choice.EDITED and value is not None:
        raise BadInput("value", f"it was sent with the choice “{choice}”", "Choose “edited”, or send no value.")
    stored = None
    if choice is Choice.EDITED:
        joint = align(submitted_content(item.submission_a), submitted_content(item.submission_b))
        stored = check_edit(difference, value, [span.name for span in joint.spans])
        _check_bytes(actor, item, difference.kind, stored, difference)
    return _append(person, item, disagreement, choice, stored, reason_code, reason)


def confirm_agreed(
    person: Person,
    item: AdjudicationItem,
    reason_code: ReasonCode = ReasonCode.BETTER_SUPPORTED,
    reason: str = "",
) -> Decision:
    """Confirm everything both passes say alike; needed once before an item is settled. Raises as `decide` does."""
    _require(person, item)
    _, reason_code, reason = _words(Choice.A, reason_code, reason)
    return _append(person, item, None, Choice.A, None, reason_code, reason)


def _require(person: Person, item: AdjudicationItem) -> Actor:
    actor = authorise(person, item.question.study, "item.decide")
    refuse_marked(actor, item, "item.decide")
    return actor


def _words(choice: Choice, reason_code: ReasonCode, reason: str) -> tuple[Choice, ReasonCode, str]:
    try:
        choice = Choice(choice)
    except ValueError as error:
        raise BadInput("choice", f"“{choice}” is none", f"Use one of {', '.join(Choice)}.") from error
    try:
        reason_code = ReasonCode(reason_code)
    except ValueError as error:
        raise BadInput("reason code", f"“{reason_code}” is none", f"Use one of {', '.join(ReasonCode)}.") from error
    if "\x00" in reason or len(reason) > MAX_REASON:
        raise BadInput("reason", "it holds a NUL or is too long", f"Write up to {MAX_REASON} characters.")
    return choice, reason_code, reason.strip()


def _check_bytes(actor: Actor, item: AdjudicationItem, kind: DisagreementType, stored: Any, difference: Any) -> None:
    spans: list[MarkedSpan] = []
    if kind is DisagreementType.ANSWERABILITY:
        spans = list(content_from_payload(stored).spans)
    elif kind in _SPAN_KINDS:
        edit = read_span_edit(stored, base_span(difference))
        spans = [MarkedSpan(edit.version, edit.start, edit.end, difference.subject)]
    check_spans(actor, item.question.study, spans)


def _append(
    person: Person,
    item: AdjudicationItem,
    disagreement: Disagreement | None,
    choice: Choice,
    value: Any,
    reason_code: ReasonCode,
    reason: str,
) -> Decision:
    with transaction.atomic():
        # The lock gives two adjudicators at one moment two ordinals, in the order they come.
        held = (
            AdjudicationItem.objects.select_for_update(of=("self",)).select_related("question__study").get(pk=item.pk)
        )
        if waiting := waiting_for(held):
            raise Conflict("item", waiting, "Reload the page.")
        last = held.decisions.aggregate(last=Max("ordinal"))["last"] or 0
        decision = Decision.objects.create(
            item=held,
            disagreement=disagreement,
            ordinal=last + 1,
            choice=choice,
            value=value_bytes(value),
            reason_code=reason_code,
            reason=reason,
            decided_by=person,
        )
        record_in_study(DECISION_MADE, decision_payload(decision), held.question)
    return decision

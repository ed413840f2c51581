"""Decide differences, or confirm everything that was equal: each time a new row, of which the newest is in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max

from annotate.domain.alignment import align
from annotate.domain.conflicts import Conflict
from annotate.domain.content import MarkedSpan
from annotate.domain.content_codec import content_from_payload
from annotate.domain.disagreements import Difference
from annotate.domain.edits import base_span, check_choice, check_edit, read_span_edit
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Choice, DisagreementType, ReasonCode
from annotate.domain.written import written
from annotate.models import AdjudicationItem, Decision, Disagreement, Person
from annotate.permissions import Actor
from annotate.records_passes import DECISION_MADE, decision_payload, record_in_study
from annotate.selectors.adjudication import difference_of, refuse_marked, waiting_for
from annotate.selectors.discussion import is_settled
from annotate.selectors.passes import submitted_content
from annotate.services.authorise import authorise
from annotate.services.clock import refuse_early
from annotate.services.open_item import value_bytes
from annotate.services.pass_writing import check_spans

_SPAN_KINDS = (DisagreementType.SPAN_BOUNDARY, DisagreementType.SPAN_MISSING, DisagreementType.FORBIDDEN_EVIDENCE)


@dataclass(frozen=True)
class NewDecision:
    """What is decided about one difference; without one (None) it confirms what both passes say alike.

    `value` goes with Choice.EDITED alone (forms: `edits.check_edit`). `where` leads every problem found with it. `seen`
    is the ordinal of the decision that was in force where it was made, 0 for none; None asks for no comparison.
    """

    disagreement: Disagreement | None
    choice: Choice
    value: Any = None
    reason_code: ReasonCode = ReasonCode.OTHER
    reason: str = ""
    where: str = ""
    seen: int | None = None


def decide(
    person: Person,
    item: AdjudicationItem,
    disagreement: Disagreement,
    choice: Choice,
    value: Any = None,
    reason_code: ReasonCode = ReasonCode.OTHER,
    reason: str = "",
    seen: int | None = None,
) -> Decision:
    """Append a decision about `disagreement`; a later one supersedes it and never overwrites it.

    `value` goes with Choice.EDITED alone (forms: `edits.check_edit`); spans in it are re-sliced from the stored bytes.
    Raises NotAllowed (own pass included), Conflict where the item is not the newest round, waits for a pass, is settled
    and not opened again, or was decided otherwise since decision `seen`, and BadInput: a reason is required where both
    sides are overridden.
    """
    return decide_all(person, item, [NewDecision(disagreement, choice, value, reason_code, reason, seen=seen)])[0]


def confirm_agreed(
    person: Person,
    item: AdjudicationItem,
    reason_code: ReasonCode = ReasonCode.BETTER_SUPPORTED,
    reason: str = "",
) -> Decision:
    """Confirm everything both passes say alike; needed once before an item is settled. Raises as `decide` does."""
    return decide_all(person, item, [NewDecision(None, Choice.A, None, reason_code, reason)])[0]


def decide_all(person: Person, item: AdjudicationItem, made: Sequence[NewDecision]) -> list[Decision]:
    """Append decisions in the order given, all or none, with one record each; raises as `decide` does for the first.

    The same by the same person as what is in force is not decided again: the decision there is, is returned, also
    where the item is settled by now.
    """
    actor = authorise(person, item.question.study, "item.decide")
    refuse_marked(actor, item, "item.decide")
    rows = [_row(actor, item, one) for one in made]
    with transaction.atomic():
        held = locked_item(item.pk)
        if waiting := waiting_for(held):
            raise Conflict("item", waiting, "Reload the page.")
        earlier = list(held.decisions.order_by("ordinal"))
        in_force = {row.disagreement_id: row for row in earlier}
        ordinal = earlier[-1].ordinal if earlier else 0
        new: list[Decision] = []
        standing: list[Decision] = []
        for one, row in zip(made, rows, strict=True):
            row.item, row.decided_by = held, person
            before = in_force.get(row.disagreement_id)
            if before is None or not _repeats(before, row):
                if not new:
                    refuse_settled(held)
                if one.seen is not None and one.seen != (before.ordinal if before else 0):
                    raise Conflict(
                        one.where or "difference",
                        "it was decided since the page was drawn",
                        "Look at that decision, which is in force; decide again if you would have it otherwise.",
                    )
                ordinal += 1
                row.ordinal = ordinal
                in_force[row.disagreement_id] = row
                new.append(row)
            standing.append(in_force[row.disagreement_id])
        Decision.objects.bulk_create(new)
        settled = held.results.aggregate(at=Max("settled_at"))["at"] if new else None
        for row in new:
            refuse_early(row.decided_at, settled, "result", after=True)
            record_in_study(DECISION_MADE, decision_payload(row), held.question)
    return standing


def locked_item(pk: int) -> AdjudicationItem:
    """Return an item locked with its question, in a transaction: what follows sees all that was done about both.

    Two adjudicators at one moment get two ordinals, in the order they come; whoever returns or submits a pass of the
    question comes before or after, not in between.
    """
    return (
        AdjudicationItem.objects.select_for_update(of=("self", "question"))
        .select_related("question__study", "submission_a", "submission_b")
        .get(pk=pk)
    )


def refuse_settled(held: AdjudicationItem) -> None:
    """Raise Conflict for a settled item: call it with the item locked."""
    if is_settled(held):
        raise Conflict(
            "item",
            "it is settled, so nothing more is decided about it",
            "Open it again first: write why under “Discussion” on its page and press “Open again”; its result stays in "
            "the history.",
        )


def _repeats(before: Decision, row: Decision) -> bool:
    """Whether the same person decides the same again, as the second half of a double click does."""
    told = ("decided_by_id", "choice", "reason_code", "reason")
    same = all(getattr(before, name) == getattr(row, name) for name in told)
    return same and bytes(before.value) == bytes(row.value)


def _row(actor: Actor, item: AdjudicationItem, one: NewDecision) -> Decision:
    """Return the unsaved row of a decision that was checked; BadInput under `one.where` where it does not fit."""
    try:
        choice, reason_code, reason = _words(one.choice, one.reason_code, one.reason)
        stored = None
        if one.disagreement is not None:
            if one.disagreement.item_id != item.pk:
                raise BadInput("difference", "it belongs to another item", "Reload the page.")
            stored = _checked_value(actor, item, difference_of(one.disagreement), choice, one.value, reason)
    except BadInput as problem:
        if not one.where:
            raise
        raise problem.inside(one.where) from problem
    return Decision(
        disagreement=one.disagreement,
        choice=choice,
        value=value_bytes(stored),
        reason_code=reason_code,
        reason=reason,
    )


def _checked_value(
    actor: Actor, item: AdjudicationItem, difference: Difference, choice: Choice, value: Any, reason: str
) -> Any:
    check_choice(difference.kind, choice, reason)
    if choice is not Choice.EDITED:
        if value is not None:
            raise BadInput("value", f"it was sent with the choice “{choice}”", "Choose “edited”, or send no value.")
        return None
    joint = align(submitted_content(item.submission_a), submitted_content(item.submission_b))
    stored = check_edit(difference, value, [span.name for span in joint.spans])
    _check_bytes(actor, item, difference, stored)
    return stored


def _words(choice: Choice, reason_code: ReasonCode, reason: str) -> tuple[Choice, ReasonCode, str]:
    try:
        choice = Choice(choice)
    except ValueError as error:
        raise BadInput("choice", f"“{choice}” is none", f"Use one of {', '.join(Choice)}.") from error
    try:
        reason_code = ReasonCode(reason_code)
    except ValueError as error:
        raise BadInput("reason code", f"“{reason_code}” is none", f"Use one of {', '.join(ReasonCode)}.") from error
    return choice, reason_code, written(reason, "reason").strip()


def _check_bytes(actor: Actor, item: AdjudicationItem, difference: Difference, stored: Any) -> None:
    spans: list[MarkedSpan] = []
    if difference.kind is DisagreementType.ANSWERABILITY:
        spans = list(content_from_payload(stored).spans)
    elif difference.kind in _SPAN_KINDS:
        edit = read_span_edit(stored, base_span(difference))
        spans = [MarkedSpan(edit.version, edit.start, edit.end, difference.subject)]
    check_spans(actor, item.question.study, spans)

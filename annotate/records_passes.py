"""What the ledger is told about passes, decisions and fixture sets: one payload per kind, built from the rows alone.

The services append these payloads and `annotate.verifiers_passes` rebuilds them to compare. Texts that people wrote and
digests short enough to be guessed stand in the fields `TEXT_FIELDS` names; a text-free export keys them.
"""

from __future__ import annotations

from typing import Any

from annotate.domain.scopes import study_scope
from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Decision,
    Disagreement,
    DiscussionNote,
    FixtureSet,
    HeldOutOpening,
    Question,
    Submission,
)
from annotate.permissions import By
from annotate.records import authored
from annotate.selectors.pass_history import history_digest
from ledger.domain.canonical import parse_canonical
from ledger.domain.chain import timestamp
from ledger.models import Record
from ledger.services import append

PASS_SUBMITTED = "pass.submitted"  # noqa: S105 - a kind of record, not a password
PASS_RETURNED = "pass.returned"  # noqa: S105
ITEM_OPENED = "item.opened"
DECISION_MADE = "decision.made"
ITEM_SETTLED = "item.settled"
FIXTURES_FROZEN = "fixtures.frozen"
HELD_OUT_OPENED = "held-out.opened"
DISCUSSION_NOTED = "discussion.noted"

TEXT_FIELDS: dict[str, tuple[str, ...]] = {
    PASS_SUBMITTED: ("content", "history"),
    PASS_RETURNED: ("reason",),
    ITEM_OPENED: ("a", "b", "differences[].a", "differences[].b"),
    DECISION_MADE: ("value", "reason"),
    ITEM_SETTLED: ("content", "spans[].reason", "alternatives_reason"),
    FIXTURES_FROZEN: (),
    HELD_OUT_OPENED: ("purpose",),
    DISCUSSION_NOTED: ("text",),
}


def submission_payload(submission: Submission) -> dict[str, Any]:
    """Return what a submission is: its content, and every revision up to it, by digest.

    Needs `work.assignment.question.study`, `guideline` and `submitted_by`.
    """
    assignment = submission.work.assignment
    return {
        "study": assignment.question.study.slug,
        "question": assignment.question.key,
        "slot": assignment.slot,
        "ordinal": submission.ordinal,
        "revision": submission.revision,
        "content": submission.digest,
        "history": history_digest(submission.work, submission.revision),
        "guideline": submission.guideline.number if submission.guideline else None,
        **authored(submission.submitted_by, submission.submitted_at),
    }


def item_payload(item: AdjudicationItem) -> dict[str, Any]:
    """Return which submissions stand as A and B, by slot and digest, and every difference between them."""
    return {
        "study": item.question.study.slug,
        "question": item.question.key,
        "round": item.round,
        "a": item.submission_a.digest,
        "b": item.submission_b.digest,
        # Two passes that agree in full have one digest.
        "passes": [_submitted_as(item.submission_a), _submitted_as(item.submission_b)],
        "at": timestamp(item.created_at),
        "differences": [difference_payload(row) for row in item.disagreements.order_by("position")],
    }


def _submitted_as(submission: Submission) -> dict[str, int]:
    return {"slot": submission.work.assignment.slot, "ordinal": submission.ordinal}


def difference_payload(row: Disagreement) -> dict[str, Any]:
    """Return one stored difference with its values as they are."""
    return {"kind": row.kind, "subject": row.subject, "a": stored_value(row.value_a), "b": stored_value(row.value_b)}


def decision_payload(decision: Decision) -> dict[str, Any]:
    """Return one decision; `difference` is its position, None for the confirmation of all that was equal."""
    row = decision.disagreement
    return {
        "study": decision.item.question.study.slug,
        "question": decision.item.question.key,
        "round": decision.item.round,
        "ordinal": decision.ordinal,
        "difference": row.position if row else None,
        "choice": decision.choice,
        "value": stored_value(decision.value),
        "reason_code": decision.reason_code,
        "reason": decision.reason,
        **authored(decision.decided_by, decision.decided_at),
    }


def settled_payload(result: AdjudicatedResult) -> dict[str, Any]:
    """Return a settled result: its content by digest, its segment, and what was said of every span."""
    return {
        "study": result.question.study.slug,
        "question": result.question.key,
        "round": result.item.round if result.item else None,
        "ordinal": result.ordinal,
        "segment": result.segment,
        "content": result.digest,
        "spans": [
            {"name": row.span_name, "necessity": row.necessity, "reason": row.reason}
            for row in result.span_decisions.order_by("span_name")
        ],
        "alternatives_reason": result.alternatives_reason,
        **authored(result.settled_by, result.settled_at),
    }


def frozen_payload(fixture_set: FixtureSet) -> dict[str, Any]:
    """Return what a fixture set is: its digest, which covers every fixture and every source version of the study."""
    return {
        "study": fixture_set.study.slug,
        "name": fixture_set.name,
        "digest": fixture_set.digest,
        "fixtures": fixture_set.fixtures.count(),
        "successor_of": fixture_set.successor_of.digest if fixture_set.successor_of else None,
        **authored(fixture_set.frozen_by, fixture_set.frozen_at),
    }


def opening_payload(opening: HeldOutOpening) -> dict[str, Any]:
    """Return one use of a held-out partition."""
    return {
        "study": opening.fixture_set.study.slug,
        "fixture_set": opening.fixture_set.digest,
        "purpose": opening.purpose,
        "number": opening.fixture_set.openings.filter(pk__lte=opening.pk).count(),
        **authored(opening.opened_by, opening.opened_at),
    }


def note_payload(note: DiscussionNote) -> dict[str, Any]:
    """Return one contribution to a discussion; `slot` is whose pass it is about. Needs `question.study`."""
    return {
        "study": note.question.study.slug,
        "question": note.question.key,
        "round": note.round,
        "ordinal": note.ordinal,
        "kind": note.kind,
        "slot": note.assignment.slot if note.assignment else None,
        "annotator": note.assignment.annotator.username if note.assignment else None,
        "text": note.text,
        **authored(note.written_by, note.written_at),
    }


def stored_value(value: bytes | memoryview) -> Any:
    """Return the value kept as canonical bytes; None for no bytes."""
    data = bytes(value)
    return parse_canonical(data) if data else None


def record_in_study(
    kind: str, payload: dict[str, Any], question: Question | None = None, by: By | None = None
) -> Record:
    """Append a payload under its study's scope; what is said about a question carries its reader's labels."""
    labels = sorted(question.reader_labels) if question else []
    return append(kind, {**payload, "by": by.username} if by else payload, study_scope(payload["study"]), labels)

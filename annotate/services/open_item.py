"""Compare the two submissions of a question and store what differs."""

from __future__ import annotations

import secrets
from typing import Any

from annotate.domain.disagreements import differences
from annotate.models import AdjudicationItem, Assignment, Disagreement, Question, Submission
from annotate.records_passes import ITEM_OPENED, item_payload, record_in_study
from annotate.selectors.passes import submitted_content
from ledger.domain.canonical import canonical_bytes


def open_item_if_both_in(question: Question) -> AdjudicationItem | None:
    """Make the next round's item when both passes are in; None while one is missing or returned.

    Call it inside the transaction of a submission, with the question locked: two submissions at one moment then make
    one item. Which submission is shown as A is drawn once, by `secrets`, and recorded in the item alone.
    """
    assignments = list(question.assignments.exclude(state=Assignment.State.WITHDRAWN).order_by("slot"))
    if len(assignments) != 2 or any(item.state != Assignment.State.SUBMITTED for item in assignments):
        return None
    newest = [
        Submission.objects.filter(work__assignment=assignment).order_by("-ordinal").first()
        for assignment in assignments
    ]
    a, b = newest if secrets.randbelow(2) else newest[::-1]
    if a is None or b is None:
        raise RuntimeError(f"question {question.key}: an assignment is submitted without a submission")
    last = question.items.order_by("-round").first()
    item = AdjudicationItem.objects.create(
        question=question, round=(last.round if last else 0) + 1, submission_a=a, submission_b=b
    )
    found = differences(submitted_content(a), submitted_content(b))
    Disagreement.objects.bulk_create(
        Disagreement(
            item=item,
            position=position,
            kind=difference.kind,
            subject=difference.subject,
            value_a=value_bytes(difference.value_a),
            value_b=value_bytes(difference.value_b),
        )
        for position, difference in enumerate(found)
    )
    record_in_study(ITEM_OPENED, item_payload(item), question)
    return item


def value_bytes(value: Any) -> bytes:
    """Return the canonical bytes a value is stored as; no bytes where a side has nothing."""
    return b"" if value is None else canonical_bytes(value)

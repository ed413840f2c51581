"""Settle items whose passes agree in full as one reviewed batch, each with its own recorded decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import Necessity, ReasonCode, Segment
from annotate.models import AdjudicatedResult, AdjudicationItem, Person
from annotate.services.decide import confirm_agreed
from annotate.services.settle_item import settle_item

#: More than a person can have looked over in one go.
MOST = 100


@dataclass(frozen=True)
class Reviewed:
    """One item of a batch: its segment, and for every span of a set whether it is necessary, and why."""

    item: AdjudicationItem
    segment: Segment
    necessity: Mapping[str, tuple[Necessity, str]]


def settle_agreed(person: Person, batch: Sequence[Reviewed], reason: str) -> list[AdjudicatedResult]:
    """Confirm and settle every item of `batch`, all or none; `reason` stands with each confirmation.

    Raises NotAllowed as `decide` does, and BadInput(s) naming each item that has differences, that waits for a pass,
    or whose spans or segment are not decided.
    """
    if not batch:
        raise BadInput("batch", "no item was chosen", "Tick the items you have looked over.")
    if len(batch) > MOST:
        raise BadInput("batch", f"{len(batch)} items were chosen", f"Review at most {MOST} at a time.")
    problems: list[BadInput] = []
    made: list[AdjudicatedResult] = []
    with transaction.atomic():
        for one in sorted(batch, key=lambda one: one.item.pk):
            where = f"question {one.item.question.key}"
            if one.item.disagreements.exists():
                problems.append(BadInput(where, "its passes differ", "Decide it on its own page."))
                continue
            try:
                confirm_agreed(person, one.item, ReasonCode.BETTER_SUPPORTED, reason)
                made.append(settle_item(person, one.item, one.segment, one.necessity))
            except BadInput as problem:
                problems.append(problem.inside(where))
        if problems:
            # Raised inside the transaction: what was confirmed before it goes too.
            raise problems[0] if len(problems) == 1 else BadInputs("batch", problems)
    return made

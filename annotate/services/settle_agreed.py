"""Settle items whose passes agree in full as one reviewed batch, each with its own recorded decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from annotate.domain.conflicts import Conflict, Conflicts
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import Necessity, ReasonCode, Segment
from annotate.models import AdjudicatedResult, AdjudicationItem, Person
from annotate.selectors.adjudication import refuse_marked, state_of, waiting_for
from annotate.selectors.discussion import is_settled
from annotate.services.authorise import authorise
from annotate.services.decide import confirm_agreed
from annotate.services.lock_questions import lock_questions
from annotate.services.settle_item import settle_item

#: More than a person can have looked over in one go.
MOST = 100


@dataclass(frozen=True)
class Reviewed:
    """One item of a batch: its segment, and for every span of a set whether it is necessary, and why.

    `seen` is the `state_of` the item that was looked over; None asks for no comparison.
    """

    item: AdjudicationItem
    segment: Segment
    necessity: Mapping[str, tuple[Necessity, str]]
    seen: str | None = None


def settle_agreed(person: Person, batch: Sequence[Reviewed], reason: str) -> list[AdjudicatedResult]:
    """Confirm and settle every item of `batch`, all or none; `reason` stands with each confirmation.

    The same batch by the same person again (a double click) returns the results there are. Raises NotAllowed as
    `decide` does; Conflict or Conflicts naming each item that stands otherwise than `seen`, is settled or waits for a
    pass; and where there is none, BadInput(s) naming each that has differences, or whose spans or segment are not
    decided.
    """
    if not batch:
        raise BadInput("batch", "no item was chosen", "Tick the items you have looked over.")
    if len(batch) > MOST:
        raise BadInput("batch", f"{len(batch)} items were chosen", f"Review at most {MOST} at a time.")
    problems: list[BadInput] = []
    made: list[AdjudicatedResult] = []
    with transaction.atomic():
        lock_questions({one.item.question_id for one in batch})
        for one in sorted(batch, key=lambda one: one.item.pk):
            try:
                made.append(_settle(person, one, reason))
            except BadInput as problem:
                problems.append(problem.inside(f"question {one.item.question.key}"))
        # Raised inside the transaction: what was confirmed before it goes too.
        if changed := [problem for problem in problems if isinstance(problem, Conflict)]:
            raise changed[0] if len(changed) == 1 else Conflicts("batch", changed)
        if problems:
            raise problems[0] if len(problems) == 1 else BadInputs("batch", problems)
    return made


def _settle(person: Person, one: Reviewed, reason: str) -> AdjudicatedResult:
    item = one.item
    refuse_marked(authorise(person, item.question.study, "item.decide"), item, "item.decide")
    if item.disagreements.exists():
        raise BadInput("", "its passes differ", "Decide it on its own page.")
    # A settled item is refused below, or said again as it is.
    if one.seen is not None and one.seen != state_of(item) and not is_settled(item) and not waiting_for(item):
        raise Conflict(
            "",
            "it was decided, settled or opened again since the page was drawn",
            "Look it over as it stands now, and tick it again.",
        )
    confirm_agreed(person, item, ReasonCode.BETTER_SUPPORTED, reason)
    return settle_item(person, item, one.segment, one.necessity)

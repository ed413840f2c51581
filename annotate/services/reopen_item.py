"""Open a settled item again, with a reason."""

from __future__ import annotations

from django.db import transaction

from annotate.domain.conflicts import Conflict
from annotate.domain.vocabulary import NoteKind
from annotate.models import AdjudicationItem, DiscussionNote, Person
from annotate.selectors.adjudication import refuse_marked, state_of, waiting_for
from annotate.selectors.discussion import is_reopened
from annotate.services.authorise import authorise
from annotate.services.clock import refuse_early
from annotate.services.decide import locked_item
from annotate.services.discuss import said_last, trimmed, write_note


def reopen_item(person: Person, item: AdjudicationItem, reason: str, seen: str | None = None) -> DiscussionNote:
    """Take a settled item back into the queue; nothing of it can be frozen until it is settled again.

    Opening it for the same reason twice in a row (a double click) opens it once. Every decision and result stays.
    Settling makes the next revision of the result, also where it says the same.
    `seen` is the `state_of` the item that was looked at; None asks for no comparison.
    Raises NotAllowed (own question included), BadInput without a reason, Conflict for an item that is not settled,
    is open again already, stands otherwise than `seen`, or waits for a pass, and where this server's
    clock runs behind (`clock`).
    """
    refuse_marked(authorise(person, item.question.study, "item.decide"), item, "item.decide")
    with transaction.atomic():
        held = locked_item(item.pk)
        if waiting := waiting_for(held):
            raise Conflict("item", waiting, "Reload the page.")
        last = held.results.order_by("-ordinal").first()
        if last is None or is_reopened(held):
            if same := said_last(person, held.question, NoteKind.REOPENED, trimmed(reason)):
                return same
            raise Conflict("item", "it is open", "Only a settled item can be opened again. Reload the page.")
        if seen is not None and seen != state_of(held):
            raise Conflict(
                "item", "it was settled anew since you looked at it", "Look at its result; open it again if you must."
            )
        note = write_note(person, held.question, NoteKind.REOPENED, reason)
        refuse_early(note.written_at, last.settled_at, "result", after=True)
    return note

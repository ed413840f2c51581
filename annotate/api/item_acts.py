"""What an adjudicator does about an item: decide, confirm, settle, return a pass, open again, discuss.

Each act says what it was decided from (`seen`): what came in between is a conflict. The same by the same person again,
when an answer was lost, is answered as it was and writes nothing.
"""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.fields import count, members, text, word
from annotate.api.item_objects import decision_object, settled_at, standing_object
from annotate.api.items import MAX_SEEN, ItemEndpoint, judged
from annotate.api.listing import PAGE, page_of, parameters
from annotate.api.span_objects import Reading, spans_in
from annotate.api.studies import times
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Choice, DisagreementType, ReasonCode, Segment
from annotate.domain.written import MOST
from annotate.models import Decision, Disagreement, Submission
from annotate.selectors.adjudication import decision_view
from annotate.selectors.discussion import NoteView, thread_of
from annotate.services.decide import confirm_agreed, decide
from annotate.services.discuss import add_note
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.settle_item import settle_item
from annotate.views.item_address import submission_of
from annotate.views.item_history import read_moment, round_at


class ItemAct(ItemEndpoint):
    """An endpoint that does one thing about an item."""

    def standing(self, **more: Any) -> dict[str, Any]:
        """Return how the item stands after what was done, `more` beside it."""
        return {**standing_object(self.item), **more}

    def submission(self, side: Any) -> Submission:
        """Return the submission that stands as A or B; raises BadInput for no side."""
        found = submission_of(self.item, side) if isinstance(side, str) else None
        if found is None:
            raise BadInput("side", "it is none", "Send a or b.")
        return found


class ItemDecisions(ItemAct):
    """Decisions about differences."""

    actions = {"POST": "item.decide"}

    def post(self, request: Request, pk: int) -> Response:
        """Decide one difference; `seen` is the ordinal of the decision that was in force (0: none).

        409 where it was decided otherwise since, or the item is settled, waits, or is no longer the newest round.
        """
        parameters(request, {})
        body = members(request.data, ["difference", "choice", "seen"], ["value", "reason_code", "reason"])
        row = self._difference(body["difference"])
        made = decide(
            self.person,
            self.item,
            row,
            word(Choice, body["choice"], "choice"),
            body.get("value"),
            word(ReasonCode, body.get("reason_code", ReasonCode.OTHER.value), "reason_code"),
            text(body.get("reason", ""), "reason", most=MOST),
            count(body["seen"], "seen"),
        )
        return Response(self.standing(decision=self._object(row, made)), status=201)

    def _difference(self, position: Any) -> Disagreement:
        found = self.item.disagreements.filter(position=count(position, "difference")).first()
        if found is None:
            raise BadInput("difference", f"the item has no difference {position}", "Send its number, from 0.")
        return found

    def _object(self, row: Disagreement, made: Decision) -> dict[str, Any] | None:
        view = decision_view(made)
        reading = Reading(self.person, self.actor, self.study, spans_in([view.value]))
        return decision_object(reading, DisagreementType(row.kind), view)


class ItemConfirmation(ItemAct):
    """What both passes say alike."""

    actions = {"POST": "item.decide"}

    def post(self, request: Request, pk: int) -> Response:
        """Confirm it; needed once before an item is settled. 409 as for a decision."""
        parameters(request, {})
        body = members(request.data, [], ["reason"])
        made = confirm_agreed(self.person, self.item, reason=text(body.get("reason", ""), "reason", most=MOST))
        reading = Reading(self.person, self.actor, self.study, [])
        return Response(self.standing(confirmed=decision_object(reading, None, decision_view(made))), status=201)


class ItemResults(ItemAct):
    """What an item is settled as."""

    actions = {"POST": "item.decide"}

    def post(self, request: Request, pk: int) -> Response:
        """Settle what the decisions in force make of the two passes; `seen` is the item's.

        409 where it was decided, settled or opened again since.
        """
        parameters(request, {})
        body = members(request.data, ["segment", "spans", "seen"], ["alternatives_reason"])
        made = settle_item(
            self.person,
            self.item,
            word(Segment, body["segment"], "segment"),
            judged(body["spans"], "spans"),
            text(body.get("alternatives_reason", ""), "alternatives_reason", most=MOST),
            text(body["seen"], "seen", most=MAX_SEEN),
        )
        return Response(self.standing(result=settled_at(made)), status=201)


class ItemReturn(ItemAct):
    """What hands a pass back to its annotator."""

    actions = {"POST": "pass.return"}

    def post(self, request: Request, pk: int) -> Response:
        """Return the pass that stands as `side`, with a reason; 409 where it was submitted again since."""
        parameters(request, {})
        body = members(request.data, ["side", "reason"])
        about = self.submission(body["side"])
        reason = text(body["reason"], "reason", most=MOST)
        return_pass(self.person, about.work.assignment, reason, about)
        return Response(self.standing())


class ItemReopening(ItemAct):
    """What takes a settled item back into the queue."""

    actions = {"POST": "item.decide"}

    def post(self, request: Request, pk: int) -> Response:
        """Open it again, with a reason; 409 where it is open, waits, or was settled anew since `seen`."""
        parameters(request, {})
        body = members(request.data, ["reason", "seen"])
        reason = text(body["reason"], "reason", most=MOST)
        reopen_item(self.person, self.item, reason, text(body["seen"], "seen", most=MAX_SEEN))
        return Response(self.standing())


class ItemNotes(ItemAct):
    """The discussion of an item's question, in every round."""

    actions = {"GET": "item.view", "POST": "discussion.write"}

    def get(self, request: Request, pk: int) -> Response:
        """List it, oldest first, or what of it stood there at `?as_of=`."""
        given = parameters(request, {**PAGE, "as_of": read_moment})
        as_of = given.get("as_of")
        item = round_at(self.item, as_of) if as_of else self.item
        notes = list(enumerate(thread_of(item, as_of), 1))
        return page_of(request, given, notes, lambda row: row[0], lambda rows: [self._object(*row) for row in rows])

    def post(self, request: Request, pk: int) -> Response:
        """Add a note about a pass (`side`: a or b), or among adjudicators; `seen` is the number of the last one read.

        409 where the discussion went on since.
        """
        parameters(request, {})
        body = members(request.data, ["text", "seen"], ["side"])
        side = body.get("side")
        about = None if side is None else self.submission(side).work.assignment
        said = text(body["text"], "text", most=MOST)
        made = add_note(self.person, self.item, said, about, count(body["seen"], "seen"))
        # A question's notes are numbered without a gap.
        return Response(self._object(made.ordinal, thread_of(self.item)[made.ordinal - 1]), status=201)

    def _object(self, place: int, note: NoteView) -> dict[str, Any]:
        return {**note_object(place, note), "about": note.side.lower() or None, "round": note.round}


def note_object(place: int, note: NoteView) -> dict[str, Any]:
    """Return a contribution without a name; `number` is its place in the discussion, from 1."""
    return {
        "number": place,
        "kind": note.kind.value,
        "author": note.author,
        "text": note.text,
        "written_at": times(note.written_at),
    }

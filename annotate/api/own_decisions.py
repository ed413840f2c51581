"""What an annotator is told of their submitted pass: what was decided and why, and the discussion of it."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.fields import count, members, text
from annotate.api.item_acts import note_object
from annotate.api.listing import PAGE, page_of, parameters
from annotate.api.span_objects import Reading, spans_in
from annotate.api.studies import times
from annotate.api.tasks import TaskEndpoint
from annotate.domain.written import MOST
from annotate.selectors.discussion import own_thread
from annotate.selectors.own_decisions import OwnDecisions, own_decisions
from annotate.services.discuss import reply


class TaskDecisions(TaskEndpoint):
    """What was decided about a task's pass."""

    actions = {"GET": "pass.edit"}

    def get(self, request: Request, pk: int) -> Response:
        """Return it once the question is settled; `settled` is null before, and while it is open again."""
        parameters(request, {})
        told = own_decisions(self.person, self.task)
        return Response({"settled": self._object(told) if told else None})

    def _object(self, told: OwnDecisions) -> dict[str, Any]:
        values = [value for one in told.decisions for value in (one.yours, one.settled)]
        reading = Reading(self.person, self.actor, self.study, [*told.content.spans, *spans_in(values)])
        return {
            "round": told.round,
            "segment": told.segment.value,
            "settled_at": times(told.settled_at),
            "content": reading.content(told.content),
            "spans": {one.span.name: {"necessity": one.necessity.value, "reason": one.reason} for one in told.spans},
            "decisions": [
                {
                    "type": one.kind.value,
                    "subject": one.subject,
                    "yours": reading.value(one.kind, one.yours),
                    "taken": one.taken,
                    "settled": reading.value(one.kind, one.settled),
                    "reason_code": one.reason_code.value,
                    "reason": one.reason,
                }
                for one in told.decisions
            ],
        }


class TaskNotes(TaskEndpoint):
    """The discussion of a pass, open to its annotator once it was returned to them."""

    actions = {"GET": "pass.edit", "POST": "discussion.write"}

    def get(self, request: Request, pk: int) -> Response:
        """List it, oldest first; nothing before the pass was returned. No round: it would tell of the other pass."""
        given = parameters(request, PAGE)
        notes = list(enumerate(own_thread(self.task), 1))
        return page_of(request, given, notes, lambda row: row[0], lambda rows: [note_object(*row) for row in rows])

    def post(self, request: Request, pk: int) -> Response:
        """Reply; `seen` is the number of the last contribution read.

        403 before a return, 409 where the discussion went on since.
        """
        parameters(request, {})
        body = members(request.data, ["text", "seen"])
        made = reply(self.person, self.task, text(body["text"], "text", most=MOST), count(body["seen"], "seen"))
        place = self.task.notes.filter(ordinal__lte=made.ordinal).count()
        return Response(note_object(place, own_thread(self.task)[place - 1]), status=201)

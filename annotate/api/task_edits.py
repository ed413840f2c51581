"""Single edits of an own task, the time worked on it, and the keys a person chose for the workspace."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.endpoint import Endpoint, SignedIn
from annotate.api.fields import idempotency_key, if_match, members, revision_tag
from annotate.api.listing import parameters
from annotate.api.studies import times
from annotate.api.tasks import TaskEndpoint
from annotate.domain.errors import BadInput
from annotate.domain.keys import keys_of
from annotate.domain.pass_edits import read_edits
from annotate.services.choose_keys import choose_keys
from annotate.services.count_time import count_time
from annotate.services.edit_pass import edit_pass
from annotate.services.own_task import NotYours, OwnTask, own_task


class TaskEdits(TaskEndpoint):
    """Changes of a pass as they are made: a batch is one revision."""

    actions = {"POST": "pass.edit"}

    own: OwnTask

    def enter(self, action: str) -> None:
        """Find the task by its annotator, with their role: one statement."""
        try:
            self.own = own_task(self.person, self.kwargs["pk"], action)
        except NotYours as error:
            raise Http404("there is no such task of this person") from error
        if self.own.withdrawn:
            raise Http404("the task was given to somebody else")

    def post(self, request: Request, pk: int) -> Response:
        """Apply the edits to the revision that `If-Match` names; the same `Idempotency-Key` again is one write.

        409 with both texts when the pass has moved on; what was meant is kept as a refused save.
        """
        parameters(request, {})
        expected, key = if_match(request), idempotency_key(request)
        body = members(request.data, ["edits"], ["seconds"])
        batch, seconds = read_edits(body["edits"]), _seconds(body.get("seconds", 0))
        saved = edit_pass(self.own, expected, batch, key=key, seconds=seconds)
        return Response(
            {
                "revision": saved.revision,
                "saved_at": times(saved.saved_at),
                "quotes": saved.quotes,
                "repeated": saved.repeated,
            },
            headers={"ETag": revision_tag(saved.revision)},
        )


class TaskTime(TaskEndpoint):
    """Time worked on a task without changing it: reading."""

    actions = {"POST": "pass.edit"}

    def post(self, request: Request, pk: int) -> Response:
        """Add `seconds` to the task's time."""
        parameters(request, {})
        seconds = _seconds(members(request.data, ["seconds"])["seconds"])
        return Response({"active_seconds": count_time(self.person, self.task, seconds)})


class MyKeys(Endpoint):
    """The person's keys of the workspace."""

    permission_classes = [SignedIn]

    def get(self, request: Request) -> Response:
        """Return action → key, for every action."""
        parameters(request, {})
        return Response({"keys": keys_of(self.person.keys)})

    def put(self, request: Request) -> Response:
        """Choose keys; an action that is left out gets its own key back."""
        parameters(request, {})
        chosen = members(request.data, ["keys"])["keys"]
        return Response({"keys": keys_of(choose_keys(self.person, chosen))})


def _seconds(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput("seconds", "it is no whole number of seconds", "Send 0 or more.")
    return value

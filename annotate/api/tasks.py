"""An annotator's own tasks: read a pass at a revision, save it from a known revision, submit it once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.endpoint import Endpoint, SignedIn, StudyEndpoint
from annotate.api.fields import idempotency_key, if_match, members, revision_tag, text
from annotate.api.listing import name, number, one_of, paged, parameters
from annotate.api.studies import times
from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_from_payload, content_payload
from annotate.domain.errors import BadInput
from annotate.models import Assignment, Pass, Person, Submission
from annotate.permissions import actor_for, require
from annotate.selectors.passes import assignments_of, content_of, pass_content, submissions_of
from annotate.services.save_pass import save_pass
from annotate.services.submit_pass import submit_pass

MAX_QUOTE = 1_000_000


def own_tasks(person: Person) -> QuerySet[Assignment, Any]:
    """Return the person's assignments, each with the `revision` of its pass (0 before the first save)."""
    return assignments_of(person).annotate(revision=Coalesce(F("work__revision"), 0), saved_at=F("work__updated_at"))


class Tasks(Endpoint):
    """Everything assigned to the person, in every study."""

    permission_classes = [SignedIn]

    def get(self, request: Request) -> Response:
        """List it by study and question key; `?study=` and `?state=` choose."""
        return paged(
            request,
            own_tasks(self.person),
            ("question__study_id", "question__key", "pk"),
            _shown,
            study=(name, "question__study__slug"),
            state=(one_of(Assignment.State.values), "state"),
        )


class TaskEndpoint(StudyEndpoint):
    """An endpoint of one own task; anybody else's does not exist, whatever the person's roles."""

    task: Assignment

    def enter(self, action: str) -> None:
        """Find the task and its study; raises Http404 or NotAllowed."""
        self.task = get_object_or_404(own_tasks(self.person), pk=self.kwargs["pk"])
        self.study = self.task.question.study
        self.actor = actor_for(self.person, self.study)
        require(self.actor, action)


class TaskDetail(TaskEndpoint):
    """One task."""

    actions = {"GET": "pass.edit"}

    def get(self, request: Request, pk: int) -> Response:
        """Return it with what has been submitted."""
        parameters(request, {})
        sent = submissions_of(self.person, self.study).filter(work__assignment=self.task)
        return Response({**_shown([self.task])[0], "submissions": [submission_object(row) for row in sent]})


class TaskContent(TaskEndpoint):
    """What the pass says; its ETag is its revision."""

    actions = {"GET": "pass.edit", "PUT": "pass.edit"}

    def get(self, request: Request, pk: int) -> Response:
        """Return the content in force, or as it was at `?revision=`."""
        wanted = parameters(request, {"revision": number}).get("revision")
        revision, content = content_of(self.task)
        if wanted is not None and wanted != revision:
            if wanted > revision:
                raise BadInput("?revision", f"{wanted} has not been made", f"The pass is at revision {revision}.")
            work = Pass.objects.get(assignment=self.task)
            revision, content = wanted, pass_content(work, wanted)
        return _content(revision, content)

    def put(self, request: Request, pk: int) -> Response:
        """Save the whole content, made from the revision that `If-Match` names.

        409 with both texts when the pass has moved on; what was sent is kept as a refused save.
        """
        parameters(request, {})
        expected = if_match(request)
        body = members(request.data, ["content"], ["quotes"])
        content = content_from_payload(body["content"])
        work = save_pass(self.person, self.task, expected, content, _quotes(body.get("quotes", {})))
        return _content(work.revision, pass_content(work))


class TaskSubmissions(TaskEndpoint):
    """The submissions of a task; a second one needs the lead to return the pass first."""

    actions = {"GET": "pass.edit", "POST": "pass.submit"}

    def get(self, request: Request, pk: int) -> Response:
        """List the person's own submissions of the task."""
        rows = submissions_of(self.person, self.study).filter(work__assignment=self.task)
        return paged(request, rows, ("ordinal", "pk"), lambda found: [submission_object(row) for row in found])

    def post(self, request: Request, pk: int) -> Response:
        """Seal the pass at the revision that `If-Match` names; the same `Idempotency-Key` again is one submission."""
        parameters(request, {})
        revision, key = if_match(request), idempotency_key(request)
        members(request.data, [])
        return Response(submission_object(submit_pass(self.person, self.task, revision, key)), status=201)


def submission_object(row: Submission) -> dict[str, Any]:
    """Return a sealed submission; `digest` is of its canonical content."""
    return {
        "ordinal": row.ordinal,
        "revision": row.revision,
        "digest": row.digest,
        "submitted_at": times(row.submitted_at),
    }


def _shown(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": row.pk,
            "study": row.question.study.slug,
            "question": row.question.key,
            "text": row.question.text,
            "as_of": times(row.question.as_of),
            "locale": row.question.locale,
            "reader_labels": row.question.reader_labels,
            "state": row.state,
            "revision": row.revision,
            "saved_at": times(row.saved_at),
            "url": reverse("api-task", args=[row.pk]),
            "content": reverse("api-task-content", args=[row.pk]),
        }
        for row in rows
    ]


def _content(revision: int, content: PassContent) -> Response:
    return Response(
        {"revision": revision, "content": content_payload(content)}, headers={"ETag": revision_tag(revision)}
    )


def _quotes(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadInput("quotes", "it is no JSON object", "Send an object of span name → quoted text.")
    return {key: text(quote, f"quotes.{key[:60]}", most=MAX_QUOTE) for key, quote in value.items()}

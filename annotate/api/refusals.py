"""One shape for every refusal: `{"error": …, "problems": [{"where": …, "what": …, "mend": …}]}`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from annotate.domain.conflicts import Conflict, StaleRevision
from annotate.domain.content_codec import content_payload
from annotate.domain.errors import BadInput
from annotate.permissions import NotAllowed

#: Status → title and how to mend, for what DRF itself refuses.
_WORDS = {
    400: ("This could not be read", "Send a JSON body as docs/api.md describes."),
    401: ("You are not signed in", "Sign in at /sign-in/ and send the session cookie."),
    403: ("You may not do this", "Ask the study's lead for the role it needs."),
    404: ("There is nothing here for you", "Check the address, which ends in a slash, and your role in the study."),
    405: ("This method does nothing here", "Use one of the methods named in the Allow header."),
    413: ("This is too much", "Send less at once."),
    415: ("This is no JSON", "Send the header Content-Type: application/json."),
    428: ("This write names no revision", 'Send the revision you edited, for example If-Match: "3".'),
}


class PreconditionRequired(exceptions.APIException):
    """A write that does not say which revision it was made from."""

    status_code = 428
    default_detail = "The header If-Match is missing."
    default_code = "precondition_required"


def refusal(status: int, title: str, problems: Sequence[BadInput], **more: Any) -> Response:
    """Return a refusal; `more` are members beside the two."""
    return Response({"error": title, "problems": [problem.as_dict() for problem in problems], **more}, status=status)


def answer_refusal(exception: Exception, context: dict[str, Any]) -> Response | None:
    """Return the answer to a refusal; None leaves any other exception to Django."""
    if isinstance(exception, NotAllowed):
        return refusal(403, _WORDS[403][0], [BadInput("", str(exception), "")])
    if isinstance(exception, StaleRevision):
        return refusal(409, "Something changed meanwhile", exception.problems, **_both_texts(exception))
    if isinstance(exception, Conflict):
        return refusal(409, "Something changed meanwhile", exception.problems)
    if isinstance(exception, BadInput):
        return refusal(422, "This was not accepted", exception.problems)
    if isinstance(exception, Http404):
        # Its message may name a model; to a stranger nothing exists, in the same words.
        exception = exceptions.NotFound("There is nothing at this address.")
    elif isinstance(exception, PermissionDenied):
        exception = exceptions.PermissionDenied()
    if not isinstance(exception, exceptions.APIException):
        return None
    title, mend = _WORDS.get(exception.status_code, ("This was not accepted", ""))
    answer = refusal(exception.status_code, title, [BadInput("", str(exception.detail), mend)])
    if header := getattr(exception, "auth_header", None):
        answer["WWW-Authenticate"] = header
    return answer


def _both_texts(stale: StaleRevision) -> dict[str, Any]:
    return {
        "current_revision": stale.current_revision,
        "expected_revision": stale.expected_revision,
        "refused_save": stale.refused_id,
        "theirs": content_payload(stale.theirs),
        "mine": content_payload(stale.mine),
    }

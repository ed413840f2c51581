"""Turns the services' refusals into clear 4xx pages, in one place for every view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import unquote, unquote_to_bytes

from django.http import HttpRequest, HttpResponse, JsonResponse

from annotate.domain.conflicts import Conflict
from annotate.domain.errors import BadInput
from annotate.permissions import NotAllowed
from annotate.views.respond import respond


class RefusalMiddleware:
    """Answers 403 for NotAllowed, 409 for Conflict and 422 for BadInput and for a form that is no UTF-8.

    JSON for API paths, else a page or partial.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on."""
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        """Refuse a form that is not UTF-8: Django would store U+FFFD in place of what somebody meant."""
        if request.content_type != "application/x-www-form-urlencoded" or request.method != "POST":
            return None
        problem = _not_utf8(request.body)
        return _answer(request, 422, "This was not accepted", [problem]) if problem else None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the refusal's answer; None leaves any other exception to Django."""
        if isinstance(exception, NotAllowed):
            return _answer(request, 403, "You may not do this", [BadInput("", str(exception), "")])
        if isinstance(exception, Conflict):
            return _answer(request, 409, "Something changed meanwhile", exception.problems)
        if isinstance(exception, BadInput):
            return _answer(request, 422, "This was not accepted", exception.problems)
        return None


def _not_utf8(body: bytes) -> BadInput | None:
    for field in body.split(b"&"):
        name, _, value = field.partition(b"=")
        for part in (name, value):
            raw = unquote_to_bytes(part)
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError as error:
                return BadInput(
                    unquote(name.decode("ascii", "replace"))[:80],
                    f"its byte {error.start} (0x{raw[error.start]:02x}) is not UTF-8",
                    "Send the form as UTF-8, whole characters only.",
                )
    return None


def _answer(request: HttpRequest, status: int, title: str, problems: Sequence[BadInput]) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse({"error": title, "problems": [problem.as_dict() for problem in problems]}, status=status)
    context = {"refusal": title, "problems": problems, "status": status}
    return respond(request, "errors/refusal.html", context, partial="body", status=status)

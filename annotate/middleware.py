"""Turns the services' refusals into clear 4xx pages, in one place for every view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import unquote, unquote_to_bytes

from django.http import HttpRequest, HttpResponse, JsonResponse

from annotate.domain.conflicts import Conflict
from annotate.domain.errors import BadInput
from annotate.multipart_text import MEND, NOT_UTF8, Utf8MultiPartParser, not_utf8
from annotate.permissions import NotAllowed
from annotate.views.respond import respond

FORM, UPLOAD = "application/x-www-form-urlencoded", "multipart/form-data"


class RefusalMiddleware:
    """Answers 403 for NotAllowed, 409 for Conflict, 422 for BadInput, and 400 for a form that is no UTF-8.

    JSON for API paths, else a page or partial.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on; its upload, if it is one, is read by the parser that tells what is no UTF-8."""
        request.multipart_parser_class = Utf8MultiPartParser  # type: ignore[assignment]
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        """Refuse a form that is not UTF-8: Django would store U+FFFD in place of what somebody meant."""
        if request.method != "POST" or request.path.startswith("/api/"):
            return None
        problem = None
        if request.content_type == FORM:
            problem = _not_utf8(request.body)
        elif request.content_type == UPLOAD:
            problem = _upload_not_utf8(request)
        return _answer(request, 400, "This could not be read", [problem]) if problem else None

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
            problem = not_utf8(unquote_to_bytes(part), unquote(name.decode("ascii", "replace"))[:80])
            if problem is not None:
                return problem
    return None


def _upload_not_utf8(request: HttpRequest) -> BadInput | None:
    charset = request.encoding
    if charset and charset.lower() not in ("utf-8", "utf8"):
        return BadInput("Content-Type", f"it says that the form is in {charset[:40]!r}", MEND)
    # To ask for its fields is to read it to its end.
    problem: BadInput | None = request.META.get(NOT_UTF8) if request.POST is not None else None
    return problem


def _answer(request: HttpRequest, status: int, title: str, problems: Sequence[BadInput]) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse({"error": title, "problems": [problem.as_dict() for problem in problems]}, status=status)
    context = {"refusal": title, "problems": problems, "status": status}
    return respond(request, "errors/refusal.html", context, partial="body", status=status)

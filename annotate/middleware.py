"""Turns the services' refusals into clear 4xx pages, in one place for every view."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.http import HttpRequest, HttpResponse, JsonResponse

from annotate.domain.conflicts import Conflict
from annotate.domain.errors import BadInput
from annotate.permissions import NotAllowed
from annotate.views.respond import respond


class RefusalMiddleware:
    """Answers 403 for NotAllowed, 409 for Conflict and 422 for BadInput: JSON for API paths, else a page or partial."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the refusal's answer; None leaves any other exception to Django."""
        if isinstance(exception, NotAllowed):
            return _answer(request, 403, "You may not do this", [BadInput("", str(exception), "")])
        if isinstance(exception, Conflict):
            return _answer(request, 409, "Something changed meanwhile", exception.problems)
        if isinstance(exception, BadInput):
            return _answer(request, 422, "This was not accepted", exception.problems)
        return None


def _answer(request: HttpRequest, status: int, title: str, problems: Sequence[BadInput]) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse({"error": title, "problems": [problem.as_dict() for problem in problems]}, status=status)
    context = {"refusal": title, "problems": problems, "status": status}
    return respond(request, "errors/refusal.html", context, partial="body", status=status)

"""`/healthz` for load balancers and health checks: answered before host names, redirects, sessions and static files."""

from __future__ import annotations

from collections.abc import Callable

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse

PATH = "/healthz"


class HealthMiddleware:
    """Answers `/healthz`: 200 when the database answers, 503 when it does not; says nothing else about the site.

    First in the list, because a probe asks by address (no allowed host name) and in plain HTTP.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the probe, pass on anything else."""
        if request.path_info != PATH:
            return self.get_response(request)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        except DatabaseError:
            answer = HttpResponse("the database does not answer\n", status=503, content_type="text/plain")
        else:
            answer = HttpResponse("ok\n", content_type="text/plain")
        answer["Cache-Control"] = "no-store"
        return answer

"""Counts whoever is shown results of held-out questions, whatever page, file or API answer shows them."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from annotate.models import Person
from evaluation.models import Sweep
from evaluation.services.count_reading import count_reading

#: Routes below a sweep that tell nothing of its results: its progress, and what is done to it.
SILENT = frozenset({"sweep", "api-sweep", "api-sweep-cancel", "api-sweep-pause", "api-sweep-resume"})
#: Answers that carry a page or data; a form that is refused comes back on the page it stands on.
TELLING = frozenset({200, 201, 409, 422})


class HeldOutMiddleware:
    """Records an opening after an answer that showed something of a sealed held-out sweep. See `count_reading`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on, and count what was answered."""
        response = self.get_response(request)
        match, person = request.resolver_match, request.user
        if match is None or response.status_code not in TELLING or not isinstance(person, Person):
            return response
        below_a_sweep = "sweeps/" in match.route and match.url_name not in SILENT and "pk" in match.kwargs
        if below_a_sweep:
            sweep = Sweep.objects.select_related("plan__fixture_set__study").filter(pk=match.kwargs["pk"]).first()
            if sweep is not None:
                count_reading(person, sweep, match.url_name or match.route)
        return response

"""Counts whoever is shown results of held-out questions, whatever page, file or API answer shows them."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from annotate.models import Person
from annotate.services.record_reading import record_reading
from evaluation.models import Sweep

#: Routes below a sweep that tell nothing of its results: its progress, and what is done to it.
SILENT = frozenset({"sweep", "api-sweep", "api-sweep-cancel", "api-sweep-resume"})


class HeldOutMiddleware:
    """Records an opening after an answer that showed something of a sealed held-out sweep. See `record_reading`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on, and count what was answered."""
        response = self.get_response(request)
        match, person = request.resolver_match, request.user
        if match is None or response.status_code != 200 or not isinstance(person, Person):
            return response
        below_a_sweep = "sweeps/" in match.route and match.url_name not in SILENT and "pk" in match.kwargs
        if below_a_sweep and request.method in {"GET", "HEAD"}:
            sweep = (
                Sweep.objects.filter(pk=match.kwargs["pk"], held_out=True, state=Sweep.State.SEALED)
                .select_related("plan__fixture_set__study")
                .first()
            )
            if sweep is not None:
                record_reading(person, sweep.plan.fixture_set, f"sweep {sweep.pk}, {match.url_name}")
        return response

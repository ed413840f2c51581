"""What every page knows: the person's studies for the navigation."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from annotate.selectors.studies import visible_to


def page(request: HttpRequest) -> dict[str, Any]:
    """Return `nav_studies`, the unarchived studies of the person who asks (lazily: only a rendered page pays)."""
    person = getattr(request, "user", None)
    if person is None or not person.is_authenticated:
        return {"nav_studies": []}
    match = request.resolver_match
    return {
        "nav_studies": visible_to(person).filter(archived_at=None),
        "nav_study": (match.kwargs.get("slug") if match else "") or "",
        "nav": match.url_name if match else "",
    }

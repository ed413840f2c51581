"""One way to answer a page: the whole page, or the named partial of the same template for htmx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def respond(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    partial: str = "",
    status: int = 200,
) -> HttpResponse:
    """Render `template`, or its partial `partial` when htmx asks for a fragment.

    The answer varies by `HX-Request` and is never stored: a fragment served later from a cache as a page, or somebody
    else's page from history, are failures seen in comparable systems.
    """
    named = f"{template}#{partial}" if partial and wants_fragment(request) else template
    response = render(request, named, dict(context), status=status)
    patch_vary_headers(response, ["HX-Request"])
    response["Cache-Control"] = "no-store"
    return response


def wants_fragment(request: HttpRequest) -> bool:
    """Return whether htmx asks for a part of the page that it stands on, and not for a whole one."""
    htmx = getattr(request, "htmx", None)
    return bool(htmx and not htmx.boosted and not htmx.history_restore_request)


def crumbs(*items: tuple[str, str]) -> list[dict[str, str]]:
    """Return breadcrumb items from (text, url) pairs; the last one has an empty url."""
    return [{"text": text, "url": url} for text, url in items]

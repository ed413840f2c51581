"""Every ES module under static/ loads in a real Chromium under the site's policy."""

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path
from playwright.sync_api import Page

from tests.architecture.tree import tracked

MODULES = [file.as_posix() for file in tracked() if file.parts[0] == "static" and file.suffix in {".js", ".mjs"}]
_PAGE = (
    '<!doctype html><html lang="en"><title>t</title><link rel="icon" href="data:,"><body><main></main></body></html>'
)


def _empty(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(_PAGE)


urlpatterns = [path("empty", _empty)]


@pytest.mark.parametrize("module", MODULES)
def test_module_loads_on_an_empty_page(module: str, page: Page, settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    page.goto("/empty")
    assert isinstance(page.evaluate("(address) => import(address).then((m) => Object.keys(m))", f"/{module}"), list)

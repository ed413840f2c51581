"""The browser fixtures themselves: they see what they must see."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path
from playwright.sync_api import Page

from tests.browser.watch import Watch

_HEAD = '<!doctype html><html lang="en"><title>t</title><link rel="icon" href="data:,">'
_STYLED = _HEAD + '<body style="color: red"><main><h1>Red</h1></main></body></html>'
_PLAIN = _HEAD + "<body><main><h1>Plain</h1>{}</main></body></html>"


def _answer(body: str, status: int = 200) -> Callable[[HttpRequest], HttpResponse]:
    return lambda _request: HttpResponse(body, status=status)


urlpatterns = [
    path("plain", _answer(_PLAIN.format(""))),
    path("styled", _answer(_STYLED)),
    path("scripted", _answer(_PLAIN.format("<script>document.title = 'ran'</script>"))),
    path("refused", _answer(_PLAIN.format("no"), status=422)),
    path("unnamed", _answer(_PLAIN.format('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'))),
]


@pytest.fixture(autouse=True)
def routes(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__


def _complaints(page: Page, watch: Watch, address: str) -> list[str]:
    page.goto(address)
    page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 50))")
    complaints = watch.complaints()
    watch.problems.clear()
    watch._statuses.clear()
    return complaints


def test_quiet_page_has_no_complaint(page: Page, watch: Watch) -> None:
    assert _complaints(page, watch, "/plain") == []


@pytest.mark.parametrize("address", ["/styled", "/scripted"])
def test_inline_code_is_blocked_and_reported(page: Page, watch: Watch, address: str) -> None:
    assert any(line.startswith("CSP: ") for line in _complaints(page, watch, address))
    assert page.title() == "t"


def test_uncaught_error_is_reported(page: Page, watch: Watch) -> None:
    page.goto("/plain")
    page.evaluate("() => { setTimeout(() => { throw new Error('lost') }, 0) }")
    page.wait_for_timeout(50)
    assert watch.complaints() == ["uncaught error: lost"]
    watch.problems.clear()


def test_unexpected_status_is_reported_and_a_missing_one_too(page: Page, watch: Watch) -> None:
    assert _complaints(page, watch, "/refused") == ["answered 422 (1×)"]
    watch.expect_status(409)
    assert _complaints(page, watch, "/refused") == ["answered 422 (1×)", "expected an answer of 409: none"]
    watch._expected.clear()


def test_expected_status_is_quiet(page: Page, expect_status: Callable[..., None]) -> None:
    expect_status(422)
    page.goto("/refused")


def test_accessibility_check_names_the_rule(page: Page, check_accessibility: Callable[[Page], None]) -> None:
    page.goto("/plain")
    check_accessibility(page)
    page.goto("/unnamed")
    with pytest.raises(AssertionError, match="image-alt"):
        check_accessibility(page)


def test_screenshots_in_both_widths_and_themes(page: Page, shoot: Callable[[Page, str], list[Path]]) -> None:
    page.goto("/plain")
    paths = shoot(page, "harness")
    assert [path.name for path in paths] == [f"harness-{w}-{s}.png" for w in (1440, 390) for s in ("light", "dark")]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)

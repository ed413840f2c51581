"""A real Chromium against a live server with the production policy; a page that complains fails its test.

Fixtures: `page` (one window), `new_page` (more, each with its own cookies), `expect_status` (`expect_status(422)`),
`sign_in` (`sign_in(page, person)` by session cookie), `live_server`, `shoot` (screenshots), `check_accessibility`.
Each browser test runs on one of the two databases (see tests/conftest.py) unless marked `both_databases`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser import chromium
from tests.browser.watch import Watch

WIDTHS = (1440, 390)
SCREENSHOTS = Path(__file__).resolve().parents[2] / "var" / "screenshots"
#: How long an action or an expectation waits: a cold worker process, the resampling of a report, a first import, on
#: cores shared with the other side of the suite. How long a page may take is for the benches to say.
TIMEOUT_MS = 90_000
#: What axe leaves out unless asked: targets of at least 24 px, or with that much room around them (WCAG 2.2 AA).
AXE = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}


class NewPage(Protocol):
    """Opens a window of its own: other cookies, other storage. Keyword arguments go to Playwright's new_context."""

    def __call__(self, **options: Any) -> Page: ...


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Return one Chromium for all browser tests of this process.

    Package scope and not session: Playwright keeps an event loop running in this thread, and what runs after the
    browser tests should not find it. While it runs, Django's ORM needs DJANGO_ALLOW_ASYNC_UNSAFE.
    """
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        path = chromium.executable(playwright.chromium.executable_path)
        opened = playwright.chromium.launch(executable_path=path, args=chromium.FLAGS)
        yield opened
        opened.close()
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
    else:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


@pytest.fixture
def watch() -> Watch:
    """Return the collector of this test's complaints."""
    return Watch()


@pytest.fixture
def expect_status(watch: Watch) -> Callable[..., None]:
    """Return the function that allows, and requires, answers of the named statuses."""
    return watch.expect_status


@pytest.fixture
def new_page(browser: Browser, watch: Watch, live_server: Any) -> Iterator[NewPage]:
    """Return the function that opens windows; at the end, an unexpected complaint in any of them fails the test."""
    contexts = []

    def open_page(**options: Any) -> Page:
        options.setdefault("viewport", {"width": WIDTHS[0], "height": 900})
        context = browser.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(TIMEOUT_MS)
        watch.attach(context)
        contexts.append((context, options.get("java_script_enabled", True)))
        return context.new_page()

    yield open_page
    for context, scripted in contexts:
        # One round trip each, so that complaints still on their way arrive before the verdict. Without scripts no timer
        # would ever come back.
        for page in context.pages:
            if scripted and not page.is_closed():
                page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 0))")
        context.close()
    if complaints := watch.complaints():
        pytest.fail("The browser complained:\n- " + "\n- ".join(complaints), pytrace=False)


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """Return one window of 1440 × 900; `page.goto("/path")` is relative to the live server."""
    return new_page()


@pytest.fixture
def sign_in(live_server: Any) -> Callable[[Page, Any], None]:
    """Return `sign_in(page, person)`: the session of `person` in that window, without the form (which has its test)."""

    def with_session_of(page: Page, person: Any) -> None:
        client = Client()
        client.force_login(person)
        name = settings.SESSION_COOKIE_NAME
        page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live_server.url}])

    return with_session_of


@pytest.fixture
def shoot() -> Callable[[Page, str], list[Path]]:
    """Return `shoot(page, name)`: pictures at 1440 and 390 px, light and dark, in var/screenshots.

    The page gets back its size and colour scheme.
    """

    def pictures(page: Page, name: str) -> list[Path]:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        size = page.viewport_size
        paths = []
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                path = SCREENSHOTS / f"{name}-{width}-{scheme}.png"
                page.screenshot(path=path, full_page=True)
                paths.append(path)
        page.emulate_media(color_scheme="null")
        if size:
            page.set_viewport_size(size)
        return paths

    return pictures


@pytest.fixture
def check_accessibility() -> Callable[[Page], None]:
    """Return `check_accessibility(page)`: fails with every axe violation, its elements and the way to mend it."""

    def check(page: Page) -> None:
        # A colour on its way to another one is nobody's contrast.
        page.evaluate(
            """() => Promise.allSettled(
                 document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished))"""
        )
        violations = Axe().run(page, options=AXE).response["violations"]
        lines = [
            f"{found['id']} ({found['impact']}): {found['help']} — "
            + "; ".join(" ".join(map(str, node["target"])) for node in found["nodes"][:5])
            for found in violations
        ]
        assert not lines, f"axe on {page.url}:\n- " + "\n- ".join(lines)

    return check


@pytest.fixture
def check_widths(check_accessibility: Callable[[Page], None]) -> Callable[[Page, str], None]:
    """Return `check_widths(page, name)`: wide and light, then narrow and dark, it passes axe and fits its screen."""

    def check(page: Page, name: str) -> None:
        schemes: list[Literal["light", "dark"]] = ["light", "dark"]
        for width, scheme in zip(WIDTHS, schemes, strict=True):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            check_accessibility(page)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} px wide on a screen of {width} px"

    return check

"""A workspace in a real browser, and what tests do in it as a hand would."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate.domain.content import PassContent
from annotate.models import Assignment
from annotate.selectors.passes import content_of
from tests.browser.conftest import TIMEOUT_MS

Opened = Callable[[Assignment], Page]


def open_task(page: Page, live_server: Any, assignment: Assignment, query: str = "") -> Page:
    """Go to a task and wait until its page listens to keys."""
    page.goto(live_server.url + reverse("workspace", args=[assignment.pk]) + query)
    page.wait_for_selector("[data-ready]")
    return page


def press(page: Page, keys: str) -> None:
    """Press keys one after the other: `1 2 Enter`."""
    for key in keys.split():
        page.keyboard.press(key)


def count_hands(page: Page) -> None:
    """Count keys and clicks from the next page on, over as many pages as it takes; typed text is no key."""
    page.add_init_script(
        """for (const kind of ["keydown", "pointerdown"]) addEventListener(kind, () => {
             sessionStorage.setItem(kind, 1 + Number(sessionStorage.getItem(kind) ?? 0));
           }, true);"""
    )


def hands_of(page: Page) -> dict[str, int]:
    """Return how often a key went down and a pointer did, since `count_hands` or the last call."""
    return page.evaluate(
        """() => Object.fromEntries(["keydown", "pointerdown"].map((kind) => {
             const seen = Number(sessionStorage.getItem(kind) ?? 0);
             sessionStorage.removeItem(kind);
             return [kind, seen];
           }))"""
    )


def saved(page: Page, assignment: Assignment, holds: Callable[[PassContent], bool]) -> PassContent:
    """Wait until what is stored `holds` and the page has nothing unsent; return it. How many revisions is no matter."""
    until = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        content = content_of(assignment)[1]
        if holds(content):
            break
        if time.monotonic() > until:
            raise AssertionError(f"stored is {content}, the page says {page.locator('.lede').inner_text()!r}")
        page.wait_for_timeout(50)
    expect(page.locator("[data-saved]")).to_contain_text("saved")
    return content


def places(content: PassContent) -> list[tuple[int, int]]:
    """Return the bytes of the spans, in the order of the text."""
    return sorted((span.start, span.end) for span in content.spans)

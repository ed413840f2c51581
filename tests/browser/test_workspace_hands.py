"""Hands of every kind: fingers, input methods, keyboards where a sign takes AltGr; and a focus that stays in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotate.services.save_pass import save_pass
from tests.annotate.passes import make_desk
from tests.browser.conftest import NewPage
from tests.browser.workspace import open_task, places, press, saved
from tests.factories import make_source_version

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]
SELECT = """([start, end]) => {
  const text = document.querySelector("[data-source] [data-start='0']").firstChild;
  getSelection().setBaseAndExtent(text, start, text, end);
}"""


def test_a_finger_marks_what_it_selects(new_page: NewPage, live_server: Any, sign_in: SignIn) -> None:
    desk = make_desk()
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    button = page.get_by_role("button", name="Mark", exact=True)
    expect(button).to_be_hidden()
    page.locator("[data-source]").tap(position={"x": 60, "y": 60})
    # The browser's own handles tell the page nothing but that the selection changed.
    page.evaluate(SELECT, [0, 4])
    page.evaluate(SELECT, [0, 8])
    expect(page.locator("#selection-note")).to_contain_text("bytes 0–8")
    button.tap()
    saved(page, desk.first, lambda content: places(content) == [(0, 8)])
    expect(button).to_be_hidden()


def test_signs_that_take_altgr_or_option_are_keys_like_others(page: Page, live_server: Any, sign_in: SignIn) -> None:
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content(spans=(desk.span("rule", 4, 8),), sets=(("rule",),)))
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "j")
    page.evaluate(
        """() => {
          const press = (more) =>
            document.body.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...more }));
          press({ key: "[", ctrlKey: true, altKey: true, modifierAltGraph: true });
          press({ key: "]", altKey: true });
          press({ key: "Process", isComposing: true });
          press({ key: "f", altKey: true });
        }"""
    )
    content = saved(page, desk.first, lambda content: places(content) == [(3, 9)])
    assert content.forbidden == ()


def test_keys_that_write_nothing_are_no_ones_key(page: Page, live_server: Any, sign_in: SignIn) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "?")
    button = page.get_by_role("button", name="Change the key of caret")
    button.click()
    for key in ("AltGraph", "Dead", "CapsLock", "Process"):
        button.dispatch_event("keydown", {"key": key})
        expect(button).to_have_text("Press a key…")
    # Whoever goes elsewhere has not chosen.
    page.get_by_role("button", name="Change the key of mark").focus()
    expect(button).to_have_text("Change")


def test_enter_that_ends_a_composition_marks_and_searches_nothing(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    page.locator("#sentence-entry").fill("1")
    page.locator("#sentence-entry").dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    expect(page.locator("#sentence-entry")).to_have_value("1")
    for text in ("14-12", "0", "99999999", "<img src=x onerror=alert(1)>", "١٢", "1-2-3"):
        page.locator("#sentence-entry").fill(text)
        page.locator("#sentence-entry").press("Enter")
        expect(page.locator("#selection-note")).to_contain_text("no sentence")
    expect(page.locator(".span-row")).to_have_count(0)


def test_the_focus_stays_in_a_row_that_is_renamed_or_moves(page: Page, live_server: Any, sign_in: SignIn) -> None:
    desk = make_desk()
    spans = (desk.span("one", 4, 8), desk.span("two", 5, 9))
    save_pass(desk.one, desk.first, 0, desk.content(spans=spans, sets=(("one", "two"),)))
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    page.locator(".span-row[data-name='two'] .span-open").click()
    back = page.locator(".span-row[data-name='two'] [data-nudge='start-back']")
    back.focus()
    for _ in range(3):
        page.keyboard.press("Enter")
    saved(page, desk.first, lambda content: (2, 9) in places(content))
    expect(page.locator(".span-row").first).to_have_attribute("data-name", "two")
    expect(back).to_be_focused()
    name = page.locator(".span-row[data-name='two'] .pick-name")
    name.fill("exception-2")
    name.press("Enter")
    saved(page, desk.first, lambda content: "exception-2" in content.sets[0])
    expect(page.locator(".span-row[data-name='exception-2'] .pick-name")).to_be_focused()


def test_of_two_sources_asked_for_in_a_row_the_later_one_is_shown(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = make_desk()
    slow = make_source_version(desk.study, b"The slow source.", document_id="slow")
    fast = make_source_version(desk.study, b"The fast source.", document_id="fast")
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route(f"**/*version={slow.pk}", hold)
    page.locator(f"[data-version-tab][href='?version={slow.pk}']").click()
    page.locator(f"[data-version-tab][href='?version={fast.pk}']").click()
    expect(page.locator("[data-source]")).to_contain_text("The fast source.")
    for route in held:
        route.continue_()
    page.wait_for_timeout(500)
    expect(page.locator("[data-source]")).to_contain_text("The fast source.")

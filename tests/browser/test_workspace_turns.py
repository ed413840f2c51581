"""A task in other hands while it is edited: paused, handed on, changed elsewhere; and whatever answers in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotate.domain.content import AnswerContract, PassContent
from annotate.services.pause_task import pause_tasks
from annotate.services.reassign import reassign
from annotate.services.save_pass import save_pass
from tests.annotate.passes import make_desk
from tests.browser.workspace import open_task, places, press, saved
from tests.factories import make_member

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]


def test_a_paused_task_takes_no_writing_and_gives_back_what_was_written(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    pause_tasks(desk.lead, desk.study, [desk.first], "The source changes.")
    expect_status(409)
    page.locator("#answer").fill("Written after the pause.")
    notice = page.locator("[data-notice='closed']")
    expect(notice).to_contain_text("paused")
    expect(notice).to_contain_text("You wrote: Written after the pause.")
    # Nothing can be written that nobody would keep.
    expect(page.locator("#answer")).to_be_disabled()


def test_a_task_handed_on_while_it_is_edited_is_not_said_to_be_a_matter_of_the_sign_in(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    reassign(desk.lead, desk.first, make_member(desk.study))
    expect_status(404)
    press(page, "1 Enter")
    expect(page.get_by_text("This task is not open to you")).to_be_visible()
    expect(page.get_by_text("given it to somebody else")).to_be_visible()


def test_a_conflict_is_not_decided_by_somebody_who_goes_on_writing(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    save_pass(desk.one, desk.first, 0, desk.content(answer="From the other window."))
    expect_status(409)
    page.locator("#answer").focus()
    page.keyboard.type("Mine")
    expect(page.get_by_text("This pass was changed elsewhere")).to_be_visible()
    page.keyboard.type(" and more ")
    page.keyboard.press("Enter")
    expect(page.get_by_text("This pass was changed elsewhere")).to_be_visible()
    expect(page.locator("#answer")).to_be_disabled()
    page.get_by_role("button", name="Put mine on top").click()
    saved(page, desk.first, lambda content: content.contract.answer == "Mine" and places(content) != [])
    expect(page.locator("#answer")).to_be_enabled()
    expect(page.locator("#answer")).to_be_focused()


def test_an_answer_that_is_not_the_sites_is_no_answer(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    page.route(
        "**/edits/", lambda route: route.fulfill(status=status[0], body="<p>Hotel") if status[0] else route.continue_()
    )
    status = [200]
    press(page, "1 Enter")
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    expect_status(413)
    status[0] = 413
    page.evaluate("dispatchEvent(new Event('online'))")
    page.wait_for_timeout(300)
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    status[0] = 0
    page.evaluate("dispatchEvent(new Event('online'))")
    saved(page, desk.first, lambda content: places(content) == [(0, 37)])


def test_the_plain_form_says_why_it_waits(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    expect_status(503)
    page.route("**/edits/", lambda route: route.fulfill(status=503, body="away"))
    press(page, "1 Enter")
    page.locator("#by-bytes summary").click()
    page.locator("#new_start").fill("38")
    page.locator("#new_end").fill("89")
    page.locator("#add-span").click()
    expect(page.get_by_text("Not marked yet")).to_be_visible()


def test_what_a_crashed_tab_left_meets_a_newer_revision_with_both_shown(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk("Mind the \u202egap. And the next one.")
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    page.route("**/edits/", lambda route: route.fulfill(status=503, body="away"))
    expect_status(503, 409)
    press(page, "1 Enter")
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    page.close(run_before_unload=False)
    save_pass(desk.one, desk.first, 0, PassContent(AnswerContract(answer="From elsewhere.")))
    again = page.context.new_page()
    open_task(again, live_server, desk.first)
    expect(again.get_by_text("This pass was changed elsewhere")).to_be_visible()
    again.get_by_role("button", name="Put mine on top").click()
    content = saved(again, desk.first, lambda found: len(found.spans) == 1)
    assert content.contract.answer == "From elsewhere."
    assert desk.first.work.refused_saves.count() == 1
    # What turns the direction of a text turns nothing around its quote.
    quote = again.locator(".span-row .quote")
    assert quote.evaluate("(element) => getComputedStyle(element).unicodeBidi") == "isolate"

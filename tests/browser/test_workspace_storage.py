"""A browser that keeps nothing, or has no room left: the desk works on, sends it all and says what it cannot keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.templatetags.static import static
from playwright.sync_api import Page, expect

from tests.annotate.passes import make_desk
from tests.browser.workspace import open_task, places, press, saved

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]
CANNOT_KEEP = "This browser cannot keep what is not sent"
FULL = """() => {
  localStorage.clear();
  let size = 1_000_000;
  for (let number = 0; size >= 1; number += 1) {
    try { localStorage.setItem(`other-site-part-${number}`, "x".repeat(size)); } catch { size = Math.floor(size / 2); }
  }
}"""
FORBIDDEN = """for (const kind of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, kind, { get() { throw new DOMException("denied", "SecurityError"); } });
}"""


def test_a_full_storage_keeps_no_edit_from_being_sent(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    page.evaluate(FULL)
    press(page, "1 Enter")
    saved(page, desk.first, lambda content: places(content) == [(0, 37)])
    expect(page.get_by_text(CANNOT_KEEP)).to_have_count(1)
    press(page, "Control+z")
    saved(page, desk.first, lambda content: places(content) == [])
    # With the server away, what is said is true: only this window has it, and the browser asks before it goes.
    expect_status(503)
    page.route("**/edits/", lambda route: route.fulfill(status=503, body="away") if away[0] else route.continue_())
    away = [True]
    page.locator("#answer").fill("Seven days.")
    expect(page.get_by_text("keep this window open")).to_be_visible()
    assert page.evaluate("() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    away[0] = False
    page.evaluate("dispatchEvent(new Event('online'))")
    saved(page, desk.first, lambda content: content.contract.answer == "Seven days.")
    assert page.evaluate("() => dispatchEvent(new Event('beforeunload', { cancelable: true }))")


def test_a_forbidden_storage_leaves_a_working_desk(page: Page, live_server: Any, sign_in: SignIn) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    page.add_init_script(FORBIDDEN)
    open_task(page, live_server, desk.first)
    page.locator("[data-theme-toggle]").first.click()
    press(page, "1 Enter n 2 Enter Control+z Control+z")
    saved(page, desk.first, lambda content: places(content) == [(0, 37)])
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_what_stands_in_the_storage_and_was_not_written_here_stops_nothing(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    page.goto(live_server.url)
    page.evaluate(
        """([person, task]) => {
          localStorage.setItem(`cutline:history:${person}:${task}`, "{half");
          localStorage.setItem(`cutline:unsent:${person}:${task}:a`, "null");
          localStorage.setItem(`cutline:unsent:${person}:${task}:b`, "[");
        }""",
        [desk.one.pk, desk.first.pk],
    )
    open_task(page, live_server, desk.first)
    press(page, "2 Enter")
    saved(page, desk.first, lambda content: places(content) == [(38, 89)])


def test_a_long_history_leaves_room_for_what_is_not_sent(page: Page, live_server: Any) -> None:
    # What takes a span out of two hundred sets back is the list of all the sets; two hundred of those fill a storage.
    page.goto(live_server.url)
    kept = page.evaluate(
        """async (base) => {
          const { History } = await import(base + "workspace/history.js");
          const state = { person: 1, task: 2, revision: 3, valid: false };
          const history = new History(state);
          const quote = "q".repeat(20_000);
          for (let number = 0; number < 250; number += 1) {
            const undo = [{ op: "sets", sets: [[String(number), "x".repeat(30_000)]] }];
            history.note(undo, [{ op: "add-span", quote, span: { name: number } }]);
          }
          const again = new History(state);
          const newest = again.step(true);
          return {
            here: history.undoable.length, size: JSON.stringify(localStorage).length, later: again.undoable.length,
            newest: newest.undo[0].sets[0][0], redo: Object.keys(newest.redo[0]),
          };
        }""",
        live_server.url + static("js/"),
    )
    assert kept["size"] < 600_000
    assert (kept["here"], kept["newest"], kept["redo"]) == (200, "249", ["op", "span"])
    assert kept["later"] > 5

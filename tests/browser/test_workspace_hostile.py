"""An annotator who spares nothing: text nobody types, drags that end elsewhere, blocks not there yet, paste, zoom."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotate.domain.source_layout import lay_out
from annotate.services.save_pass import save_pass
from tests.annotate.passes import make_desk
from tests.browser.conftest import NewPage
from tests.browser.workspace import open_task, places, press, saved
from tests.factories import make_source_version

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]
#: What lies between two places a caret may stand at.
CLUSTERS = (
    *("م", "\u0301", "ש", "\u05b8", "a", "\r\n", "\r", "\n", "\u200d", "👩🏿‍🚀", "🇩🇪"),
    *("\ufeff", "\x00", "\x85", "\u202e", "𝒳"),
)
#: Until what a key did is drawn, however slow the machine is.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
BOX = """(byte) => {
  for (const run of document.querySelectorAll(".source [data-start]")) {
    if (+run.dataset.start > byte || byte >= +run.dataset.end) continue;
    const range = document.createRange();
    if (run.firstChild) {
      range.setStart(run.firstChild, byte - run.dataset.start);
      range.setEnd(run.firstChild, byte - run.dataset.start + 1);
    } else range.selectNode(run);
    const box = range.getBoundingClientRect();
    return [box.left, box.right, box.top + box.height / 2];
  }
}"""


@pytest.mark.parametrize("locale", ["ar", "en"])
def test_the_caret_goes_through_any_text_to_its_end_and_back_and_never_stops_inside_a_character(
    locale: str, page: Page, live_server: Any, sign_in: SignIn
) -> None:
    text = "".join(CLUSTERS) + " שלום a\u0308b\r\nx 🏴󠁧󠁢󠁥󠁮󠁧󠁿e\u0301\u0302\u200dz"
    # The direction is that of the first letter that has one.
    text = ("مرحبا " if locale == "ar" else "Hello ") + text
    desk = make_desk(text.encode())
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    rtl = page.evaluate("getComputedStyle(document.getElementById('source')).direction") == "rtl"
    assert rtl is (locale == "ar")
    forward, back = ("ArrowLeft", "ArrowRight") if rtl else ("ArrowRight", "ArrowLeft")
    press(page, "c")
    edges = {len(text[:at].encode()) for at in range(len(text) + 1)}
    seen = [0]
    while len(seen) < 80:
        # Shift says where the head stands: what is selected is [0, head).
        page.keyboard.press(f"Shift+{forward}")
        page.evaluate(DRAWN)
        said = page.locator("#selection-note").inner_text()
        at = int(said.removeprefix("bytes ").split(" ")[0].split("–")[1])
        if at == seen[-1]:
            break
        seen.append(at)
    assert seen[-1] == len(text.encode())
    assert set(seen) <= edges
    assert seen == sorted(seen)
    content = text.encode()
    for first, last in pairwise(seen):
        assert content[first:last].decode() not in {"\u0301", "\u05b8", "\u0308"}
    assert content.index(b"\r\n") + 1 not in seen
    # All of it is one mark, and going back ends where it began.
    press(page, "Enter")
    saved(page, desk.first, lambda found: places(found) == [(0, len(content))])
    for _ in range(len(seen) + 2):
        page.keyboard.press(back)
    press(page, f"Shift+{forward}")
    expect(page.locator("#selection-note")).to_contain_text(f"bytes 0–{seen[1]} ")


def test_the_caret_and_both_edges_cross_from_block_to_block(page: Page, live_server: Any, sign_in: SignIn) -> None:
    text = "".join(f"Rule {number:05d} is kept for a week.\n" for number in range(1_200))
    desk = make_desk(text)
    blocks = lay_out(text.encode()).blocks
    edge = blocks[2].end
    save_pass(desk.one, desk.first, 0, desk.content(spans=(desk.span("rule", edge - 5, edge),), sets=(("rule",),)))
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "j")
    expect(page.locator(".span-row.chosen")).to_be_visible()
    press(page, "] ] { ]")
    saved(page, desk.first, lambda found: places(found) == [(edge - 4, edge + 3)])
    # A span whose end is in a block that has not come yet: its handle stands where it does stand.
    press(page, "Escape c")
    page.wait_for_function("() => document.querySelector('.caret')")
    press(page, "Escape")


def test_a_handle_dragged_over_a_place_not_loaded_and_a_server_that_stops_in_between_lose_nothing(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    text = "".join(f"Rule {number:05d} is kept for a week. " for number in range(1_200))
    desk = make_desk(text)
    save_pass(desk.one, desk.first, 0, desk.content(spans=(desk.span("rule", 5, 10),), sets=(("rule",),)))
    sign_in(page, desk.one)
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route("**/blocks/**", hold)
    open_task(page, live_server, desk.first)
    press(page, "j")
    handle = page.locator(".handle[data-edge='end']")
    box = handle.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 11, box["y"] + 12)
    page.mouse.down()
    away = [True]
    page.route("**/edits/", lambda route: route.fulfill(status=503, body="away") if away[0] else route.continue_())
    expect_status(503)
    source = page.locator("#source").bounding_box()
    assert source is not None
    # Over the rim of the source, over what is not loaded, and back onto text.
    page.evaluate(
        "document.getElementById('source').scrollTop = document.querySelector('.block.waiting').offsetTop - 60"
    )
    page.mouse.move(source["x"] + 200, source["y"] + 400, steps=4)
    page.mouse.move(5, 5, steps=3)
    page.evaluate("document.getElementById('source').scrollTop = 0")
    left, right, middle = page.evaluate(BOX, 30)
    page.mouse.move((left + right) / 2 + 3, middle, steps=4)
    page.mouse.up()
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    expect(page.locator(".span-row.chosen .range")).to_contain_text("5–3")
    away[0] = False
    page.evaluate("dispatchEvent(new Event('online'))")
    ((start, end),) = places(saved(page, desk.first, lambda found: places(found) != [(5, 10)]))
    assert start == 5
    assert end in (30, 31)
    for route in held:
        route.continue_()


def test_a_drag_that_ends_beside_the_source_selects_up_to_the_nearest_text_and_never_what_was_selected_before(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    line = "Rule {:03d} is kept for a week and a day.\n"
    text = "".join(line.format(number) for number in range(300))
    desk = make_desk(text)
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    size, at = len(line.format(0)), 2 * len(line.format(0)) + 6
    note = page.locator("#selection-note")
    source, side = page.locator("#source").bounding_box(), page.locator("#pass-form").bounding_box()
    assert source is not None
    assert side is not None

    def drag(x: float, y: float, held: int = 0) -> str:
        left, _, middle = page.evaluate(BOX, at)
        before = note.inner_text()
        page.mouse.move(left, middle)
        page.mouse.down()
        page.mouse.move(x, y, steps=6)
        page.wait_for_timeout(held)
        page.mouse.up()
        expect(note).not_to_have_text(before)
        return note.inner_text().split(" (")[0]

    left, _, below = page.evaluate(BOX, 4 * size + 3)
    # Into the form beside it, two lines further down: to the end of that line.
    assert drag(side["x"] + 100, below) == f"bytes {at}–{5 * size - 1}"
    # Out of the window to the left: to the start of the line.
    assert drag(1, below) == f"bytes {at}–{4 * size}"
    # Above it: into the first line that is shown.
    start, end = drag(left, source["y"] - 30).removeprefix("bytes ").split("–")
    assert int(start) < size
    assert int(end) == at
    # Below it: into one of the last lines that are shown, not to the end of what is loaded.
    said = drag(left, source["y"] + source["height"] + 20, held=400)
    start, end = said.removeprefix("bytes ").split("–")
    assert int(start) == at
    assert int(end) > 10 * size
    # A drag held there scrolls on for as long as it lasts: what counts is what is shown when it ends.
    _, _, middle = page.evaluate(BOX, int(end))
    rim = source["y"] + source["height"]
    assert rim - 100 < middle < rim
    shown = page.evaluate("getSelection().toString()")
    assert shown.replace("\n", "") == text[int(start) : int(end)].replace("\n", "")
    press(page, "Enter")
    saved(page, desk.first, lambda found: places(found) == [(int(start), int(end))])
    # A click beside the text selects nothing and leaves nothing selected from before.
    press(page, "Escape")
    page.evaluate("document.getElementById('source').scrollTop = 0")
    at += 4
    assert drag(side["x"] + 100, page.evaluate(BOX, 4 * size + 3)[2]) == f"bytes {at}–{5 * size - 1}"
    page.locator("#source").click(position={"x": 8, "y": 300})
    expect(note).to_have_text("")


def test_a_drag_given_up_changes_nothing(page: Page, live_server: Any, sign_in: SignIn) -> None:
    desk = make_desk("Alpha beta gamma. Delta epsilon zeta.")
    save_pass(desk.one, desk.first, 0, desk.content(spans=(desk.span("rule", 6, 10),), sets=(("rule",),)))
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "j")
    handle = page.locator(".handle[data-edge='end']")
    handle.dispatch_event("pointerdown", {"pointerId": 1, "bubbles": True})
    handle.dispatch_event("pointercancel", {"pointerId": 1, "bubbles": True})
    left, right, middle = page.evaluate(BOX, 20)
    handle.dispatch_event("pointermove", {"pointerId": 1, "clientX": left, "clientY": middle, "bubbles": True})
    handle.dispatch_event("pointerup", {"pointerId": 1, "clientX": right, "clientY": middle, "bubbles": True})
    page.wait_for_timeout(200)
    expect(page.locator("[data-revision]")).to_have_text("1")
    # Escape gives a drag up as well.
    box = handle.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 11, box["y"] + 12)
    page.mouse.down()
    page.mouse.move(right, middle, steps=3)
    page.keyboard.press("Escape")
    page.mouse.up()
    page.wait_for_timeout(200)
    expect(page.locator("[data-revision]")).to_have_text("1")


def test_a_phrase_that_crosses_blocks_is_found_and_marked_exactly(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    line = "Rule {:05d} is kept for a week.\n"
    text = "".join(line.format(number) for number in range(1_500))
    desk = make_desk(text)
    edge = lay_out(text.encode()).blocks[3].start
    number = edge // len(line.format(0))
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "/")
    # The last word of one block and the first two of the next.
    page.keyboard.insert_text(f"week. Rule {number:05d}")
    expect(page.locator("#find-count")).to_have_text("1 of 1")
    expect(page.locator("#selection-note")).to_contain_text(f"bytes {edge - 6}–{edge + 10}")
    page.keyboard.press("Escape")
    page.locator("#find-entry").focus()
    page.keyboard.insert_text(f"week. Rule {number:05d}")
    expect(page.locator("#selection-note")).to_contain_text(f"bytes {edge - 6}–{edge + 10}")
    page.get_by_role("button", name="Mark", exact=True).click()
    saved(page, desk.first, lambda found: places(found) == [(edge - 6, edge + 10)])


def test_undo_and_redo_go_on_over_another_source_another_task_and_the_back_button(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = make_desk()
    other = make_source_version(desk.study, b"Another source. It goes on.", document_id="other")
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "1 Enter")
    saved(page, desk.first, lambda found: len(found.spans) == 1)
    page.locator(f"[data-version-tab='{other.pk}']").click()
    expect(page.locator("[data-source]")).to_contain_text("Another source")
    press(page, "2 Enter")
    saved(page, desk.first, lambda found: len(found.spans) == 2)
    page.goto(live_server.url)
    page.go_back()
    page.wait_for_selector("[data-ready]")
    press(page, "Control+z")
    saved(page, desk.first, lambda found: len(found.spans) == 1)
    press(page, "Control+z")
    saved(page, desk.first, lambda found: found.spans == ())
    page.goto(live_server.url)
    open_task(page, live_server, desk.first)
    press(page, "Control+y Control+Shift+Z")
    content = saved(page, desk.first, lambda found: len(found.spans) == 2)
    assert {span.version for span in content.spans} == {desk.version.sha256, other.sha256}


def test_what_is_pasted_into_a_text_is_text_and_anywhere_else_nothing(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_task(page, live_server, desk.first)
    evil = "\u202eabc\ud83d\udca9 <b>x</b>\ttab\nline \u0000nul".replace("\u0000", "")
    page.evaluate("(text) => navigator.clipboard.writeText(text)", evil)
    page.locator("#source").focus()
    press(page, "Control+v")
    expect(page.locator("[data-revision]")).to_have_text("0")
    page.locator("#answer").focus()
    press(page, "Control+v")
    content = saved(page, desk.first, lambda found: bool(found.contract.answer))
    assert content.contract.answer == "\u202eabc💩 <b>x</b>\ttab\nline nul"
    page.locator("#sentence-entry").focus()
    press(page, "Control+v Enter")
    expect(page.locator("#selection-note")).to_contain_text("no sentence")
    expect(page.locator(".span-row")).to_have_count(0)


def test_a_page_at_two_hundred_percent_works_like_a_small_one(
    new_page: NewPage, live_server: Any, sign_in: SignIn, check_accessibility: Callable[[Page], None]
) -> None:
    desk = make_desk()
    # What zooming to 200 % makes of a window of 1280 × 800; and, at 400 %, of one that is 1280 wide.
    for width, height, scale in ((640, 400, 2), (320, 256, 4)):
        page = new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
        sign_in(page, desk.one)
        open_task(page, live_server, desk.first)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        check_accessibility(page)
        page.get_by_role("button", name="Sets and answer").click()
        page.locator("#submit-pass").scroll_into_view_if_needed()
        expect(page.locator("#submit-pass")).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        check_accessibility(page)
        page.get_by_role("button", name="Source", exact=True).click()
        page.locator("#sentence-entry").scroll_into_view_if_needed()
        expect(page.locator("#sentence-entry")).to_be_in_viewport()

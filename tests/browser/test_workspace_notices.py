"""Every notice of the workspace, and its dialogs: no axe violation and nothing wider than the screen, at both widths.

`shoot` leaves the pictures in var/screenshots.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from annotate.services.pause_task import pause_tasks
from annotate.services.reassign import reassign
from annotate.services.save_pass import save_pass
from tests.annotate.passes import Desk, make_desk
from tests.browser.conftest import WIDTHS
from tests.browser.scene import Scene
from tests.browser.watch import Watch
from tests.browser.workspace import open_task, places, press, saved

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]
Look = Callable[[Page, str], None]
Expect = Callable[..., None]


@pytest.fixture
def look(check_widths: Look, shoot: Callable[[Page, str], list[Path]]) -> Look:
    """Return `look(page, name)`: the page as it stands passes axe in both widths and themes, and is photographed."""

    def at(page: Page, name: str) -> None:
        shoot(page, f"notice-{name}")
        check_widths(page, name)

    return at


@pytest.fixture
def desk(page: Page, live_server: Any, sign_in: SignIn) -> Desk:
    """A desk whose first task its annotator has open in the browser."""
    made = make_desk()
    sign_in(page, made.one)
    open_task(page, live_server, made.first)
    return made


@pytest.fixture
def outdated(page: Page, sign_in: SignIn) -> Scene:
    """The scene, with the annotator of its task on superseded text signed in."""
    scene = Scene()
    sign_in(page, scene.one)
    return scene


def pause(desk: Desk) -> None:
    pause_tasks(desk.lead, desk.study, [desk.first], "The source changes.")


def test_a_conflict_shows_both_texts_to_everybody(page: Page, desk: Desk, look: Look, expect_status: Expect) -> None:
    save_pass(desk.one, desk.first, 0, desk.content(answer="Thirty days, and seven for temporary requests."))
    expect_status(409)
    page.locator("#answer").fill("Seven days. And" + " a long text of mine that nobody wants to write again" * 4)
    expect(page.get_by_text("This pass was changed elsewhere")).to_be_visible()
    look(page, "conflict")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for name in ("Put mine on top", "Take the saved one"):
            expect(page.get_by_role("button", name=name)).to_be_in_viewport()


def test_a_conflict_of_the_plain_form_shows_both_texts_too(
    page: Page, live_server: Any, sign_in: SignIn, look: Look, expect_status: Expect
) -> None:
    desk = make_desk()
    # The page without its scripts; axe is one and needs a browser that runs some.
    page.route("**/*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    sign_in(page, desk.one)
    page.goto(f"{live_server.url}/tasks/{desk.first.pk}/")
    save_pass(desk.one, desk.first, 0, desk.content(answer="Thirty days."))
    expect_status(409)
    page.get_by_label("Permissible answer").fill("Seven days.")
    page.locator("#save-pass").click()
    expect(page.get_by_text("This pass was changed elsewhere")).to_be_visible()
    expect(page.get_by_text("Thirty days.")).to_be_visible()
    expect(page.get_by_label("Permissible answer")).to_have_value("Seven days.")
    look(page, "conflict-plain")


def test_a_sign_in_that_ended_and_a_task_handed_on_are_told_apart(
    page: Page, live_server: Any, sign_in: SignIn, look: Look, expect_status: Expect
) -> None:
    desk = make_desk()
    other = make_desk(study=desk.study, document_id="another")
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').some((one) => /layout/.test(one.name) && one.responseEnd > 0)"
    )
    Session.objects.all().delete()
    expect_status(401, 404)
    press(page, "2 Enter")
    expect(page.get_by_text("You are signed out")).to_be_visible()
    look(page, "signed-out")
    sign_in(page, desk.one)
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.get_by_text("You are signed out")).to_have_count(0)
    reassign(desk.lead, desk.first, other.two)
    press(page, "1 Enter")
    expect(page.get_by_text("This task is not open to you")).to_be_visible()
    look(page, "not-yours")


def test_what_takes_no_more_work_gives_back_what_was_written(
    page: Page, desk: Desk, look: Look, expect_status: Expect
) -> None:
    pause(desk)
    expect_status(409)
    page.locator("#answer").fill("Written after the pause.")
    expect(page.locator("[data-notice='closed']")).to_contain_text("Written after the pause.")
    look(page, "closed")


def test_a_paused_task_offers_nothing_to_write_in(page: Page, live_server: Any, sign_in: SignIn, look: Look) -> None:
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    pause(desk)
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    expect(page.locator("#notices")).to_contain_text("The source changes.")
    expect(page.locator("#answer")).to_be_disabled()
    expect(page.locator("#submit-pass")).to_have_count(0)
    look(page, "paused")
    press(page, "1 Enter n y")
    expect(page.locator(".span-row")).to_have_count(2)
    assert page.locator("[data-saved]").inner_text().startswith("saved")


def test_what_is_refused_or_not_ready_says_why(
    page: Page, live_server: Any, sign_in: SignIn, look: Look, expect_status: Expect
) -> None:
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content(answer="", sets=()))
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    expect_status(422)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Not submitted")).to_be_visible()
    look(page, "not-submitted")
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.locator(".span-row .span-open").first.click()
    page.locator(".span-row.chosen .pick-name").fill("no name at all!")
    page.locator(".span-row.chosen .pick-name").press("Enter")
    expect(page.get_by_text("This is no name for a span")).to_be_visible()
    look(page, "refused")


def test_a_browser_without_room_and_a_server_that_is_away_say_so(
    page: Page, desk: Desk, look: Look, expect_status: Expect
) -> None:
    page.evaluate(
        "() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; }"
    )
    page.route("**/edits/", lambda route: route.fulfill(status=503, body="away"))
    expect_status(503)
    press(page, "1 Enter")
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    expect(page.get_by_text("This browser cannot keep")).to_be_visible()
    look(page, "no-room")


def test_marks_on_superseded_text_are_shown_and_moved_as_a_reviewed_batch(
    page: Page, live_server: Any, outdated: Scene, look: Look
) -> None:
    scene, task = outdated, outdated.tasks["outdated"]
    open_task(page, live_server, task)
    tab = page.locator(f'.tabs [data-version-tab="{scene.old.pk}"]')
    expect(tab).to_contain_text("superseded by 2026")
    expect(page.locator(f'.tabs [data-version-tab="{scene.house.pk}"]')).not_to_contain_text("superseded")
    expect(page.locator(".facts-line")).to_contain_text("superseded by 2026")
    row = page.locator(".span-row[data-name='who']")
    expect(row).to_contain_text("superseded by 2026")
    look(page, "superseded")
    # The row of tabs scrolls on a phone. Opened anew: axe, which looked last, scrolls what it looks at.
    page.set_viewport_size({"width": WIDTHS[1], "height": 900})
    open_task(page, live_server, task)
    expect(tab).to_be_in_viewport()
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    expect(page.locator("#stale-marks")).to_contain_text("2 marks stand in text that is not in force")
    page.get_by_role("button", name="Review what can move").click()
    dialog = page.locator("dialog#moves")
    expect(dialog).to_contain_text("1 of 2 can move")
    expect(dialog).to_contain_text("it does not occur in the text")
    # Nothing is ticked in advance: each is confirmed, or all at once.
    expect(dialog.get_by_role("button", name="Move the ticked ones")).to_be_disabled()
    look(page, "moves")
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    dialog.get_by_label("all that can move").check()
    dialog.get_by_role("button", name="Move 1 mark").click()
    content = saved(page, task, lambda found: scene.house.sha256 in {span.version for span in found.spans})
    (moved,) = [span for span in content.spans if span.version == scene.house.sha256]
    assert bytes(scene.house.content)[moved.start : moved.end] == b"A tool"
    assert (moved.name, content.sets) == ("who", (("rule", "who"),))
    expect(page.locator("#stale-marks")).to_contain_text("1 mark stands")
    press(page, "Control+z")
    saved(page, task, lambda found: {span.version for span in found.spans} == {scene.old.sha256})
    expect(page.locator("#stale-marks")).to_contain_text("2 marks stand")


def test_a_mark_changed_while_it_was_asked_where_it_could_go_is_not_moved_nor_is_any_by_somebody_signed_out(
    page: Page, live_server: Any, outdated: Scene, watch: Watch
) -> None:
    task = outdated.tasks["outdated"]
    # What nobody encoded in an address stops nothing.
    page.goto(f"{live_server.url}/tasks/{task.pk}/#100%")
    page.wait_for_selector("[data-ready]")
    answers: list[tuple[Any, Any]] = []
    page.route("**/moves/", lambda route: answers.append((route, route.fetch())))
    review = page.get_by_role("button", name="Review what can move")
    dialog = page.locator("dialog#moves")
    review.click()
    # The answer is there, and not yet with the page.
    while not answers:
        page.wait_for_timeout(20)
    page.locator(".span-row[data-name='who'] .span-open").click()
    press(page, "]")
    saved(page, task, lambda found: (0, 7) in places(found))
    ((route, answer),) = answers
    route.fulfill(response=answer)
    expect(dialog).to_contain_text("0 of 1 can move")
    page.keyboard.press("Escape")
    page.unroute("**/moves/")
    Session.objects.all().delete()
    review.click()
    expect(page.get_by_text("or you are signed out, so it is not known where marks could go")).to_be_visible()
    expect(dialog).to_be_hidden()
    watch.allow_console("Failed to load resource: net::ERR_FAILED")

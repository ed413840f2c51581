"""Nothing written is lost: a server that stops, a sign-in that ends, a tab that crashes, another person at the desk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from annotate.selectors.passes import content_of
from annotate.services.save_pass import save_pass
from tests.annotate.passes import make_desk
from tests.browser.workspace import open_task, places, press, saved

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]
NOTHING_UNSENT = "() => !Object.keys(localStorage).some((key) => key.startsWith('cutline:unsent:'))"


def test_edits_made_while_the_server_is_away_are_kept_and_sent_later(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    expect_status(503)
    page.route("**/edits/", lambda route: route.fulfill(status=503, body="away") if away[0] else route.continue_())
    away = [True]
    with page.expect_response("**/edits/"):
        press(page, "1 Enter")
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    page.locator("#answer").fill("Seven days.")
    assert content_of(desk.first)[0] == 0
    # The tab crashes: nothing is sent any more, nothing is said goodbye to.
    page.close(run_before_unload=False)
    away[0] = False
    again = page.context.new_page()
    open_task(again, live_server, desk.first)
    expect(again.get_by_text("Your unsent work is back")).to_be_visible()
    expect(again.locator("[data-saved]")).to_contain_text("saved")
    expect(again.locator(".span-row")).to_have_count(1)
    expect(again.locator("#answer")).to_have_value("Seven days.")
    again.wait_for_function(NOTHING_UNSENT)
    content = content_of(desk.first)[1]
    assert places(content) == [(0, 37)]
    assert content.contract.answer == "Seven days."


def test_a_lost_answer_is_repeated_and_nothing_is_doubled(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    lost = []

    def lose_the_first(route: Any) -> None:
        answer = route.fetch()
        if lost:
            route.fulfill(response=answer)
        else:
            lost.append(answer.status)
            route.fulfill(status=502, body="lost")

    page.route("**/edits/", lose_the_first)
    expect_status(502)
    press(page, "1 Enter")
    saved(page, desk.first, lambda content: places(content) == [(0, 37)])
    assert lost == [200]
    assert desk.first.work.marks.count() == 1
    assert not desk.first.work.refused_saves.exists()


def test_a_sign_in_that_ended_keeps_the_edit_until_the_person_is_back(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    # The numbers of the sentences are loaded when the page is idle; it is the edit that shall meet the ended sign-in.
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').some((one) => /layout/.test(one.name) && one.responseEnd > 0)"
    )
    Session.objects.all().delete()
    expect_status(401)
    press(page, "2 Enter")
    expect(page.get_by_text("You are signed out")).to_be_visible()
    sign_in(page, desk.one)
    page.evaluate("dispatchEvent(new Event('online'))")
    saved(page, desk.first, lambda content: places(content) == [(38, 89)])
    expect(page.get_by_text("You are signed out")).to_have_count(0)


def test_somebody_elses_sign_out_takes_unsent_work_out_of_the_browser(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = make_desk()
    sign_in(page, desk.two)
    page.goto(live_server.url)
    page.evaluate(
        """([mine, theirs]) => {
          localStorage.setItem(`cutline:unsent:${mine}:1:x`, "{}");
          localStorage.setItem(`cutline:unsent:${theirs}:1:x`, "{}");
          localStorage.setItem(`cutline:history:${theirs}:1`, "{}");
        }""",
        [desk.two.pk, desk.one.pk],
    )
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.evaluate("() => Object.keys(localStorage).sort()") == [f"cutline:unsent:{desk.two.pk}:1:x"]


def test_a_double_press_on_submit_and_the_back_button_make_one_submission(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    page.evaluate("() => { const b = document.getElementById('submit-pass'); b.click(); b.click(); }")
    expect(page.locator("main .tag.accept").first).to_contain_text("Submitted")
    page.locator("main .callout.accept").get_by_role("link", name="Home").click()
    page.go_back()
    page.wait_for_selector("[data-ready]")
    expect(page.locator("main .tag.accept").first).to_contain_text("Submitted")
    press(page, "1 Enter")
    expect(page.locator(".span-row")).to_have_count(2)
    assert desk.first.work.submissions.count() == 1

"""Every page of the people's side in every state it can show: no axe violation, nothing wider than a phone's screen.

Each page is looked at wide and narrow, light and dark; `shoot` leaves the pictures in var/screenshots.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate.models import Assignment
from annotate.views.assignments import ROWS
from tests.annotate.passes import make_desk
from tests.browser.scene import Scene
from tests.factories import make_assignment, make_question

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]
Look = Callable[[str, str], None]


@pytest.fixture
def look(page: Page, check_widths: Callable[[Page, str], None]) -> Look:
    """Return `look(name, address)`: the page in both widths and themes passes axe and needs no sideways scrolling."""

    def at(name: str, address: str) -> None:
        page.goto(address)
        if page.locator("[data-workspace]").count():
            page.wait_for_selector("[data-ready]")
        check_widths(page, name)

    return at


def test_annotators_pages_pass_axe_at_both_widths(page: Page, sign_in: SignIn, look: Look) -> None:
    scene = Scene()
    sign_in(page, scene.newcomer)
    look("home without a task", "/")
    sign_in(page, scene.one)
    look("home", "/")
    look("guideline", scene.address("guidelines"))
    look("workspace, empty", scene.workspace("fresh"))
    look("workspace, crowded", scene.workspace("begun", scene.house))
    look("workspace, right to left", scene.workspace("begun", scene.arabic))
    look("workspace, long lines", scene.workspace("fresh", scene.log))
    look("workspace, paused", scene.workspace("paused"))
    look("workspace, returned", scene.workspace("returned"))
    look("workspace, submitted", scene.workspace("sent"))
    look("own decisions, discussed", scene.decisions("talked"))
    look("own decisions, settled", scene.decisions("settled"))


def test_adjudicators_pages_pass_axe_at_both_widths(page: Page, sign_in: SignIn, look: Look) -> None:
    scene = Scene()
    sign_in(page, scene.adjudicator)
    look("queue", scene.address("adjudication"))
    look("queue without a row", scene.address("adjudication") + "?severity=agreed&type=scope")
    look("reviewed batch", scene.address("agreed-items"))
    for name in ("disputed", "agreed-1", "talked", "settled"):
        look(f"item {name}", scene.item(name))
    page.goto(scene.item("settled"))
    for moment in page.locator("#as-of option").evaluate_all("(all) => [all[1].value, all.at(-1).value]"):
        look(f"item as of {moment}", f"{scene.item('settled')}?as_of={moment}")
        expect(page.locator(".callout.collect").first).to_contain_text("What was decided by then")


def test_leads_pages_pass_axe_at_both_widths(page: Page, sign_in: SignIn, look: Look) -> None:
    scene = Scene()
    sign_in(page, scene.lead)
    for name in ("study", "sources", "questions", "guidelines", "people", "assignments", "agreement", "fixtures"):
        look(name, scene.address(name))
    look("questions, filtered", scene.address("questions") + "?state=settled&text=settled")
    look("questions, none fits", scene.address("questions") + "?text=no such words")
    look("assignments of a person", scene.address("assignments") + f"?person={scene.one.username}")
    look("assignments by what is no value", scene.address("assignments") + "?person=nobody")
    look("source", scene.address("source", scene.house.pk))
    look("source of long lines", scene.address("source", scene.log.pk))
    look("freeze with blockers", scene.address("freeze"))
    look("freeze without blockers", scene.address("freeze") + "?q=settled")
    look("freeze without a row", scene.address("freeze") + "?q=nothing-has-this")
    look("set and its openings", scene.address("fixture-set", scene.sets[1].pk))
    look("set without openings", scene.address("fixture-set", scene.sets[0].pk))


def test_workspace_shows_notices_and_sheets_accessibly(
    page: Page, sign_in: SignIn, check_accessibility: Callable[[Page], None], expect_status: Callable[..., None]
) -> None:
    scene = Scene()
    sign_in(page, scene.one)
    page.goto(scene.workspace("fresh", scene.house))
    page.wait_for_selector("[data-ready]")
    page.keyboard.press("?")
    expect(page.locator("dialog#keys")).to_be_visible()
    check_accessibility(page)
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    expect(page.locator(".caret-on")).to_be_visible()
    check_accessibility(page)
    page.keyboard.press("Escape")
    expect_status(503)
    page.route("**/edits/", lambda route: route.fulfill(status=503, body="away"))
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    check_accessibility(page)
    # The server stays away, or the next try would send what the new window is to find.
    page.reload()
    expect(page.get_by_text("Your unsent work is back")).to_be_visible()
    check_accessibility(page)
    page.unroute("**/edits/")
    expect(page.locator("[data-saved]")).to_contain_text("saved")


def test_lead_pauses_every_task_of_a_person_that_the_filters_show(
    page: Page, sign_in: SignIn, live_server: Any
) -> None:
    desk = make_desk()
    for _ in range(ROWS):
        make_assignment(make_question(desk.study), desk.one)
    sign_in(page, desk.lead)
    page.goto(live_server.url + reverse("assignments", args=[desk.study.slug]))
    page.get_by_label("Person", exact=True).select_option(desk.one.username)
    page.get_by_role("button", name="Show").click()
    # The filters stay in the address of the next page, and hold for what is done there.
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_label("Person", exact=True)).to_have_value(desk.one.username)
    page.get_by_role("button", name="Tick all on this page").click()
    expect(page.locator("[data-ticked]")).to_have_text("1 of 1 ticked")
    page.get_by_label(f"All {ROWS + 1} tasks that the filters show").check()
    page.get_by_label("Reason, for the annotator").fill("The guideline changes.")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".messages")).to_contain_text(f"{ROWS + 1} tasks paused")
    assert set(Assignment.objects.filter(paused=True).values_list("annotator", flat=True)) == {desk.one.pk}

"""The annotate pages in a real browser: sign in, mark with the mouse and the form, submit, adjudicate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate.selectors.passes import content_of
from tests.annotate.passes import Desk, make_desk
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)

VECTORS = json.loads((Path(__file__).parent.parent / "golden" / "offsets.json").read_text())["vectors"]

# Selects `target` (its nth occurrence) in the drawn source, walking text nodes and atoms as a drag of the mouse would.
SELECT = """([start, end]) => {
  const source = document.querySelector("[data-source]");
  const encoder = new TextEncoder();
  const point = (at, closing) => {
    for (const run of source.querySelectorAll("[data-start]")) {
      const first = Number(run.dataset.start), last = Number(run.dataset.end);
      if (closing ? at > first && at <= last : at >= first && at < last) {
        const node = run.firstChild;
        if (!node) return [run.parentNode, [...run.parentNode.childNodes].indexOf(run) + (closing ? 1 : 0)];
        let units = 0;
        while (encoder.encode(node.data.slice(0, units)).length < at - first)
          units += node.data.codePointAt(units) > 0xffff ? 2 : 1;
        return [node, units];
      }
    }
  };
  const range = document.createRange();
  range.setStart(...point(start, false));
  range.setEnd(...point(end, true));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  source.dispatchEvent(new PointerEvent("pointerup", { bubbles: true }));
}"""


@pytest.fixture
def workspace(page: Page, live_server: Any, sign_in: Callable[..., None]) -> Callable[[Desk], Page]:
    def opened(desk: Desk) -> Page:
        sign_in(page, desk.one)
        page.goto(live_server.url + reverse("workspace", args=[desk.first.pk]))
        page.wait_for_selector("[data-ready]")
        return page

    return opened


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_selection_in_the_browser_gives_exact_bytes(vector: dict[str, Any], workspace: Callable[[Desk], Page]) -> None:
    desk = make_desk(vector["text"].encode())
    page = workspace(desk)
    page.evaluate(SELECT, vector["bytes"])
    expect(page.locator("#new_start")).to_have_value(str(vector["bytes"][0]))
    expect(page.locator("#new_end")).to_have_value(str(vector["bytes"][1]))
    page.keyboard.press("m")
    expect(page.locator(".span-row")).to_have_count(1)
    expect(page.locator("[data-revision]")).to_have_text("1")
    _, content = content_of(desk.first)
    assert [content.spans[0].start, content.spans[0].end] == vector["bytes"]


def test_annotator_signs_in_marks_two_spans_and_submits(
    page: Page, live_server: Any, shoot: Callable[..., Any], check_accessibility: Callable[[Page], None]
) -> None:
    desk = make_desk()
    page.goto(live_server.url)
    check_accessibility(page)
    shoot(page, "sign-in")
    page.get_by_label("Username").fill(desk.one.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    check_accessibility(page)
    shoot(page, "home")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-ready]")
    page.evaluate(SELECT, [0, 37])
    page.keyboard.press("m")
    expect(page.locator(".span-row")).to_have_count(1)
    page.evaluate(SELECT, [38, 89])
    page.keyboard.press("Enter")
    expect(page.locator(".span-row")).to_have_count(2)
    page.locator(".span-row.chosen .pick-label").select_option("qualifier")
    page.get_by_label("The sources answer this").check()
    page.get_by_label("Permissible answer").fill("At most 7 days.")
    page.locator("#dependency").select_option("exception")
    page.get_by_label("What may then be said").fill("Abstain on the temporary-request limit.")
    check_accessibility(page)
    shoot(page, "workspace")
    page.keyboard.press("Control+Enter")
    expect(page.locator("main .tag.accept").first).to_contain_text("Submitted")
    check_accessibility(page)
    assert desk.first.work.submissions.count() == 1


def test_two_tabs_on_one_task_keep_both_texts(
    new_page: Callable[..., Page], live_server: Any, sign_in: Callable[..., None], expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    one, two = new_page(), new_page()
    for tab in (one, two):
        sign_in(tab, desk.one)
        tab.goto(live_server.url + reverse("workspace", args=[desk.first.pk]))
        tab.wait_for_selector("[data-ready]")
    one.get_by_label("Permissible answer").fill("Seven days.")
    one.locator("#save-pass").click()
    expect(one.locator(".lede")).to_contain_text("revision 1")
    expect_status(409)
    two.get_by_label("Permissible answer").fill("Thirty days.")
    two.locator("#save-pass").click()
    expect(two.get_by_text("This pass was changed elsewhere")).to_be_visible()
    expect(two.get_by_text("Seven days.")).to_be_visible()
    expect(two.get_by_label("Permissible answer")).to_have_value("Thirty days.")
    assert content_of(desk.first)[1].contract.answer == "Seven days."
    two.get_by_role("button", name="Put mine on top").click()
    expect(two.locator("[data-revision]")).to_have_text("2")
    expect(two.locator("[data-saved]")).to_contain_text("saved")
    assert content_of(desk.first)[1].contract.answer == "Thirty days."
    assert desk.first.work.refused_saves.count() == 1


def test_adjudicator_settles_with_the_keyboard(
    page: Page,
    live_server: Any,
    sign_in: Callable[..., None],
    shoot: Callable[..., Any],
    check_accessibility: Callable[[Page], None],
) -> None:
    desk = make_desk()
    other = desk.content(answer="Seven days at most for temporary ones.", scope="temporary requests")
    desk.submit_both(desk.content(), other)
    sign_in(page, desk.adjudicator)
    page.goto(live_server.url + reverse("adjudication", args=[desk.study.slug]))
    check_accessibility(page)
    shoot(page, "adjudication-queue")
    page.keyboard.press("Enter")
    page.wait_for_selector(".difference")
    check_accessibility(page)
    shoot(page, "adjudication-item")
    page.keyboard.press("c")
    expect(page.locator("#confirm")).to_have_count(0)
    page.keyboard.press("a")
    expect(page.locator(".difference.decided")).to_have_count(1)
    page.keyboard.press("b")
    expect(page.locator(".difference.decided")).to_have_count(2)
    for reason in page.locator("[name^='reason:']").all():
        reason.fill("The limit is wrong without it.")
        reason.press("Enter")
    expect(page.locator("main .page-head .tag.accept")).to_contain_text("settled")
    assert desk.question.results.count() == 1


def test_lead_pages_look_right(
    page: Page,
    live_server: Any,
    sign_in: Callable[..., None],
    shoot: Callable[..., Any],
    check_accessibility: Callable[[Page], None],
) -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(scope="temporary requests"))
    sign_in(page, desk.lead)
    slug = desk.study.slug
    for name in ("study", "sources", "questions", "people", "assignments", "agreement", "fixtures"):
        page.goto(live_server.url + reverse(name, args=[slug]))
        check_accessibility(page)
        shoot(page, name)
    page.goto(live_server.url + reverse("source", args=[slug, desk.version.pk]))
    check_accessibility(page)
    shoot(page, "source")

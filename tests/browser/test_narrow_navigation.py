"""On a phone the navigation takes a line each and begins at the page that is open, however many studies there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate.domain.vocabulary import Role
from tests.annotate.passes import make_desk
from tests.factories import make_member, make_study

pytestmark = pytest.mark.django_db(transaction=True)

IN_VIEW = """(link) => {
  const at = link.getBoundingClientRect();
  return at.width > 0 && at.left >= 0 && Math.floor(at.right) <= innerWidth;
}"""


def test_phone_shows_the_open_page_in_every_line_of_links(
    page: Page, live_server: Any, sign_in: Callable[..., None]
) -> None:
    desk = make_desk(study=make_study(title="A cooperative with quite a long name of its own"))
    for number in range(6):
        make_member(make_study(title=f"Another study of this person, number {number}"), Role.LEAD, person=desk.lead)
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page, desk.lead)
    page.goto(live_server.url + reverse("freeze", args=[desk.study.slug]))
    for place in ("header nav [aria-current]", "nav.tabs [aria-current]", "nav.crumbs li:nth-last-child(2) a"):
        link = page.locator(place)
        expect(link).to_have_count(1)
        assert link.evaluate(IN_VIEW), place
    tops = page.locator("header nav a, nav.tabs a, nav.crumbs a").evaluate_all(
        "(all) => all.map((a) => [a.closest('nav').ariaLabel, Math.round(a.getBoundingClientRect().top)])"
    )
    lines = {(name, top) for name, top in tops}
    assert len(lines) == 3
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth && scrollY === 0")


def test_refused_page_says_which_role_it_needs_and_leads_back(
    page: Page, live_server: Any, sign_in: Callable[..., None], expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    expect_status(403)
    page.goto(live_server.url + reverse("people", args=[desk.study.slug]))
    expect(page.get_by_role("heading", level=1)).to_have_text("You may not do this")
    expect(page.get_by_role("alert")).to_contain_text("needs the role lead in the study; you are annotator")
    expect(page.get_by_text("Nothing was changed")).to_have_count(0)
    page.get_by_role("link", name="To the study").click()
    expect(page).to_have_url(live_server.url + reverse("study", args=[desk.study.slug]))

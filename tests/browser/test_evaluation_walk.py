"""Ways through the evaluation pages: three clicks to the results, filters by keyboard, and paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from annotate.domain.vocabulary import Role
from evaluation.models import Sweep
from evaluation.services.results import sweep_results
from tests.factories.studies import make_member
from tests.factories.sweeps import make_fixture_set, make_plan, make_sealed_sweep

pytestmark = pytest.mark.django_db(transaction=True)


def sealed() -> Sweep:
    sweep = make_sealed_sweep(make_plan(make_fixture_set("tools")))
    sweep_results(sweep)
    return sweep


def test_study_sweep_results_are_three_clicks_and_paper_shows_what_the_screen_folds_away(
    page: Page, sign_in: Callable[..., None]
) -> None:
    sweep = sealed()
    sign_in(page, make_member(sweep.plan.study, Role.LEAD, clearance=["staff", "keys"]))
    page.goto("/")
    page.get_by_label("Main").get_by_role("link", name=sweep.plan.study.title).click()
    page.get_by_role("link", name=f"Newest sweep: {sweep.pk}").click()
    page.get_by_role("link", name="Read the results").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Collect more evidence")
    assert page.url.endswith(f"/sweeps/{sweep.pk}/results/")

    for tab in ("Fixed top-k", "Charts", "Questions", "Measures", "Release", "How it ran", "Results"):
        page.get_by_label("This sweep").get_by_role("link", name=tab, exact=True).click()
        expect(page.get_by_label("This sweep").locator("[aria-current=page]")).to_have_text(tab)

    folded = page.locator("figure.chart details table").first
    expect(folded).to_be_hidden()
    page.emulate_media(media="print", color_scheme="dark")
    expect(folded).to_be_visible()
    expect(page.get_by_label("This sweep")).to_be_hidden()
    expect(page.get_by_role("link", name="To the release")).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    ink = page.locator("table.results strong").first.evaluate("one => getComputedStyle(one).color")
    assert sum(int(part) for part in ink.removeprefix("rgb(").removesuffix(")").split(",")) < 200, ink


def test_filters_are_chosen_by_keyboard_stay_in_the_address_and_choose_the_file(
    page: Page, sign_in: Callable[..., None]
) -> None:
    sweep = sealed()
    sign_in(page, make_member(sweep.plan.study, Role.LEAD, clearance=["staff", "keys"]))
    page.goto(f"/sweeps/{sweep.pk}/questions/")
    segment = page.get_by_label("Segment")
    segment.focus()
    page.keyboard.type("Number")
    expect(segment).to_have_value("number-and-scope")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Show":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_text("4 of 12 questions")).to_be_visible()
    assert "segment=number-and-scope" in page.url
    page.reload()
    expect(page.get_by_text("4 of 12 questions")).to_be_visible()
    expect(page.get_by_label("Segment")).to_have_value("number-and-scope")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").press("Enter")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert {row["segment"] for row in rows} == {"number-and-scope"}
    assert len(rows) == 4

"""The pages around a release in a real browser: record, comparison, next experiment and power help, in both themes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotate.domain.vocabulary import Partition, Role
from evaluation.models import Plan
from evaluation.services.export_pack import lost_questions
from evaluation.services.outcome_table import table_of_results
from evaluation.services.results import sweep_results
from evaluation.services.sign_release import sign_release
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan, make_sealed_sweep

pytestmark = pytest.mark.django_db(transaction=True)

OPENED = PLAN.replace('partition = "development"', 'partition = "all"\nheld_out_openings = 2')
POWER = "discordance=0.3&step=0.5&change=0&correlation=0.3&per_cluster=3&power=0.8"


def test_lost_question_leads_to_a_draft_and_every_page_is_accessible_and_looks_right(
    page: Page,
    expect_status: Callable[..., None],
    sign_in: Callable[..., None],
    shoot: Callable[..., Any],
    check_accessibility: Callable[[Page], None],
) -> None:
    first = make_sealed_sweep(make_plan(make_fixture_set("tools", partition=Partition.HELD_OUT), OPENED))
    second = make_sealed_sweep(make_plan(first.plan.fixture_set, OPENED.replace("tolerance = 0.05", "tolerance = 0.2")))
    for one in (first, second):
        sweep_results(one)
    lead = make_member(first.plan.study, Role.LEAD, username="lead", clearance=["staff", "keys"])
    sign_release(lead, first, idempotency_key="first")
    lost = lost_questions(table_of_results(first), "window-48-0")[0]
    sign_in(page, lead)
    pages = {
        "release": f"/sweeps/{first.pk}/release/",
        "release-record": f"/sweeps/{first.pk}/release/record/",
        "releases": f"/studies/tools/releases/?before={first.pk}&after={second.pk}",
        "next-experiment": f"/sweeps/{first.pk}/questions/{lost}/next/?phase=1/4",
        "plan-power": f"/plans/{first.plan_id}/?{POWER}",
    }
    for name, address in pages.items():
        page.goto(address)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            check_accessibility(page)
        page.set_viewport_size({"width": 390, "height": 900})
        page.reload()
        check_accessibility(page)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} scrolls sideways by {wide} px on a phone"
        page.set_viewport_size({"width": 1440, "height": 900})
        shoot(page, f"release-pages-{name}")

    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(pages["release-record"])
    population = page.locator("details", has=page.get_by_role("heading", name="Population"))
    expect(population).not_to_have_attribute("open", "")
    page.get_by_role("link", name="Population").click()
    expect(population).to_have_attribute("open", "")
    page.goto(f"/sweeps/{first.pk}/measures/")
    check_accessibility(page)
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="Single unit support")).first
    expect(row.get_by_role("cell")).to_have_count(3)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(pages["release-record"])
    expect(population).to_have_attribute("open", "")

    page.goto(f"/plans/{first.plan_id}/")
    page.get_by_text("Write another plan with other gates").click()
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        check_accessibility(page)
    page.set_viewport_size({"width": 1440, "height": 900})
    expect_status(422)
    page.get_by_label("Tolerance of gate 1", exact=True).fill("much")
    page.get_by_role("button", name="Write new draft").first.click()
    expect(page.get_by_text("Mend the marked fields.")).to_be_visible()
    check_accessibility(page)
    page.get_by_label("Tolerance of gate 1", exact=True).fill("0.4")
    page.get_by_role("button", name="Write new draft").first.click()
    expect(page.get_by_role("row").filter(has_text="0.4").first).to_be_visible()
    assert Plan.objects.get(locked_at=None).toml.count('tolerance = "0.4"') == 1
    Plan.objects.filter(locked_at=None).delete()

    page.goto(pages["next-experiment"])
    for phase in ("1/4", "1/2", "3/4", "1/1"):
        page.goto(f"/sweeps/{first.pk}/questions/{lost}/next/?phase={phase}")
        if page.get_by_role("button", name="Open it as a plan").count():
            break
    page.get_by_role("button", name="Open it as a plan").first.click()
    check_accessibility(page)
    expect(page.get_by_label("Plan as TOML")).to_have_value(re.compile(f"{lost} lost its support"))
    page.get_by_role("button", name="Write draft").click()
    expect(page.get_by_text("draft", exact=False).first).to_be_visible()
    assert Plan.objects.filter(locked_at=None).count() == 1

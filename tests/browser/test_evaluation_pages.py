"""The evaluation pages in a real browser: from a preset to a signed release, in both themes and at both widths."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotate.domain.vocabulary import Role
from evaluation.charts.support_by_phase import PhasePoint, draw
from evaluation.models import Release, Sweep
from evaluation.services.results import sweep_results
from evaluation.services.work import drain
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan, make_sealed_sweep, make_sweep

pytestmark = pytest.mark.django_db(transaction=True)


def sealed_with_report() -> Sweep:
    """Return a sealed sweep whose report is computed: resampling takes seconds, and a page's limit is ten."""
    sweep = make_sealed_sweep(make_plan(make_fixture_set("tools")))
    sweep_results(sweep)
    draw([PhasePoint("a", "1/1", 1, 2, 0.5)], ["a"])
    return sweep


def drawings_done(page: Page) -> None:
    """Wait until every chart of the page has its drawing."""
    expect(page.locator(".drawing-slot")).to_have_count(0)


def test_lead_goes_from_a_preset_to_a_signed_release(
    page: Page, sign_in: Callable[..., None], expect_status: Callable[..., None], shoot: Callable[..., Any]
) -> None:
    fixture_set = make_fixture_set("tools")
    lead = make_member(fixture_set.study, Role.LEAD, username="lead")
    sign_in(page, lead)
    expect_status(422)

    page.goto("/studies/tools/plans/")
    page.get_by_label("Start from").select_option("standard")
    page.get_by_role("button", name="Fill in").click()
    text = page.get_by_label("Plan as TOML")
    assert "boundary_hypothesis" in text.input_value()
    text.fill(PLAN.replace("overlap = 16", "overlap = 48"))
    page.get_by_role("button", name="Write draft").click()
    expect(page.get_by_role("alert")).to_contain_text("the cuts would never advance")
    assert "overlap = 48" in text.input_value()
    text.fill(PLAN)
    page.get_by_role("button", name="Write draft").click()

    expect(page.get_by_role("heading", name="short-overlap", level=1)).to_be_visible()
    page.get_by_role("button", name="Lock the plan").click()
    page.get_by_role("button", name="Start sweep").click()
    expect(page.get_by_text("0 of 9 cells done")).to_be_visible()
    swept = Sweep.objects.select_related("plan__study", "plan__fixture_set").get()
    drain("browser-test", sweep_id=swept.pk)
    swept.refresh_from_db()
    sweep_results(swept)
    draw([PhasePoint("a", "1/1", 1, 2, 0.5)], ["a"])
    # No reload: the page asks for its progress by itself.
    page.get_by_role("link", name="Read the results").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Collect more evidence")
    page.get_by_role("link", name="To the release").click()
    page.get_by_label("Reject").check()
    page.get_by_label("I have read the gates").check()
    page.get_by_role("button", name="Sign the release").click()
    expect(page.get_by_role("alert")).to_contain_text("write down why")
    page.get_by_label("Reason for an override").fill("Too few questions, and we will not wait.")
    page.get_by_label("I have read the gates").check()
    page.get_by_role("button", name="Sign the release").click()
    expect(page.get_by_text("Signed “Reject” by lead")).to_be_visible()
    expect(page.get_by_text("we will not wait")).to_be_visible()
    signed = Release.objects.get()
    assert (signed.disposition, signed.computed) == ("reject", "collect-more")
    shoot(page, "evaluation-release-signed")


def test_every_page_is_accessible_and_looks_right(
    page: Page,
    sign_in: Callable[..., None],
    shoot: Callable[..., Any],
    check_accessibility: Callable[[Page], None],
) -> None:
    sealed = sealed_with_report()
    draft = make_plan(sealed.plan.fixture_set, PLAN.replace("grid = 4", "grid = 8"), locked=False)
    running = make_sweep(make_plan(sealed.plan.fixture_set, PLAN.replace("seed = 7", "seed = 8")))
    sign_in(page, make_member(sealed.plan.study, Role.LEAD, username="lead", clearance=["staff"]))
    pages = {
        "plans": "/studies/tools/plans/?preset=demo",
        "plan": f"/plans/{draft.pk}/",
        "sweep": f"/sweeps/{running.pk}/",
        "sweep-sealed": f"/sweeps/{sealed.pk}/",
        "results": f"/sweeps/{sealed.pk}/results/",
        "top-k": f"/sweeps/{sealed.pk}/top-k/",
        "charts": f"/sweeps/{sealed.pk}/charts/",
        "segment": f"/sweeps/{sealed.pk}/results/overall/",
        "questions": f"/sweeps/{sealed.pk}/questions/?change=fragile",
        "measures": f"/sweeps/{sealed.pk}/measures/",
        **{
            f"chart-{name}": f"/sweeps/{sealed.pk}/charts/{name}/"
            for name in ("questions-by-phase", "frontier", "agreement")
        },
        "question": f"/sweeps/{sealed.pk}/questions/opening/?phase=1/2",
        "restricted": f"/sweeps/{sealed.pk}/questions/alarm/?phase=1/2",
        "markup": f"/sweeps/{sealed.pk}/questions/incident/?phase=1/2",
        "release": f"/sweeps/{sealed.pk}/release/",
    }
    for name, address in pages.items():
        page.goto(address)
        drawings_done(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            check_accessibility(page)
        shoot(page, f"evaluation-{name}")
        page.set_viewport_size({"width": 390, "height": 900})
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{name} scrolls sideways by {wider} px on a phone"
        page.set_viewport_size({"width": 1440, "height": 900})


ARMS = """
[[arms]]
name = "sentences-48-16"
role = "candidate"
segmenter = "sentences"
capacity = 48
overlap = 16
factor = "segmenter"

[[arms]]
name = "recursive-48-16"
role = "candidate"
segmenter = "recursive"
capacity = 48
overlap = 16
separators = ["\\n\\n", "\\n", ". "]
factor = "segmenter"

[statistics]
multiplicity = "bonferroni"
"""


def test_plan_with_caps_and_estimate_is_used_by_keyboard_and_looks_right(
    page: Page,
    sign_in: Callable[..., None],
    shoot: Callable[..., Any],
    check_accessibility: Callable[[Page], None],
    expect_status: Callable[..., None],
) -> None:
    plan = make_plan(make_fixture_set("tools"), PLAN.replace("\n[statistics]\n", ARMS, 1))
    sign_in(page, make_member(plan.study, Role.LEAD, username="lead"))
    expect_status(422)

    def looks_right(name: str) -> None:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            check_accessibility(page)
        shoot(page, f"evaluation-{name}")
        page.set_viewport_size({"width": 390, "height": 900})
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{name} scrolls sideways by {wider} px on a phone"
        page.set_viewport_size({"width": 1440, "height": 900})

    page.goto(f"/plans/{plan.pk}/")
    expect(page.get_by_text("Not measured yet")).to_be_visible()
    price = page.locator("#estimate-price_input")
    price.focus()
    page.keyboard.type("0.15")
    page.keyboard.press("Tab")
    page.keyboard.type("0.60")
    page.keyboard.press("Enter")
    expect(page.get_by_text("at these prices")).to_be_visible()
    looks_right("plan-estimate")

    page.locator("#start-max_cells").fill("no")
    page.get_by_role("button", name="Start sweep").click()
    expect(page.get_by_role("alert")).to_contain_text("whole number")
    looks_right("plan-cap-refused")
    page.locator("#start-max_cells").fill("4")
    page.locator("#start-max_cells").press("Enter")
    expect(page.get_by_text("0 of 17 cells done")).to_be_visible()
    swept = Sweep.objects.get()
    drain("browser-test", sweep_id=swept.pk)
    # No reload: the page asks for its progress by itself.
    page.get_by_role("link", name="Raise the cap").click()
    page.reload()
    looks_right("sweep-capped")
    cells = page.locator("#limits-max_cells")
    assert cells.input_value() == "4"
    cells.fill("")
    page.get_by_role("button", name="Go on").press("Enter")
    expect(page.get_by_text("4 of 17 cells done")).to_be_visible()
    drain("browser-test", sweep_id=swept.pk)
    expect(page.get_by_role("link", name="Read the results")).to_be_visible()
    looks_right("sweep-times")


def test_drawn_source_keeps_every_byte_and_cuts_stand_between_runs(page: Page, sign_in: Callable[..., None]) -> None:
    sweep = sealed_with_report()
    sign_in(page, make_member(sweep.plan.study, Role.OBSERVER, clearance=["staff", "keys"]))
    page.goto(f"/sweeps/{sweep.pk}/questions/incident/?phase=1/2")
    drawn = page.locator(".document", has_text="safety 1").locator(".source.drawn")
    runs = drawn.locator("[data-start]").evaluate_all(
        """runs => runs.map(run => [Number(run.dataset.start), Number(run.dataset.end), run.dataset.atom ?? null,
                                    run.textContent, new TextEncoder().encode(run.textContent).length])"""
    )
    at = 0
    for start, end, atom, _, length in runs:
        assert start == at, f"a gap before byte {start}"
        assert atom or length == end - start, f"bytes {start}–{end} are drawn as {length}"
        at = end
    text = "".join(run[3] for run in runs)
    assert "<script>alert(1)</script> or </pre>" in text
    assert page.evaluate("document.querySelectorAll('main script').length") == 0
    cuts = drawn.locator(".cut").evaluate_all("cuts => cuts.map(cut => [Number(cut.dataset.cut), cut.textContent])")
    assert cuts
    edges = {run[0] for run in runs}
    assert all(cut[0] in edges and cut[1] == "" for cut in cuts)

    page.keyboard.press("]")
    expect(page.get_by_text("phase 3/4")).to_be_visible()
    page.keyboard.press("[")
    expect(page.get_by_text("phase 1/2")).to_be_visible()


def test_slider_walks_the_phases_in_place_and_keys_walk_the_lost_questions(
    page: Page, sign_in: Callable[..., None]
) -> None:
    sweep = sealed_with_report()
    sign_in(page, make_member(sweep.plan.study, Role.LEAD, clearance=["staff", "keys"]))
    page.goto(f"/sweeps/{sweep.pk}/questions/?change=lost")
    first = page.locator("[data-list] a").first
    title = first.inner_text()
    page.keyboard.press("j")
    expect(first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(title)

    slider = page.get_by_label("Phase", exact=True)
    slider.focus()
    page.evaluate("window.stays = true")
    page.keyboard.press("Home")
    expect(page.get_by_text("phase 1/4")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("phase 3/4")).to_be_visible()
    expect(slider).to_be_focused()
    assert slider.get_attribute("aria-valuetext") == "3/4"
    assert "at=3" in page.url
    page.locator("h1").click()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("]")
    expect(page.get_by_text("phase 1/1")).to_be_visible()
    expect(slider).to_have_value("4")
    assert page.evaluate("window.stays"), "the page was loaded anew"

    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).not_to_have_text(title)
    page.keyboard.press("p")
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def test_question_page_and_charts_work_without_scripts(
    new_page: Callable[..., Page], sign_in: Callable[..., None]
) -> None:
    sweep = sealed_with_report()
    page = new_page(java_script_enabled=False)
    sign_in(page, make_member(sweep.plan.study, Role.LEAD))
    page.goto(f"/sweeps/{sweep.pk}/questions/opening/")
    page.get_by_label("Phase", exact=True).fill("3")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("phase 3/4")).to_be_visible()
    page.goto(f"/sweeps/{sweep.pk}/results/overall/")
    expect(page.locator("figure.chart img").first).to_be_visible()
    page.goto(f"/sweeps/{sweep.pk}/questions/")
    page.get_by_label("Segment").select_option("number-and-scope")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("4 of 12 questions")).to_be_visible()


def test_chart_follows_the_theme(page: Page, sign_in: Callable[..., None]) -> None:
    sweep = sealed_with_report()
    sign_in(page, make_member(sweep.plan.study, Role.LEAD))
    page.goto(f"/sweeps/{sweep.pk}/results/")
    drawings_done(page)
    # Whatever is below the fold is painted too: a class of another page must not take a cell's contents away.
    page.evaluate("window.scrollTo(0, 0)")
    painted = "cells => cells.every(one => one.checkVisibility({contentVisibilityAuto: true}))"
    assert page.locator("table.results td *").evaluate_all(painted)
    label = page.locator("figure.chart svg text").first
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours.append(label.evaluate("text => getComputedStyle(text).fill"))
    assert colours[0] != colours[1]
    page.locator("figure.chart").first.get_by_text("The same numbers as a table").click()
    expect(page.locator("figure.chart").first.get_by_role("table")).to_be_visible()
    with page.expect_download() as download:
        page.locator("figure.chart").first.get_by_role("link", name="SVG").click()
    assert download.value.suggested_filename.endswith(".svg")
    assert "var(" not in download.value.path().read_text()

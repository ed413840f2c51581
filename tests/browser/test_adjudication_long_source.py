"""The A/B page over a source of 1 MB with 200 differences: a few blocks at once, the rest as it comes into view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate.domain.content import MarkedSpan
from annotate.models import AdjudicationItem, Decision
from tests.annotate.passes import Desk, make_desk
from tests.browser.conftest import NewPage
from tests.browser.workspace import press

pytestmark = pytest.mark.django_db(transaction=True)

#: When a row got the focus, and when its bytes were outlined: by the page's own clock, which no polling slows.
SEEN = """
  window.seen = {};
  document.addEventListener("focusin", (event) => {
    if (event.target.matches(".difference")) seen = { focused: performance.now() };
  });
  new MutationObserver(() => {
    if (document.querySelector(".source .at")) seen.outlined ??= performance.now();
  }).observe(document.querySelector(".source"), { subtree: true, attributes: true, childList: true });
"""

SignIn = Callable[[Page, Any], None]
SENTENCE = "Clause {:05d}: a request is kept for thirty days 🛠️ unless its owner asked otherwise.\n"
WHOLE = "".join(SENTENCE.format(number) for number in range(11_500))
LINE = len(SENTENCE.format(0).encode())
DIFFERENCES = 200


def long_desk() -> Desk:
    """Return a desk whose passes differ in 200 places: half of them boundaries, half marked by one of the two."""
    desk = make_desk(WHOLE)
    assert len(WHOLE.encode()) > 1_000_000
    shared, one, two = [], [], []
    for number in range(DIFFERENCES):
        start = (20 + number * 57) * LINE
        span = desk.span(f"s{number}", start, start + LINE - 1)
        if number % 2:
            (one if number % 4 == 1 else two).append(span)
        else:
            one.append(span)
            two.append(MarkedSpan(span.version, span.start, span.end - 11, span.name, span.label))
    shared = [desk.span("rule", 0, LINE - 1)]
    desk.submit_both(
        desk.content(spans=(*shared, *one), sets=(("rule",),)), desk.content(spans=(*shared, *two), sets=(("rule",),))
    )
    return desk


def test_a_long_source_is_read_by_blocks_and_goes_to_the_bytes_of_any_row(page: Page, sign_in: SignIn) -> None:
    desk = long_desk()
    item = AdjudicationItem.objects.get(question=desk.question)
    assert item.disagreements.count() == DIFFERENCES
    sign_in(page, desk.adjudicator)
    address = reverse("adjudicate", args=[item.pk])
    answer = page.request.get(address)
    page_bytes = len(answer.body())
    page.goto(address, wait_until="commit")
    page.wait_for_selector(".source .block:not(.waiting) .mark.side-a.side-b")
    readable = page.evaluate("performance.now()")
    page.evaluate(SEEN)
    page.wait_for_load_state("load")
    loaded = page.evaluate("performance.now()")
    print(f"page {page_bytes / 1000:.0f} kB, first marks readable {readable:.0f} ms, loaded {loaded:.0f} ms")
    html = answer.text()
    assert html.count('<div class="block"') <= 4 < html.count('class="block waiting"')
    # The last row's bytes are a megabyte away.
    last = page.locator(".difference").last
    last.focus()
    expect(page.locator(".source .at").first).to_be_in_viewport()
    print(f"to the bytes of the last row: {page.evaluate('seen.outlined - seen.focused'):.0f} ms")
    number = int(page.locator(".source .at").first.inner_text().removeprefix("Clause ")[:5])
    assert number == 20 + (DIFFERENCES - 1) * 57
    top = page.locator(".source").evaluate("element => element.scrollTop")
    began = page.evaluate("performance.now()")
    page.evaluate("document.querySelectorAll('.difference, .source').forEach((element) => { element.same = true; })")
    press(page, "a")
    expect(page.locator(".difference.decided")).to_have_count(1)
    took = page.evaluate("performance.now()") - began
    print(f"one decision: {took:.0f} ms")
    assert Decision.objects.count() == 1
    # Only the row that was decided is drawn anew: the others stay, and so does the source with what was loaded.
    drawn_anew = "document.querySelectorAll('.difference, .source').values().filter((element) => !element.same)"
    assert page.evaluate(f"[...{drawn_anew}].map((element) => element.className)") == ["card difference decided"]
    assert page.locator(".source .block:not(.waiting)").count() > 4
    assert top > 0
    expect(page.locator(".difference:not(.decided)").first).to_be_focused()
    expect(page.locator(".source .at").first).to_be_in_viewport()
    assert page.locator(".source .at").first.inner_text().startswith("Clause 00020")


def test_what_is_not_loaded_yet_takes_the_room_it_will_take(page: Page, sign_in: SignIn) -> None:
    desk = long_desk()
    item = AdjudicationItem.objects.get(question=desk.question)
    for person, address in (
        (desk.adjudicator, reverse("adjudicate", args=[item.pk])),
        (desk.one, reverse("workspace", args=[desk.first.pk])),
    ):
        sign_in(page, person)
        # Nothing comes: what stands here is what the page estimates.
        page.route("**/blocks/**", lambda route: None)
        page.goto(address)
        page.wait_for_selector('.block.waiting[style*="min-height"]')
        heights = page.locator(".source > .block").evaluate_all(
            "blocks => blocks.map(block => [block.classList.contains('waiting'), block.getBoundingClientRect().height])"
        )
        waiting = [height for is_waiting, height in heights if is_waiting]
        (drawn, *_) = [height for is_waiting, height in heights if not is_waiting]
        assert len(waiting) > 100
        assert 0.5 * drawn < waiting[0] < 2 * drawn
        page.unroute("**/blocks/**")


def test_without_scripts_a_link_draws_the_blocks_from_a_byte_on(new_page: NewPage, sign_in: SignIn) -> None:
    desk = long_desk()
    item = AdjudicationItem.objects.get(question=desk.question)
    page = new_page(java_script_enabled=False)
    sign_in(page, desk.adjudicator)
    page.goto(reverse("adjudicate", args=[item.pk]))
    link = page.get_by_role("link", name="Show from byte").last
    start = int(link.inner_text().rsplit(" ", 1)[1])
    link.click()
    expect(page.locator(f'.source .block[data-block-start="{start}"]')).to_contain_text("Clause 114")

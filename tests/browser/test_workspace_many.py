"""Much of everything: a span in two hundred support sets, and what a change to it makes the browser do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotate.services.save_pass import save_pass
from tests.annotate.passes import make_desk
from tests.browser.workspace import open_task, press, saved

pytestmark = pytest.mark.django_db(transaction=True)

SETS = 200
COUNT = """() => {
  window.made = 0;
  new MutationObserver((changes) => {
    for (const change of changes) window.made += change.addedNodes.length;
  }).observe(document.getElementById("sets"), { childList: true, subtree: true });
}"""


def test_a_span_of_two_hundred_sets_is_taken_back_and_restored_without_making_their_cards_anew(
    page: Page, live_server: Any, sign_in: Callable[[Page, Any], None]
) -> None:
    desk = make_desk("Zero one two three four five six seven eight nine.")
    spans = tuple(desk.span(f"s{number}", number, number + 3) for number in range(12))
    sets = tuple(("s0", *(f"s{1 + (number + more) % 11}" for more in range(4))) for number in range(SETS))
    save_pass(desk.one, desk.first, 0, desk.content(spans=spans, sets=sets))
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    cards = page.locator(".set-card")
    expect(cards).to_have_count(SETS)
    before = cards.first.locator(".chip").evaluate_all("(chips) => chips.map((chip) => chip.dataset.name)")
    assert before == ["s0", "s1", "s2", "s3", "s4"]
    page.evaluate(COUNT)
    press(page, "j Delete")
    saved(page, desk.first, lambda content: all("s0" not in members for members in content.sets))
    expect(cards.first.locator(".set-title")).to_have_text("4 spans")
    # Titles are written anew; no card and no chip is.
    assert page.evaluate("window.made") == SETS
    press(page, "Control+z")
    content = saved(page, desk.first, lambda content: content.sets[0][:1] == ("s0",))
    assert {frozenset(members) for members in content.sets} == {frozenset(members) for members in sets}
    assert cards.first.locator(".chip").evaluate_all("(chips) => chips.map((chip) => chip.dataset.name)") == before
    assert page.evaluate("window.made") == 3 * SETS
    # A chip with the focus keeps it while its card changes; one that goes leaves it to what makes the next set.
    cards.first.locator("[data-name='s2']").focus()
    page.keyboard.press("Enter")
    press(page, "Shift+Digit1")
    saved(page, desk.first, lambda content: "s2" not in content.sets[0])
    expect(page.locator("#add-set")).to_be_focused()

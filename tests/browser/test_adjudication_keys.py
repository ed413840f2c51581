"""Adjudicating by keyboard alone: keys per agreed and per disputed item, and none that takes a side by accident."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate.models import AdjudicationItem, Decision, DiscussionNote
from tests.annotate.passes import Desk, make_desk
from tests.browser.scene import LOG, Scene
from tests.browser.workspace import count_hands, hands_of, press

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]


def item_of(desk: Desk) -> AdjudicationItem:
    return AdjudicationItem.objects.get(question=desk.question)


def open_item(page: Page, item: AdjudicationItem) -> None:
    page.goto(reverse("adjudicate", args=[item.pk]))
    expect(page.locator("#confirm")).to_be_visible()


def give_reasons(page: Page, number: int) -> None:
    """Write why into the field that has the focus, and go on with Enter; the last Enter settles."""
    for at in range(number):
        expect(page.locator('#settle-form [name^="reason:"]').nth(at)).to_be_focused()
        page.keyboard.insert_text("Without it the answer is wrong.")
        press(page, "Enter")
    expect(page.locator(".page-head .tag.accept")).to_contain_text("settled")


def test_an_agreed_item_takes_three_keys(page: Page, sign_in: SignIn) -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content())
    count_hands(page)
    sign_in(page, desk.adjudicator)
    open_item(page, item_of(desk))
    press(page, "c")
    give_reasons(page, 2)
    hands = hands_of(page)
    print(f"agreed item of two spans: {hands['keydown']} keys, {hands['pointerdown']} clicks")
    # One to confirm, one for each span's reason; the reasons are typing.
    assert hands == {"keydown": 3, "pointerdown": 0}
    assert desk.question.results.count() == 1


def test_nothing_is_ticked_in_advance_and_a_key_says_topical_as_one_says_necessary(page: Page, sign_in: SignIn) -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content())
    count_hands(page)
    sign_in(page, desk.adjudicator)
    open_item(page, item_of(desk))
    press(page, "c")
    why = page.locator('#settle-form [name^="reason:"]')
    expect(why.first).to_be_focused()
    expect(page.locator("#settle-form input:checked")).to_have_count(0)
    # Without a reason Enter says nothing.
    press(page, "Enter")
    expect(why.first).to_be_focused()
    expect(page.locator("#settle-form input:checked")).to_have_count(0)
    page.keyboard.insert_text("It is the rule.")
    press(page, "Enter")
    expect(why.nth(1)).to_be_focused()
    # Topical, too, is said with its reason.
    press(page, "Shift+Enter")
    expect(why.nth(1)).to_be_focused()
    expect(page.locator("#settle-form input:checked")).to_have_count(1)
    page.keyboard.insert_text("The rule says it alone.")
    press(page, "Shift+Enter")
    expect(page.locator(".page-head .tag.accept")).to_contain_text("settled")
    said = desk.question.results.get().span_decisions.values_list("span_name", "necessity")
    assert dict(said) == {"rule": "necessary", "qualifier": "topical"}


def test_a_disputed_item_takes_a_key_a_difference_and_the_focus_goes_on_by_itself(page: Page, sign_in: SignIn) -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(answer="Seven days.", scope="temporary ones"))
    agreed = make_desk(study=desk.study)
    agreed.submit_both(agreed.content(), agreed.content())
    count_hands(page)
    sign_in(page, desk.adjudicator)
    open_item(page, item_of(desk))
    press(page, "c")
    expect(page.locator("#confirm")).to_have_count(0)
    for decided, key in ((1, "a"), (2, "b")):
        expect(page.locator(".difference:not(.decided)").first).to_be_focused()
        press(page, key)
        expect(page.locator(".difference.decided")).to_have_count(decided)
    give_reasons(page, 2)
    hands = hands_of(page)
    print(f"disputed item, two differences and two spans: {hands['keydown']} keys, {hands['pointerdown']} clicks")
    # One to confirm, one a difference, one for each span's reason.
    assert hands == {"keydown": 5, "pointerdown": 0}
    expect(page.locator("#next-item")).to_be_focused()
    press(page, "Enter")
    page.wait_for_url("**" + reverse("adjudicate", args=[item_of(agreed).pk]))


def test_rejecting_and_editing_take_the_reason_first_and_enter_never_takes_a_side(
    page: Page, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(answer="Seven days.", scope="temporary ones"))
    count_hands(page)
    sign_in(page, desk.adjudicator)
    open_item(page, item_of(desk))
    row = page.locator(".difference", has_text="Answer").first
    row.locator('[name="reason"]').focus()
    press(page, "Enter")
    expect(row).to_be_focused()
    assert not Decision.objects.exists()
    # An answer is replaced, never left out; replacing both sides without saying why is refused, and the focus stays.
    press(page, "e")
    page.keyboard.insert_text("At most seven days.")
    expect_status(422)
    press(page, "Control+Enter")
    expect(page.locator("#item-head > [role='alert']")).to_contain_text("reason")
    expect(row.locator('[name="reason"]')).to_be_focused()
    page.keyboard.insert_text("Neither says at most.")
    press(page, "Enter e")
    page.keyboard.insert_text("At most seven days.")
    press(page, "Control+Enter")
    expect(page.locator(".difference.decided")).to_have_count(1)
    hands_of(page)
    press(page, "x")
    expect(page.locator(".difference:not(.decided) [name='reason']")).to_be_focused()
    assert Decision.objects.count() == 1
    page.keyboard.insert_text("The text limits nobody.")
    press(page, "Enter")
    expect(page.locator(".difference.decided")).to_have_count(2)
    assert hands_of(page) == {"keydown": 2, "pointerdown": 0}
    made = Decision.objects.order_by("ordinal").values_list("choice", "reason")
    assert list(made) == [("edited", "Neither says at most."), ("reject", "The text limits nobody.")]
    press(page, "c")
    expect(page.locator("#settle-form")).to_contain_text("At most seven days.")


def test_the_source_goes_to_the_bytes_of_the_row_in_focus(page: Page, sign_in: SignIn) -> None:
    desk = make_desk(LOG)
    end = len(LOG.encode())
    far = desk.span("rule", end - 16, end - 1)
    desk.submit_both(
        desk.content(spans=(far,), sets=(("rule",),)),
        desk.content(spans=(desk.span("rule", end - 16, end - 5),), sets=(("rule",),)),
    )
    sign_in(page, desk.adjudicator)
    open_item(page, item_of(desk))
    expect(page.locator(".source .mark").first).not_to_be_in_viewport()
    press(page, "j")
    expect(page.locator(".difference")).to_be_focused()
    expect(page.locator(".source .at").first).to_be_in_viewport()
    expect(page.locator(".source .at")).to_have_text(["End of the ", "log."])
    assert page.evaluate("scrollY") < 600


def test_an_item_is_discussed_and_shown_as_it_stood(page: Page, sign_in: SignIn) -> None:
    scene = Scene()
    sign_in(page, scene.adjudicator)
    page.goto(scene.item("settled"))
    expect(page.locator(".difference")).to_contain_text("members")
    page.locator("#as-of").select_option(index=2)
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(".callout.collect").first).to_contain_text("What was decided by then")
    expect(page.locator(".difference")).not_to_contain_text("out-of-scope")
    page.goto(scene.item("disputed"))
    page.get_by_label("Note, or why").fill("The heading names nobody.")
    page.get_by_role("button", name="Add note").click()
    expect(page.locator(".thread .said").last).to_have_text("The heading names nobody.")
    assert DiscussionNote.objects.filter(text="The heading names nobody.").count() == 1

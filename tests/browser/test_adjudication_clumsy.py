"""The A/B page in clumsy hands: two tabs, double clicks, the back button, somebody taken off the study meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate.domain.vocabulary import Choice, Role
from annotate.models import AdjudicationItem, Decision, Membership, Person
from annotate.services.decide import decide
from annotate.services.reopen_item import reopen_item
from tests.annotate.passes import Desk, make_desk
from tests.annotate.settled import settle
from tests.browser.conftest import NewPage
from tests.browser.watch import Watch
from tests.browser.workspace import press
from tests.factories import make_member

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]


def disputed() -> tuple[Desk, AdjudicationItem, str]:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(answer="Seven days.", scope="temporary ones"))
    item = AdjudicationItem.objects.get(question=desk.question)
    return desk, item, reverse("adjudicate", args=[item.pk])


def test_two_tabs_never_pass_over_each_other_and_the_later_one_sees_why(
    new_page: NewPage, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk, item, address = disputed()
    one, two = new_page(), new_page()
    for page in (one, two):
        sign_in(page, desk.adjudicator)
        page.goto(address)
    row = item.disagreements.get(kind="answer")
    one.locator(f"#difference-{row.pk}").focus()
    press(one, "a")
    expect(one.locator(".difference.decided")).to_have_count(1)
    late = two.locator(f"#difference-{row.pk}")
    late.locator('[name="reason"]').fill("B is shorter.")
    late.focus()
    expect_status(409)
    press(two, "b")
    expect(two.locator("#item-head > [role='alert']")).to_contain_text("decided since the page was drawn")
    expect(late.locator('[name="reason"]')).to_have_value("B is shorter.")
    expect(late.locator(".tag.accept")).to_contain_text("A taken")
    assert Decision.objects.count() == 1
    late.focus()
    press(two, "b")
    expect(late.locator(".tag.accept")).to_contain_text("B taken")
    assert list(Decision.objects.order_by("ordinal").values_list("choice", "reason")) == [
        ("a", ""),
        ("b", "B is shorter."),
    ]


def test_what_is_typed_elsewhere_on_the_page_stays_while_a_row_is_decided(page: Page, sign_in: SignIn) -> None:
    desk, item, address = disputed()
    sign_in(page, desk.adjudicator)
    page.goto(address)
    first, second = (page.locator(f"#difference-{row.pk}") for row in item.disagreements.order_by("position"))
    second.locator('[name="reason"]').fill("The text limits nobody.")
    second.locator('[name="reason_code"]').select_option("out-of-scope")
    note = page.get_by_label("Note, or why")
    note.fill("Half a thought")
    first.focus()
    press(page, "a")
    expect(first.locator(".tag.accept")).to_contain_text("A taken")
    expect(second).to_be_focused()
    expect(second.locator('[name="reason"]')).to_have_value("The text limits nobody.")
    expect(second.locator('[name="reason_code"]')).to_have_value("out-of-scope")
    expect(note).to_have_value("Half a thought")
    press(page, "c")
    expect(page.locator("#confirm")).to_have_count(0)
    # A row that somebody else decided meanwhile is drawn anew, whatever this page shows.
    other = make_member(desk.study, Role.ADJUDICATOR)
    decide(other, item, item.disagreements.order_by("position")[1], Choice.B, reason="B says it.")
    first.focus()
    press(page, "b")
    expect(first.locator(".tag.accept")).to_contain_text("B taken")
    expect(second.locator(".tag.accept")).to_contain_text("B taken")
    expect(second).to_contain_text("B says it.")
    why = page.locator('input[name="reason:rule"]')
    why.fill("It is the rule.")
    page.get_by_role("button", name="Add note").click()
    expect(page.locator(".thread .said")).to_have_text("Half a thought")
    expect(note).to_have_value("")
    expect(why).to_have_value("It is the rule.")
    assert list(item.decisions.order_by("ordinal").values_list("choice", flat=True)) == ["a", "a", "b", "b"]


def test_double_clicks_decide_and_settle_once(page: Page, sign_in: SignIn) -> None:
    desk, item, address = disputed()
    sign_in(page, desk.adjudicator)
    page.goto(address)
    page.locator("#confirm").dblclick()
    expect(page.locator("#confirm")).to_have_count(0)
    for decided, row in enumerate(item.disagreements.order_by("position"), 1):
        page.locator(f"#difference-{row.pk} [data-key='a']").dblclick()
        expect(page.locator(".difference.decided")).to_have_count(decided)
    for name in ("rule", "qualifier"):
        page.locator(f'input[name="necessity:{name}"][value="necessary"]').check()
        page.locator(f'input[name="reason:{name}"]').fill("The answer needs it.")
    page.locator("#settle-item").dblclick()
    expect(page.locator(".page-head .tag.accept")).to_contain_text("settled")
    assert (item.decisions.count(), item.results.count()) == (3, 1)


def test_the_back_button_shows_how_it_stands_and_nothing_is_decided_from_there_before_it_is_opened_again(
    page: Page, sign_in: SignIn
) -> None:
    desk = make_desk()
    settle(desk, desk.content(), desk.content(answer="Seven days."))
    item = AdjudicationItem.objects.get(question=desk.question)
    address = reverse("adjudicate", args=[item.pk])
    reopen_item(desk.adjudicator, item, "Overlooked.")
    sign_in(page, desk.adjudicator)
    page.goto(address)
    expect(page.locator("#settle-item")).to_be_visible()
    page.locator('input[name="reason:rule"]').fill("The answer rests on it.")
    page.locator("#settle-item").click()
    expect(page.locator(".page-head .tag.accept")).to_contain_text("settled")
    page.goto(reverse("adjudication", args=[desk.study.slug]))
    page.go_back()
    expect(page.locator(".page-head .tag.accept")).to_contain_text("settled")
    expect(page.locator("[data-key], #settle-item, #confirm")).to_have_count(0)
    expect(page.locator("#settle ~ .hint").first).to_contain_text("open it again first")
    page.locator(".difference").focus()
    press(page, "a b e c")
    assert item.decisions.count() == 2
    page.get_by_label("Note, or why").fill("The exception was overlooked.")
    page.get_by_role("button", name="Open again").click()
    expect(page.locator("[data-key='a']")).to_be_visible()
    assert item.results.count() == 2


def test_who_is_signed_out_in_the_middle_is_told_and_keeps_what_was_typed(page: Page, sign_in: SignIn) -> None:
    desk, item, address = disputed()
    sign_in(page, desk.adjudicator)
    page.goto(address)
    row = page.locator(".difference").first
    row.locator('[name="reason"]').fill("Because the text says so.")
    row.focus()
    Person.objects.filter(pk=desk.adjudicator.pk).update(is_active=False)
    press(page, "a")
    expect(page.locator("#unanswered")).to_contain_text("You are signed out")
    expect(row.locator('[name="reason"]')).to_have_value("Because the text says so.")
    expect(page.locator("#item")).to_be_visible()
    assert not item.decisions.exists()
    # Let in again, the very same page goes on.
    Person.objects.filter(pk=desk.adjudicator.pk).update(is_active=True)
    row.focus()
    press(page, "a")
    expect(page.locator(".difference.decided")).to_have_count(1)
    expect(page.locator("#unanswered")).to_have_count(0)


def test_who_lost_the_role_or_the_server_is_told_so_on_the_page(
    page: Page, sign_in: SignIn, expect_status: Callable[..., None], watch: Watch
) -> None:
    desk, item, address = disputed()
    sign_in(page, desk.adjudicator)
    page.goto(address)
    row = page.locator(".difference").first
    Membership.objects.filter(person=desk.adjudicator).update(role="observer")
    expect_status(403, 404)
    row.focus()
    press(page, "a")
    expect(page.locator("#unanswered")).to_contain_text("You may no longer do this")
    Membership.objects.filter(person=desk.adjudicator).delete()
    row.focus()
    press(page, "a")
    expect(page.locator("#unanswered")).to_contain_text("no longer here for you")
    page.evaluate("document.body.dispatchEvent(new CustomEvent('htmx:sendError', { bubbles: true }))")
    expect(page.locator("#unanswered")).to_contain_text("The server does not answer")
    assert not item.decisions.exists()
    watch.allow_console("Response Status Error Code")

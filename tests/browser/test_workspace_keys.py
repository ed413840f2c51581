"""Marking without a mouse: sentence numbers, caret, sets, undo; and the fewest keys of a whole task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotate.models import Person
from annotate.selectors.passes import submitted_content
from tests.annotate.passes import make_desk
from tests.browser.workspace import count_hands, hands_of, open_task, places, press, saved
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]


def test_a_two_span_question_from_the_sign_in_to_the_submission_takes_few_keys(page: Page, live_server: Any) -> None:
    desk = make_desk()
    count_hands(page)
    page.goto(live_server.url)
    expect(page.get_by_label("Username")).to_be_focused()
    page.keyboard.insert_text(desk.one.username)
    press(page, "Tab")
    page.keyboard.insert_text(PASSWORD)
    press(page, "Enter")
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    press(page, "Enter")
    page.wait_for_selector("[data-ready]")
    press(page, "1 Enter")
    expect(page.locator(".span-row")).to_have_count(1)
    press(page, "2 Enter")
    expect(page.locator(".span-row")).to_have_count(2)
    press(page, "y a")
    page.keyboard.insert_text("At most 7 days.")
    press(page, "Control+Enter")
    expect(page.locator("main .tag.accept").first).to_contain_text("Submitted")
    sealed = submitted_content(desk.first.work.submissions.get())
    assert places(sealed) == [(0, 37), (38, 89)]
    assert sealed.sets == (("rule", "rule-2"),)
    # Tab, two Enters, two numbers of two keys, two letters, Ctrl and Enter; name, password and answer are typing.
    hands = hands_of(page)
    print(f"from the sign-in to a submitted two-span question: {hands['keydown']} keys, {hands['pointerdown']} clicks")
    assert hands == {"keydown": 11, "pointerdown": 0}


def test_keys_mark_move_group_undo_and_survive_a_reload(page: Page, live_server: Any, sign_in: SignIn) -> None:
    desk = make_desk("One is here. Two is here. Three is here. Four is here.")
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "2 - 3 Enter")
    saved(page, desk.first, lambda content: places(content) == [(13, 40)])
    press(page, "] ] [ {")
    saved(page, desk.first, lambda content: places(content) == [(13, 42)])
    press(page, "n Shift+Digit2")
    saved(page, desk.first, lambda content: content.sets == (("rule",), ("rule",)))
    press(page, "j 1")
    saved(page, desk.first, lambda content: content.sets == ((), ("rule",)))
    press(page, "Delete")
    saved(page, desk.first, lambda content: content.spans == ())
    page.reload()
    page.wait_for_selector("[data-ready]")
    press(page, "Control+z")
    saved(page, desk.first, lambda content: content.sets == ((), ("rule",)))
    press(page, "Control+z Control+z Control+y")
    # Undone: taking set 1 away, then joining set 2; done again: joining set 2.
    saved(page, desk.first, lambda content: content.sets == (("rule",), ("rule",)))
    page.locator("#answer").focus()
    press(page, "2 m n j")
    expect(page.locator("#answer")).to_have_value("2mnj")
    saved(page, desk.first, lambda content: content.contract.answer == "2mnj")


def test_caret_moves_by_grapheme_and_word_over_every_kind_of_character(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    text = "a👩‍❤️‍👩e\u0301\r\n🇩🇪 two words\n\nend"
    desk = make_desk(text.encode())
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "c ArrowRight Shift+ArrowRight Enter")
    saved(page, desk.first, lambda content: places(content) == [(1, 1 + len("👩‍❤️‍👩".encode()))])
    press(page, "ArrowRight Shift+ArrowRight Enter")
    at = text.encode().index(b"\r\n")
    saved(page, desk.first, lambda content: (at, at + 2) in places(content))
    press(page, "Shift+ArrowRight Enter")
    flag = len("🇩🇪".encode())
    saved(page, desk.first, lambda content: (at + 2, at + 2 + flag) in places(content))
    press(page, "ArrowRight Shift+Control+ArrowRight Enter")
    start = text.encode().index(b"two")
    saved(page, desk.first, lambda content: (start, start + 3) in places(content))
    press(page, "ArrowDown ArrowDown Shift+End Enter")
    saved(page, desk.first, lambda content: (len(text.encode()) - 3, len(text.encode())) in places(content))


def test_any_sentence_in_view_takes_at_most_three_keys_whatever_its_number(
    page: Page, live_server: Any, sign_in: SignIn, check_accessibility: Callable[[Page], None]
) -> None:
    text = "".join(f"Rule {number:05d} is kept for a week.\n\n" for number in range(1_500))
    desk = make_desk(text)
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "/")
    page.keyboard.insert_text("Rule 01200")
    expect(page.locator("#find-count")).to_have_text("1 of 1")
    press(page, "Escape")
    run = page.locator("[data-n='1201']")
    expect(run).to_be_in_viewport()
    press(page, "e")
    hint = run.get_attribute("data-hint")
    assert hint is not None
    shown = page.locator("[data-hint]").evaluate_all("(all) => all.map((one) => one.dataset.hint)")
    assert len(set(shown)) == len(shown) == len([one for one in shown if len(one) <= 2])
    check_accessibility(page)
    # No other key is theirs, and Escape or a click takes them away.
    press(page, "Escape")
    expect(page.locator("[data-hint]")).to_have_count(0)
    press(page, "e n")
    expect(page.locator(".set-card")).to_have_count(0 if "n" in {one[0] for one in shown} else 1)
    press(page, "Escape")
    press(page, "e")
    page.keyboard.type(run.get_attribute("data-hint") or "")
    at = text.index("Rule 01200")
    saved(page, desk.first, lambda content: (at, at + len("Rule 01200 is kept for a week.")) in places(content))
    expect(page.locator("[data-hint]")).to_have_count(0)
    # Among very many sentences in view two letters say which.
    page.set_viewport_size({"width": 1440, "height": 3_000})
    press(page, "e")
    shown = page.locator("[data-hint]").evaluate_all("(all) => all.map((one) => one.dataset.hint)")
    assert {len(one) for one in shown} == {2}


def test_a_person_chooses_another_key_and_keeps_it(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "?")
    change = page.get_by_role("button", name="Change the key of new-set")
    change.click()
    press(page, "w")
    expect(page.locator("[data-key-of='new-set']")).to_have_text("w")
    expect_status(422)
    change.click()
    press(page, "m")
    expect(page.locator("#keys [role=status]")).to_contain_text("is the key of mark already")
    page.reload()
    page.wait_for_selector("[data-ready]")
    press(page, "n")
    press(page, "w")
    saved(page, desk.first, lambda content: content.sets == ((),))
    assert Person.objects.get(pk=desk.one.pk).keys == {"new-set": "w"}


def test_a_key_that_somebody_chose_stays_theirs_when_an_action_comes_with_it(
    page: Page, live_server: Any, sign_in: SignIn, expect_status: Callable[..., None]
) -> None:
    desk = make_desk()
    # Chosen while no action had it of its own.
    Person.objects.filter(pk=desk.one.pk).update(keys={"new-set": "e", "an-action-of-old": "q"})
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "e")
    saved(page, desk.first, lambda content: content.sets == ((),))
    expect(page.locator("[data-hint]")).to_have_count(0)
    press(page, "?")
    expect(page.locator("[data-key-of='letters']")).to_have_text("no key")
    # Another key can be chosen all the same, and the one without any gets one.
    page.get_by_role("button", name="Change the key of find").click()
    press(page, "q")
    expect(page.locator("[data-key-of='find']")).to_have_text("q")
    expect_status(422)
    page.get_by_role("button", name="Change the key of letters").click()
    press(page, "e")
    expect(page.locator("#keys [role=status]")).to_contain_text("already")
    page.get_by_role("button", name="Change the key of letters").click()
    press(page, "h")
    expect(page.locator("[data-key-of='letters']")).to_have_text("h")
    assert Person.objects.get(pk=desk.one.pk).keys == {"new-set": "e", "find": "q", "letters": "h"}


def test_keys_that_come_before_the_sentence_numbers_are_done_in_their_order(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = make_desk()
    sign_in(page, desk.one)
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route("**/layout/**", hold)
    open_task(page, live_server, desk.first)
    press(page, "1 Enter n 2 Enter Control+z")
    expect(page.locator(".span-row")).to_have_count(0)
    (asked,) = held
    asked.continue_()
    # The second mark was taken back, not what was there before it came in.
    saved(page, desk.first, lambda content: places(content) == [(0, 37)])
    press(page, "2 Enter")
    content = saved(page, desk.first, lambda content: len(content.spans) == 2)
    assert content.sets == (("rule",), ("rule-2",))

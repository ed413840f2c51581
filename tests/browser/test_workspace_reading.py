"""Reading: long sources that load as they are read, several sources, right-to-left text, and narrow screens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.domain.source_layout import lay_out
from annotate.permissions import OPERATOR
from annotate.services.import_sources import import_source_version
from annotate.services.save_pass import save_pass
from tests.annotate.passes import Desk, make_desk
from tests.browser.workspace import open_task, places, press, saved
from tests.factories import make_source_version

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[Page, Any], None]
WAITING = ".block.waiting"


def long_desk(kilobytes: int = 200, spans: int = 300) -> Desk:
    sentence = "Rule {:05d} says that nothing here is kept for longer than a week. "
    text = "".join(sentence.format(number) + ("\n\n" if number % 7 == 6 else "") for number in range(kilobytes * 15))
    desk = make_desk(text + "The needle stands in the very last line.")
    layout = lay_out(text.encode())
    marked = tuple(
        desk.span(f"s{number}", layout.sentence_starts[number * 3], layout.sentence_ends[number * 3])
        for number in range(spans)
    )
    save_pass(desk.one, desk.first, 0, desk.content(spans=marked, sets=(("s0", "s1"), ("s2",))))
    return desk


def test_a_long_source_opens_with_its_beginning_and_marks_where_nothing_is_loaded_yet(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = long_desk()
    sign_in(page, desk.one)
    page.route("**/blocks/**", lambda route: held.append(route) if hold[0] else route.continue_())
    held: list[Any] = []
    hold = [True]
    open_task(page, live_server, desk.first)
    expect(page.locator("[data-source]")).to_contain_text("Rule 00000 says")
    assert page.locator(WAITING).count() > 15
    hold[0] = False
    for route in held:
        route.continue_()
    press(page, "2 9 0 0 Enter")
    layout = lay_out(bytes(desk.version.content))
    wanted = (layout.sentence_starts[2899], layout.sentence_ends[2899])
    saved(page, desk.first, lambda content: wanted in places(content))
    expect(page.locator("[data-marks='rule']").first).to_be_in_viewport()
    press(page, "/")
    page.keyboard.insert_text("needle")
    expect(page.locator("#find-count")).to_have_text("1 of 1")
    expect(page.get_by_text("The needle stands")).to_be_in_viewport()
    page.wait_for_function("() => !document.querySelector('.block.waiting')")
    assert page.evaluate(
        """() => [...document.querySelectorAll("[data-start]")].every((run, at, all) =>
          at === 0 || all[at - 1].dataset.end === run.dataset.start)"""
    ), "the runs of all blocks are gapless"


def test_overlapping_and_nested_spans_are_flat_runs_with_letters_and_a_menu_where_they_are_stacked(
    page: Page, live_server: Any, sign_in: SignIn, check_accessibility: Callable[[Page], None]
) -> None:
    desk = make_desk("Zero one two three four five six seven.")
    spans = (desk.span("outer", 5, 28), desk.span("inner", 9, 18), desk.span("across", 14, 33))
    save_pass(desk.one, desk.first, 0, desk.content(spans=spans, sets=(("outer", "inner"), ("across",)), forbidden=()))
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    runs = page.evaluate(
        "() => [...document.querySelectorAll('.source [data-start]')].map((r) => [+r.dataset.start, +r.dataset.end, "
        "r.dataset.marks ?? '', r.dataset.tag ?? ''])"
    )
    assert [run[:3] for run in runs] == [
        [0, 5, ""],
        [5, 9, "outer"],
        [9, 14, "outer inner"],
        [14, 18, "outer inner across"],
        [18, 28, "outer across"],
        [28, 33, "across"],
        [33, 39, ""],
    ]
    assert [run[3] for run in runs] == ["", "A", "A", "B", "", "", ""]
    assert page.locator(".source .mark .mark").count() == 0
    page.locator("[data-start='14']").click()
    menu = page.get_by_role("menu", name="Spans here")
    check_accessibility(page)
    menu.get_by_role("menuitem", name="across").click()
    expect(page.locator(".span-row.chosen")).to_contain_text("across")
    check_accessibility(page)
    handle = page.locator(".handle[data-edge='end']")
    target = page.locator("[data-start='33']").bounding_box()
    handle.hover()
    page.mouse.down()
    page.mouse.move(target["x"] + target["width"] + 4, target["y"] + target["height"] / 2, steps=6)
    page.mouse.up()
    saved(page, desk.first, lambda content: (14, 39) in places(content))


def test_dragging_snaps_to_words_and_sentences(page: Page, live_server: Any, sign_in: SignIn) -> None:
    desk = make_desk("Alpha beta gamma. Delta epsilon zeta.")
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    box = """([from, to]) => {
      const at = (byte) => {
        for (const run of document.querySelectorAll(".source [data-start]"))
          if (+run.dataset.start <= byte && byte < +run.dataset.end) return [run.firstChild, byte - run.dataset.start];
      };
      const range = document.createRange();
      range.setStart(...at(from));
      range.setEnd(...at(to));
      const box = range.getBoundingClientRect();
      return [box.left, box.right, box.top + box.height / 2];
    }"""
    left, right, middle = page.evaluate(box, [7, 13])
    page.mouse.move(left, middle)
    page.mouse.down()
    page.mouse.move(right, middle, steps=5)
    page.keyboard.down("Alt")
    page.mouse.up()
    page.keyboard.up("Alt")
    expect(page.locator("#selection-note")).to_contain_text("bytes 6–16")
    press(page, "Enter")
    saved(page, desk.first, lambda content: places(content) == [(6, 16)])
    page.locator("#snap").select_option("sentence")
    left, right, middle = page.evaluate(box, [20, 26])
    page.mouse.move(left, middle)
    page.mouse.down()
    page.mouse.move(right, middle, steps=5)
    page.mouse.up()
    expect(page.locator("#selection-note")).to_contain_text("bytes 18–37")
    press(page, "m")
    saved(page, desk.first, lambda content: places(content) == [(6, 16), (18, 37)])


def test_another_source_opens_beside_what_is_marked_and_takes_marks_of_its_own_version(
    page: Page, live_server: Any, sign_in: SignIn, check_accessibility: Callable[[Page], None]
) -> None:
    desk = make_desk()
    for number in range(9):
        make_source_version(desk.study, f"Text {number} speaks of a walrus{number}. It is short.")
    secret = make_source_version(desk.study, "A walrus5 for the board only.", access_labels=["board"])
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "1 Enter")
    press(page, "s")
    page.keyboard.insert_text("walrus5")
    expect(page.locator("#source-results li")).to_have_count(1)
    expect(page.locator("#source-results")).to_contain_text("Text 5 speaks of a walrus5")
    check_accessibility(page)
    press(page, "Enter")
    expect(page.locator("[data-source]")).to_contain_text("Text 5 speaks")
    assert page.evaluate("document.activeElement.id") == "source"
    press(page, "2 Enter")
    content = saved(page, desk.first, lambda content: len(content.spans) == 2)
    assert len({span.version for span in content.spans}) == 2
    assert secret.sha256 not in {span.version for span in content.spans}
    expect(page.locator(".span-row")).to_have_count(2)


@pytest.mark.parametrize("name", ["rtl", "phone", "4k", "reduced"])
def test_text_of_any_direction_and_screens_of_any_size_are_accessible(
    name: str,
    new_page: Callable[..., Page],
    live_server: Any,
    sign_in: SignIn,
    check_accessibility: Callable[[Page], None],
) -> None:
    text = "مرحبا بكم. الحد 100 يوم. شكرا لكم." if name == "rtl" else "Plain text. It goes on."
    desk = make_desk(text)
    sizes = {"phone": (390, 800), "4k": (3840, 2160)}
    width, height = sizes.get(name, (1440, 900))
    options = {"viewport": {"width": width, "height": height}}
    page = new_page(**options, **({"reduced_motion": "reduce"} if name == "reduced" else {}))
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    press(page, "2 Enter")
    (place,) = places(saved(page, desk.first, lambda content: len(content.spans) == 1))
    assert text.encode()[slice(*place)].decode() == ("الحد 100 يوم." if name == "rtl" else "It goes on.")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if name == "reduced":
        moving = page.evaluate(
            """() => [...document.querySelectorAll("*")].filter((one) => {
                 const style = getComputedStyle(one);
                 return style.animationName !== "none" || !/^0s/.test(style.transitionDuration);
               }).length"""
        )
        assert moving == 0
    if name == "phone":
        page.get_by_role("button", name="Sets and answer").click()
        expect(page.locator(".span-row")).to_be_visible()
        page.get_by_role("button", name="Source", exact=True).click()
    check_accessibility(page)


def test_a_sentence_as_long_as_a_book_is_marked_without_loading_it(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = make_desk("\x00" + "x\r" * 60_000)
    sign_in(page, desk.one)
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route("**/blocks/**", hold)
    open_task(page, live_server, desk.first)
    press(page, "1 Enter")
    saved(page, desk.first, lambda content: places(content) == [(0, 120_000)])
    # The server sends the quote that the page did not have.
    expect(page.locator(".span-row .quote")).to_contain_text("x")
    for route in held:
        route.continue_()


def test_paper_shows_the_whole_source_the_spans_and_the_answer(page: Page, live_server: Any, sign_in: SignIn) -> None:
    desk = make_desk("".join(f"Rule {number:05d} is kept for a week.\n\n" for number in range(300)))
    save_pass(desk.one, desk.first, 0, desk.content())
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first)
    page.wait_for_function("() => !document.querySelector('.block.waiting')")
    page.emulate_media(media="print")
    for width in (1100, 720):
        page.set_viewport_size({"width": width, "height": 1000})
        cut = page.evaluate(
            """() => ["#source", "#pass-form", "body"].filter((name) => {
                 const part = document.querySelector(name);
                 return part.scrollHeight > part.clientHeight + 2;
               })"""
        )
        assert cut == [], f"{width} px of paper cut {cut}"
        for part in (".span-row .span-open", ".set-card .chip", "#answer"):
            expect(page.locator(part).first).to_be_visible()
        expect(page.locator("#sentence-entry")).to_be_hidden()


def test_a_mark_on_a_transcoded_text_says_where_it_stands_in_the_original_file(
    page: Page, live_server: Any, sign_in: SignIn
) -> None:
    desk = make_desk()
    entry = SourceEntry("fees.txt", "fees", "1", date(2026, 1, 1), encoding="cp1252")
    file = "Gebühr €. Für höchstens 30 Tage.".encode("cp1252")
    version = import_source_version(OPERATOR, desk.study, entry, file).version
    sign_in(page, desk.one)
    open_task(page, live_server, desk.first, f"?version={version.pk}")
    press(page, "2 Enter")
    saved(page, desk.first, lambda content: len(content.spans) == 1)
    # 13 bytes of UTF-8 are 10 of the file: two letters and a euro sign take more.
    expect(page.locator(".span-row.chosen .original")).to_contain_text("In the original (cp1252,")
    expect(page.locator(".span-row.chosen .original")).to_contain_text("bytes 10–32")

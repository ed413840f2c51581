"""What each person of the main job does on the site, by clicks and keys: import, mark, adjudicate, read, sign."""

from __future__ import annotations

import hashlib
import re

from playwright.sync_api import Locator, Page, expect

HOUSE = (
    "# House rules 🛠️\r\n\r\n"
    "A tool is lent for fourteen days. The fourteen days are counted from the day after collection, and the desk "
    "writes the last of them on the card.\r\n"
    "Tools marked with a red dot 🔴 are lent for three days, because others wait for them.\r\n\r\n"
    "## What the desk needs\r\n\r\n"
    "Bring the card that was given to you when you joined; a photograph of the card is not enough.\r\n"
    "The form wants plain text: <script>alert('loans')</script> and </pre> stop the printer.\r\n\r\n"
    "## Deposits\r\n\r\n"
    "A deposit is taken for power tools. The deposit is twenty euros for tools worth less than two hundred euros, and "
    "sixty euros for all others. It is returned in cash when the tool comes back clean and working.\r\n\r\n"
    "## Late returns\r\n\r\n"
    "Late returns cost one euro a day. Nothing is charged when the desk itself was closed on the due day. "
    "Whoever is late three times in a year talks to the desk before the next loan.\r\n"
)
WORKSHOP = (
    "# The workshop\n\n"
    "Only a guided user may run the table saw. A guided user is a member who has passed the course within two years.\n"
    "Everybody else may watch from behind the yellow line. Ear protection is worn near any running machine.\n"
)
RED_DOT = "Tools marked with a red dot 🔴 are lent for three days"
LENT = "A tool is lent for fourteen days"
CARD = "a photograph of the card is not enough"
QUESTIONS = """
[[question]]
key = "how-long"
text = "For how long is a tool lent?"
as_of = 2026-10-21
segment = "rule-and-exception"
partition = "development"

[[question]]
key = "photograph"
text = "May I show a photograph of my card?"
as_of = 2026-10-21
segment = "number-and-scope"
partition = "development"

[[question]]
key = "aprons"
text = "What colour are the aprons at the desk?"
as_of = 2026-10-21
segment = "unanswerable-control"
partition = "development"
nearest_document = "house-rules"
"""
#: What the lead changes in the preset: windows and ceilings that fit two pages of text.
CHANGES = {
    'name = "standard"': 'name = "library-overlap"',
    "evidence_tokens = [200, 400, 800]": "evidence_tokens = [90]",
    "primary_evidence_tokens = 400": "primary_evidence_tokens = 90",
    "capacity = 256": "capacity = 40",
    "overlap = 64": "overlap = 12",
    "overlap = 16": "overlap = 0",
    "replicates = 4000": "replicates = 200",
    "minimum_clusters = 10": "minimum_clusters = 2",
}
WORDS = re.compile("Accept|Reject|Collect more evidence")
PEOPLE = {"anna": "annotator", "ben": "annotator", "judith": "adjudicator", "olaf": "observer"}


def enter(page: Page, username: str, password: str) -> Page:
    page.goto("/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    return page


def tab(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="The tool library").get_by_role("link", name=name, exact=True).click()


def into_study(page: Page, name: str = "") -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="The tool library").click()
    if name:
        tab(page, name)


def upload(page: Page, name: str, data: str, **fields: str) -> None:
    page.get_by_label(re.compile("^(File|questions.toml)")).set_input_files(
        {"name": name, "mimeType": "text/plain", "buffer": data.encode()}
    )
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " ")).first.fill(value)
    page.get_by_role("button", name="Import").click()


def bytes_of(quote: str, text: str = HOUSE) -> tuple[int, int]:
    start = text.encode().index(quote.encode())
    return start, start + len(quote.encode())


def drag_over(page: Page, quote: str) -> None:
    """Select a quote that stands in one line of the drawn source, with the mouse as a hand does it."""
    source = page.locator("[data-source]")
    line = source.locator("[data-start]", has_text=quote).first
    line.scroll_into_view_if_needed()
    ends = line.evaluate(
        """(run, quote) => {
             const at = run.firstChild.data.indexOf(quote), range = document.createRange();
             range.setStart(run.firstChild, at);
             range.setEnd(run.firstChild, at + quote.length);
             if (range.getClientRects().length === 0) return null;
             range.startContainer.parentElement.scrollIntoView({ block: "nearest" });
             const boxes = [...range.getClientRects()], first = boxes[0], last = boxes.at(-1);
             return [first.left, first.top + first.height / 2, last.right, last.top + last.height / 2];
           }""",
        quote,
    )
    page.mouse.move(ends[0], ends[1])
    page.mouse.down()
    page.mouse.move(ends[2], ends[3], steps=8)
    page.mouse.up()


def contract(page: Page, **fields: str) -> None:
    """Fill in the answer contract of an answerable question; the dependency is chosen by its value."""
    page.get_by_label("The sources answer this").check()
    if dependency := fields.pop("dependency", ""):
        page.locator("#dependency").select_option(dependency)
    for name, value in fields.items():
        page.locator(f"#{name}").fill(value)


def submit(page: Page) -> None:
    page.locator("#submit-pass").click()
    expect(page.locator("main .tag.accept").first).to_contain_text("Submitted")
    page.locator("main .callout.accept").get_by_role("link", name="Home").click()


def open_task(page: Page, question: str, scripted: bool = True) -> None:
    page.get_by_role("listitem").filter(has_text=question).get_by_role("link").click()
    expect(page.get_by_role("heading", name=question)).to_be_visible()
    # With scripts the plain form is folded; without them it is open and nothing ever gets ready.
    if scripted:
        page.wait_for_selector("[data-ready]")
        if page.locator("#by-bytes").get_attribute("open") is None:
            page.locator("#by-bytes summary").click()
    page.get_by_role("navigation", name="Sources").get_by_role("link", name="House rules").click()
    expect(page.locator("[data-source]")).to_contain_text("House rules 🛠️")


def annotate_with_the_mouse(page: Page) -> None:
    open_task(page, "For how long is a tool lent?")
    for quote, label in ((LENT, "rule"), (RED_DOT, "exception")):
        page.locator("#new_label").select_option(label)
        drag_over(page, quote)
        expect(page.locator("#new_start")).to_have_value(str(bytes_of(quote)[0]))
        expect(page.locator("#new_end")).to_have_value(str(bytes_of(quote)[1]))
        page.get_by_role("button", name="Mark span").click()
        expect(page.locator(".span-row", has_text=quote)).to_be_visible()
    contract(
        page,
        answer="Fourteen days; three days with a red dot.",
        dependency="exception",
        missing_text="Say fourteen days for unmarked tools only.",
    )
    submit(page)

    open_task(page, "May I show a photograph of my card?")
    drag_over(page, CARD)
    page.get_by_role("button", name="Mark span").click()
    expect(page.locator(".span-row")).to_have_count(1)
    contract(page, answer="No.")
    submit(page)

    open_task(page, "What colour are the aprons at the desk?")
    page.get_by_label("The sources do not answer this").check()
    submit(page)
    expect(page.get_by_text("3 of 3 tasks submitted")).to_be_visible()


def annotate_with_the_form(page: Page) -> None:
    open_task(page, "For how long is a tool lent?")
    # It stands twice: the second place is the one that counts the days.
    page.get_by_label("or exact quote").fill("ourteen days")
    page.get_by_role("button", name="Mark span").click()
    expect(page.get_by_role("alert")).to_contain_text("it occurs 2 times")
    page.get_by_label("or exact quote").fill("ourteen days")
    page.get_by_label("Occurrence").fill("2")
    page.get_by_role("button", name="Preview").click()
    second = HOUSE.encode().rindex(b"ourteen days")
    expect(page.get_by_role("status").filter(has_text=f"Bytes {second}–{second + 12}")).to_be_visible()
    page.get_by_label("or exact quote").fill(LENT)
    for name in ("new_start", "new_end", "new_occurrence"):
        page.locator(f"#{name}").fill("")
    page.get_by_role("button", name="Mark span").click()
    expect(page.locator(".span-row", has_text=LENT)).to_be_visible()
    start, end = bytes_of(RED_DOT + ", because others wait for them")
    page.locator("#new_start").fill(str(start))
    page.locator("#new_end").fill(str(end))
    page.locator("#new_label").select_option("exception")
    page.get_by_role("button", name="Mark span").click()
    expect(page.locator(".span-row")).to_have_count(2)
    contract(
        page,
        answer="Fourteen days; three days with a red dot.",
        scope="members of the library",
        dependency="exception",
        missing_text="Say fourteen days for unmarked tools only.",
    )
    submit(page)

    open_task(page, "May I show a photograph of my card?")
    page.get_by_label("or exact quote").fill(CARD)
    page.get_by_role("button", name="Mark span").click()
    expect(page.locator(".span-row")).to_have_count(1)
    contract(page, answer="No.")
    submit(page)

    open_task(page, "What colour are the aprons at the desk?")
    page.get_by_label("The sources do not answer this").check()
    submit(page)


def difference(page: Page, kind: str) -> Locator:
    return page.locator(".difference").filter(has=page.get_by_role("heading", name=kind))


def take(row: Locator, side: str, reason: str) -> None:
    row.get_by_label("In words").fill(reason)
    row.get_by_role("button", name=f"Take {side}").click()


def side_saying(row: Locator, text: str) -> str:
    """Return the side, A or B, that says it: who is A was shuffled."""
    sides = row.locator(".two-up > div").all_inner_texts()
    found = [letter for letter, said in zip("AB", sides, strict=True) if text in said]
    assert len(found) == 1, sides
    return found[0]


def settle(page: Page, segment: str) -> None:
    if page.locator("#confirm").count():
        page.locator("#confirm").click()
        expect(page.locator("#confirm")).to_have_count(0)
    for reason in page.locator("[name^='reason:']").all():
        reason.fill("Without it the answer is wrong.")
    for necessary in page.locator("[name^='necessity:'][value='necessary']").all():
        necessary.check()
    page.get_by_label("Segment").select_option(segment)
    page.get_by_role("button", name="Settle").click()
    expect(page.locator("main .page-head .tag.accept")).to_contain_text("settled")


def adjudicate(page: Page) -> None:
    into_study(page, "Adjudication")
    page.get_by_role("listitem").filter(has_text="For how long").get_by_role("link").click()
    body = page.locator("#item")
    for name in ("anna", "ben", "Anna", "Ben"):
        expect(body).not_to_contain_text(re.compile(rf"\b{name}\b"))
    scope = difference(page, "Scope")
    take(scope, side_saying(scope, "nothing"), "The rules hold for everybody.")
    expect(page.locator(".difference.decided")).to_have_count(1)
    boundary = difference(page, "Span boundary")
    take(boundary, side_saying(boundary, "because others wait"), "The reason belongs to it.")
    expect(page.locator(".difference:not(.decided)")).to_have_count(0)
    settle(page, "rule-and-exception")
    for question, segment in (("photograph", "number-and-scope"), ("aprons", "unanswerable-control")):
        tab_back = page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Adjudication")
        tab_back.click()
        page.get_by_role("listitem").filter(has_text=question).get_by_role("link").click()
        expect(page.get_by_text("The passes differ in nothing but notes.")).to_be_visible()
        settle(page, segment)


def import_everything(page: Page) -> None:
    into_study(page, "Sources")
    upload(
        page, "house.md", HOUSE, Document_id="house-rules", Title="House rules", Version="1", Observed_on="2026-10-01"
    )
    expect(page.locator(".messages")).to_contain_text("imported")
    upload(page, "shop.md", WORKSHOP, Document_id="workshop", Title="Workshop", Version="1", Observed_on="2026-10-01")
    expect(page.get_by_role("row", name="Workshop")).to_be_visible()
    page.get_by_role("row", name="House rules").get_by_role("link").click()
    expect(page.get_by_text(hashlib.sha256(HOUSE.encode()).hexdigest())).to_be_visible()
    expect(page.get_by_label("Source text")).to_contain_text("<script>alert('loans')</script> and </pre>")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download bytes").click()
    assert download.value.path().read_bytes() == HOUSE.encode()

    into_study(page, "Questions")
    upload(page, "questions.toml", QUESTIONS)
    expect(page.locator(".messages")).to_contain_text("3 questions read from questions.toml")

    tab(page, "People")
    for username, role in PEOPLE.items():
        page.get_by_label("Username").fill(username)
        page.get_by_label("Role").select_option(role)
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_role("row", name=username)).to_contain_text(role)
    page.get_by_label("First annotator").select_option(label="anna")
    page.get_by_label("Second annotator").select_option(label="ben")
    page.get_by_role("button", name="Assign").click()
    expect(page.locator(".messages")).to_contain_text("6 assignments made")


def freeze_and_plan(page: Page) -> None:
    into_study(page, "Fixture sets")
    page.get_by_label("Name of the set").fill("v1")
    page.get_by_role("button", name="Freeze all settled questions").click()
    expect(page.locator("main .lede")).to_contain_text("3 questions, frozen")
    expect(page.get_by_role("row", name="how-long")).to_contain_text("Fourteen days; three days with a red dot.")

    tab(page, "Plans")
    page.get_by_label("Start from").select_option("standard")
    page.get_by_role("button", name="Fill in").click()
    text = page.get_by_label("Plan as TOML")
    toml = text.input_value()
    for before, after in CHANGES.items():
        assert before in toml
        toml = toml.replace(before, after)
    text.fill(toml)
    page.get_by_role("button", name="Write draft").click()
    expect(page.get_by_role("heading", name="library-overlap", level=1)).to_be_visible()
    page.get_by_role("button", name="Lock the plan").click()
    expect(page.get_by_text("▣ locked")).to_be_visible()


def disposition(page: Page) -> str:
    """Return what the results page says first."""
    expect(page.locator("h1 .disposition")).to_contain_text(WORDS)
    return WORDS.search(page.locator("h1 .disposition").inner_text())[0]


def read_results(page: Page) -> None:
    page.get_by_role("link", name="Rule and exception").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Rule and exception")
    phases = page.get_by_role("region", name="Complete support by phase, representative")
    for label in ("1/8", "1/2", "1/1"):
        expect(phases.get_by_role("rowheader", name=label, exact=True)).to_be_visible()
    page.get_by_role("link", name="For how long is a tool lent?").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("For how long is a tool lent?")
    drawn = page.locator(".document", has_text="House rules").locator(".source.drawn")
    expect(drawn).to_contain_text("</pre> stop the printer")
    marked = drawn.locator(".mark").evaluate_all("runs => runs.map(run => run.textContent).join('')")
    assert LENT in marked
    assert RED_DOT in marked
    assert drawn.locator(".cut.baseline").count() > 2
    assert drawn.locator(".cut.candidate").count() > 2
    assert page.evaluate("document.querySelectorAll('main script').length") == 0
    expect(page.get_by_role("heading", name="Support after each stage")).to_be_visible()


def sign(page: Page, said: str) -> None:
    """Sign what the plan's rule says, which is what the form offers first."""
    expect(page.get_by_label(said)).to_be_checked()
    page.get_by_label("I have read the gates").check()
    page.get_by_role("button", name="Sign the release").click()
    expect(page.get_by_text(f"Signed “{said}” by lena")).to_be_visible()

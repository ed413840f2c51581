"""The whole main job by the people whose job it is, through the pages only: from a file on a disk to a signed release.

Nobody has a shortcut: each person signs in through the form in a window of their own and clicks what the page offers.
Only what comes before the site is not a page: the sign-ins, made by `manage.py add_person`, and the worker process.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from annotate.models import SourceVersion, Submission
from annotate.selectors.passes import submitted_content
from evaluation.models import Plan, Release, Sweep
from ledger.services import verify
from tests.browser.main_job import (
    HOUSE,
    PEOPLE,
    adjudicate,
    annotate_with_the_form,
    annotate_with_the_mouse,
    bytes_of,
    contract,
    disposition,
    enter,
    freeze_and_plan,
    import_everything,
    into_study,
    open_task,
    read_results,
    sign,
    submit,
)
from tests.faults.processes import manage, running

pytestmark = pytest.mark.django_db(transaction=True)


def add_person(username: str, *options: str) -> str:
    """Return the password that the command printed."""
    out = StringIO()
    call_command("add_person", username, "--study", "library", *options, stdout=out)
    return re.search(r"^password (\S+)$", out.getvalue(), re.MULTILINE)[1]


@pytest.fixture
def passwords(live_server: Any) -> dict[str, str]:
    """Return what everybody signs in with; only the lead has a role yet."""
    lead = add_person("lena", "--create-study", "The tool library", "--role", "lead")
    return {"lena": lead} | {name: add_person(name) for name in PEOPLE}


@pytest.mark.both_databases
def test_main_job_from_a_file_to_a_signed_release(
    new_page: Callable[..., Page],
    passwords: dict[str, str],
    expect_status: Callable[..., None],
    process_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    # Ben's quote that stands twice; Olaf's attempt to sign.
    expect_status(422, 403)
    lead = enter(new_page(), "lena", passwords["lena"])
    import_everything(lead)
    version = SourceVersion.objects.get(source__document_id="house-rules")
    assert bytes(version.content) == HOUSE.encode()

    annotate_with_the_mouse(enter(new_page(), "anna", passwords["anna"]))
    annotate_with_the_form(enter(new_page(), "ben", passwords["ben"]))
    adjudicate(enter(new_page(), "judith", passwords["judith"]))
    freeze_and_plan(lead)

    lead.get_by_role("button", name="Start sweep").click()
    expect(lead.get_by_text(re.compile(r"0 of \d+ cells done"))).to_be_visible()
    with running(manage("work"), process_environment, tmp_path / "worker.log"):
        # No reload: the page asks for its progress by itself until the results can be read.
        lead.get_by_role("link", name="Read the results").click()
    said = disposition(lead)
    read_results(lead)
    release = f"/sweeps/{Sweep.objects.get().pk}/release/"

    observer = enter(new_page(), "olaf", passwords["olaf"])
    into_study(observer, "Plans")
    observer.get_by_role("link", name="library-overlap").click()
    observer.get_by_role("link", name="Sweep").first.click()
    assert disposition(observer) == said
    observer.get_by_role("link", name="To the release").click()
    expect(observer.get_by_role("heading", name="Gate by gate")).to_be_visible()
    expect(observer.get_by_role("button", name="Sign the release")).to_have_count(0)
    # What the page does not offer is refused all the same.
    status = observer.evaluate(
        """async (address) => {
             const body = new FormData();
             body.set("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
             body.set("disposition", "accept");
             body.set("reason", "I like it.");
             body.set("confirmed", "1");
             body.set("key", "a-key-of-my-own");
             return (await fetch(address, { method: "POST", body })).status;
           }""",
        release,
    )
    assert status == 403
    assert not Release.objects.exists()

    lead.goto(release)
    sign(lead, said)
    observer.reload()
    expect(observer.get_by_text(f"Signed “{said}” by lena")).to_be_visible()
    signed = Release.objects.get()
    assert (signed.disposition, signed.signed_by.username) == (signed.computed, "lena")
    assert Plan.objects.get().post_hoc is False
    assert verify().findings == ()


def test_annotator_without_javascript_marks_by_quote_and_submits(
    new_page: Callable[..., Page], passwords: dict[str, str]
) -> None:
    lead = enter(new_page(), "lena", passwords["lena"])
    import_everything(lead)
    page = enter(new_page(java_script_enabled=False), "anna", passwords["anna"])
    open_task(page, "For how long is a tool lent?", scripted=False)
    page.get_by_label("or exact quote").fill("red dot 🔴 are lent")
    page.get_by_role("button", name="Preview").click()
    start, end = bytes_of("red dot 🔴 are lent")
    expect(page.get_by_role("status").filter(has_text=f"Bytes {start}–{end}")).to_be_visible()
    page.get_by_role("button", name="Mark span").click()
    expect(page.locator(".span-row")).to_contain_text("red dot 🔴 are lent")
    contract(page, answer="Three days with a red dot.")
    submit(page)
    expect(page.get_by_text("1 of 3 tasks submitted")).to_be_visible()
    content = submitted_content(Submission.objects.get())
    assert [(span.start, span.end) for span in content.spans] == [(start, end)]
    assert content.sets == ((content.spans[0].name,),)

"""An adjudicator who is late: stale tabs, double clicks, and what was typed into a form that was refused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.domain.conflicts import Conflict
from annotate.domain.vocabulary import Choice, Role, Segment
from annotate.selectors.adjudication import item_for, state_of
from annotate.selectors.discussion import is_reopened
from annotate.services.decide import confirm_agreed, decide
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.settle_item import settle_item
from ledger.models import Record
from ledger.services.verify import verify
from tests.annotate.adjudicated import SAID, decided, opened, post, refused, settle_form, settled
from tests.factories import make_member

pytestmark = pytest.mark.django_db


def test_a_decision_from_a_stale_tab_never_passes_over_anothers() -> None:
    desk, item = opened()
    other = make_member(desk.study, Role.ADJUDICATOR)
    row = item.disagreements.get(kind="answer")
    stale = {"disagreement": row.pk, "seen": "0"}
    assert post(desk.adjudicator, item, action="a", **stale).status_code == 302
    # The second half of a double click says the same and is the same decision.
    assert post(desk.adjudicator, item, action="a", **stale).status_code == 302
    for person, action in ((other, "b"), (other, "a"), (desk.adjudicator, "b")):
        refused(post(person, item, action=action, **stale), 409, "decided since the page was drawn", 'value="1"')
    assert item.decisions.count() == 1
    # Whoever has seen what is in force may decide otherwise.
    assert post(other, item, action="b", **stale | {"seen": "1"}).status_code == 302
    assert item_for(other, item).differences[0].decision.choice is Choice.B
    for seen in ("-1", "1.0", "", "²", "9" * 40):
        refused(post(other, item, action="a", disagreement=row.pk, seen=seen), 422, "seen")
    refused(post(other, item, action="a", disagreement=row.pk, seen="9" * 12), 409)


@pytest.mark.parametrize("between", ["decided", "settled", "opened again"])
def test_settling_from_a_stale_tab_is_refused_and_what_was_typed_stays(between: str) -> None:
    desk, item = opened()
    other = make_member(desk.study, Role.ADJUDICATOR)
    decided(desk, item)
    if between == "opened again":
        settle_item(other, item, Segment.RULE_AND_EXCEPTION, SAID)
    form = settle_form(item)
    if between == "decided":
        decide(other, item, item.disagreements.get(kind="answer"), Choice.B)
    elif between == "settled":
        settle_item(other, item, Segment.RULE_AND_EXCEPTION, SAID)
    else:
        reopen_item(other, item, "The exception was overlooked.")
    results = item.results.count()
    answer = post(desk.adjudicator, item, **form)
    refused(answer, 409, "since the page was drawn", "rule: it is needed", f'value="{state_of(item)}"')
    assert item.results.count() == results
    # The page that was drawn with the refusal shows what stands, and can be answered.
    if between == "settled":
        refused(post(desk.adjudicator, item, **settle_form(item)), 409, "Open it again first", "rule: it is needed")
        assert post(desk.adjudicator, item, action="reopen", text="The reasons say too little.").status_code == 302
    assert post(desk.adjudicator, item, **settle_form(item)).status_code == 302
    assert item.results.count() == results + 1


def test_nothing_is_decided_about_a_settled_item_before_it_is_opened_again() -> None:
    desk, item = opened()
    settled(desk, item)
    other, row = make_member(desk.study, Role.ADJUDICATOR), item.disagreements.get(kind="answer")
    stored = (item.decisions.count(), item.results.count(), desk.question.notes.count(), Record.objects.count())
    forms: list[dict[str, object]] = [
        {"action": "b", "disagreement": row.pk, "seen": 1},
        {"action": "a", "disagreement": row.pk, "reason": "because"},
        {"action": "edited", "disagreement": row.pk, "value": "Six days.", "reason": "Neither says it."},
        {"action": "reject", "disagreement": item.disagreements.get(kind="scope").pk, "reason": "Out of scope."},
        {"action": "confirm", "reason": "Looked over again."},
        settle_form(item),
        settle_form(item, segment="number-and-scope"),
    ]
    for person in (desk.adjudicator, other):
        for form in forms:
            refused(post(person, item, **form), 409, "it is settled", "Open it again first", "press “Open again”")
        for call in (
            lambda who: decide(who, item, row, Choice.B),
            lambda who: confirm_agreed(who, item, reason="Looked over again."),
            lambda who: settle_item(who, item, Segment.NUMBER_AND_SCOPE, SAID),
        ):
            with pytest.raises(Conflict, match="Open it again first"):
                call(person)
    # The second half of a double click says the same and is no news.
    assert decide(desk.adjudicator, item, row, Choice.A).ordinal == item.decisions.get(disagreement=row).ordinal
    client = Client()
    client.force_login(desk.adjudicator)
    page = client.get(reverse("adjudicate", args=[item.pk])).content.decode()
    assert ('data-key="' in page, 'id="settle-form"' in page, 'value="reopen"' in page) == (False, False, True)
    assert "open it again first" in page
    assert "without it the answer is wrong" in page
    now = (item.decisions.count(), item.results.count(), desk.question.notes.count(), Record.objects.count())
    assert now == stored
    reopen_item(other, item, "The exception was overlooked.")
    assert post(desk.adjudicator, item, **forms[0]).status_code == 302
    page = client.get(reverse("adjudicate", args=[item.pk])).content.decode()
    assert ('data-key="' in page, 'id="settle-form"' in page, 'value="reopen"' in page) == (True, True, False)
    assert settle_item(other, item, Segment.NUMBER_AND_SCOPE, SAID).ordinal == 2
    assert verify().findings == ()


def test_what_was_typed_into_a_refused_row_stays_in_it() -> None:
    desk, item = opened()
    row = item.disagreements.get(kind="answer")
    typed = {"value": "Seven days, no more.", "reason_code": "wording-only", "reason": " "}
    answer = post(desk.adjudicator, item, action="edited", disagreement=row.pk, **typed)
    refused(answer, 422, "overridden", ">Seven days, no more.</textarea>", "<details data-edit open>")
    assert '<option value="wording-only" selected>' in answer.content.decode()
    assert answer.content.decode().count("<details data-edit open>") == 1


def test_settling_by_a_double_click_makes_one_result() -> None:
    desk, item = opened()
    decided(desk, item)
    form = settle_form(item)
    assert [post(desk.adjudicator, item, **form).status_code for _ in range(2)] == [302, 302]
    assert item.results.count() == 1


def test_notes_returns_and_reopenings_by_a_double_click_are_one_each() -> None:
    desk, item = opened()
    settled(desk, item)
    other = make_member(desk.study, Role.ADJUDICATOR)
    for form in (
        {"action": "note", "text": "The heading is odd."},
        {"action": "reopen", "text": "The exception was overlooked."},
        {"action": "note", "side": "a", "text": "The heading is odd."},
        {"action": "return", "side": "a", "text": "Count the days again."},
    ):
        assert [post(desk.adjudicator, item, **form).status_code for _ in range(2)] == [302, 302], form
    assert list(desk.question.notes.values_list("kind", flat=True)) == ["note", "reopened", "note", "returned"]
    assert Record.objects.filter(kind="pass.returned").count() == 1
    # Somebody else, or another reason, is no double click.
    refused(post(other, item, action="return", side="a", text="Count the days again."), 409)
    refused(post(desk.adjudicator, item, action="return", side="a", text="And the hours."), 409)
    assert post(other, item, action="note", text="The heading is odd.").status_code == 302
    assert post(desk.adjudicator, item, action="note", text="The heading is odd.").status_code == 302
    assert desk.question.notes.count() == 6
    assert verify().findings == ()


def test_the_same_reason_after_an_answer_to_it_is_no_double_click() -> None:
    desk, item = opened()
    settled(desk, item)
    for _ in range(2):
        reopen_item(desk.adjudicator, item, "The exception was overlooked.")
        assert is_reopened(item)
        settled(desk, item)
    for _ in range(2):
        desk.first.refresh_from_db()
        return_pass(desk.adjudicator, desk.first, "Count the days again.")
        desk.submit(desk.first, desk.content(notes="Counted."))
    assert list(desk.question.notes.values_list("kind", flat=True)) == ["reopened"] * 2 + ["returned"] * 2
    assert Record.objects.filter(kind="discussion.noted").count() == 4
    assert verify().findings == ()


def test_nothing_is_said_of_a_span_before_somebody_says_it() -> None:
    desk, item = opened()
    decided(desk, item)
    client = Client()
    client.force_login(desk.adjudicator)
    page = client.get(reverse("adjudicate", args=[item.pk])).content.decode()
    assert page.count('name="necessity:') == 4
    assert " checked" not in page
    form = settle_form(item)
    del form["necessity:rule"]
    refused(post(desk.adjudicator, item, **form), 422, "span “rule”", "nobody said", "rule: it is needed")
    refused(post(desk.adjudicator, item, **form, **{"necessity:rule": "maybe"}), 422)
    assert not item.results.exists()


def test_settling_with_open_differences_is_refused_over_http() -> None:
    desk, item = opened()
    for form in (settle_form(item), {"action": "settle"}, {"action": "settle", "segment": "unclassified"}):
        assert post(desk.adjudicator, item, **form).status_code == 422
    assert not item.results.exists()


def test_a_pass_returned_while_the_page_is_open_stops_every_button() -> None:
    desk, item = opened()
    decided(desk, item)
    return_pass(desk.lead, desk.first, "Look again.")
    row = item.disagreements.first()
    for form in ({"action": "b", "disagreement": row.pk, "seen": "1"}, {"action": "confirm"}, settle_form(item)):
        refused(post(desk.adjudicator, item, **form), 409, "a pass was returned")
    desk.submit(desk.first, desk.content())
    refused(post(desk.adjudicator, item, **settle_form(item)), 409, "a newer round")
    assert not item.results.exists()


def test_a_clock_that_runs_behind_hides_no_reopening_and_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, item = opened()
    now = timezone.now
    rows, again = list(item.disagreements.all()), lambda: reopen_item(desk.adjudicator, item, "Overlooked.")

    def behind(seconds: float) -> None:
        monkeypatch.setattr(timezone, "now", lambda: now() - timedelta(seconds=seconds))

    def settle() -> None:
        settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, SAID)

    decided(desk, item)
    behind(600)
    with pytest.raises(Conflict, match=r"clock is (600|599)\.\d{3} s behind the one that wrote the last decision"):
        settle()
    behind(0)
    settle()
    behind(5)
    with pytest.raises(Conflict, match="wrote the last result"):
        again()
    refused(post(desk.adjudicator, item, action="reopen", text="Overlooked."), 409, "set their clocks by one source")
    assert (item.results.count(), item.decisions.count(), desk.question.notes.count()) == (1, 3, 0)
    behind(0)
    again()
    assert is_reopened(item)
    behind(5)
    with pytest.raises(Conflict, match="wrote the last result"):
        decide(desk.adjudicator, item, rows[0], Choice.B)
    with pytest.raises(Conflict, match="wrote the last re-opening"):
        settle()
    behind(0)
    settle()
    assert not is_reopened(item)
    assert verify().findings == ()


def test_a_decision_draws_its_own_row_and_neither_the_other_rows_nor_the_sources_anew() -> None:
    desk, item = opened()
    client = Client()
    client.force_login(desk.adjudicator)
    address, state = reverse("adjudicate", args=[item.pk]), state_of(item)
    whole = client.get(address).content.decode()
    first, *others = item.disagreements.order_by("position")
    fields = {"action": "a", "disagreement": first.pk, "seen": 0, "reason_code": "better-supported", "state": state}
    drawn = client.post(address, fields, headers={"HX-Request": "true"}).content.decode()
    assert f'name="disagreement" value="{first.pk}"' in drawn
    assert "card difference decided" in drawn
    for row in others:
        assert f'name="disagreement" value="{row.pk}"' in whole
        assert f'name="disagreement" value="{row.pk}"' not in drawn
    assert 'data-version="' in whole
    assert 'data-version="' not in drawn
    # Somebody else decided meanwhile: their row is drawn anew as well.
    decide(desk.adjudicator, item, others[0], Choice.B)
    drawn = client.post(address, fields | {"seen": 1, "state": state}, headers={"HX-Request": "true"}).content.decode()
    assert f'name="disagreement" value="{others[0].pk}"' in drawn

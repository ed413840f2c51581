"""An adjudicator who is clumsy, late or means harm: stale tabs, wrong roles, impossible texts, others in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.domain.conflicts import Conflict
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import Choice, Necessity, ReasonCode, Role, Segment
from annotate.domain.written import MOST
from annotate.models import AdjudicationItem, Decision, Membership, Person
from annotate.permissions import NotAllowed
from annotate.selectors.adjudication import item_for, state_of
from annotate.selectors.discussion import is_reopened
from annotate.services.decide import confirm_agreed, decide
from annotate.services.discuss import add_note
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.settle_item import settle_item
from ledger.models import Record
from ledger.services.verify import verify
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_member, make_source_version

pytestmark = pytest.mark.django_db

NAMES = ("rule", "qualifier")
SAID = dict.fromkeys(NAMES, (Necessity.NECESSARY, "without it the answer is wrong"))
BIDI = "\u202eit says so\u202c\u2066"


def opened() -> tuple[Desk, AdjudicationItem]:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(answer="7 days.", scope="temporary ones"))
    return desk, desk.question.items.get()


def decided(desk: Desk, item: AdjudicationItem) -> None:
    for row in item.disagreements.all():
        decide(desk.adjudicator, item, row, Choice.A)
    confirm_agreed(desk.adjudicator, item)


def settled(desk: Desk, item: AdjudicationItem) -> None:
    decided(desk, item)
    settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, SAID)


def post(person: Person, item: AdjudicationItem, **fields: object) -> HttpResponse:
    client = Client()
    client.force_login(person)
    return client.post(reverse("adjudicate", args=[item.pk]), fields)


def settle_form(item: AdjudicationItem, **more: object) -> dict[str, object]:
    fields: dict[str, object] = {"action": "settle", "segment": "rule-and-exception", "seen": state_of(item)}
    for name in NAMES:
        fields |= {f"necessity:{name}": "necessary", f"reason:{name}": f"{name}: it is needed"}
    return fields | more


def refused(answer: HttpResponse, status: int, *texts: str) -> None:
    page = answer.content.decode()
    assert answer.status_code == status
    assert 'role="alert"' in page
    assert [text for text in texts if text not in page] == []


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


def test_nobody_else_gets_past_the_page() -> None:
    desk, item = opened()
    both = desk.one
    Membership.objects.create(study=desk.study, person=both, role=Role.ADJUDICATOR)
    row = item.disagreements.first()
    observer, stranger = make_member(desk.study, Role.OBSERVER), make_desk().adjudicator
    for person, status in ((both, 403), (desk.two, 404), (desk.lead, 403), (observer, 403), (stranger, 404)):
        for action in ("a", "b", "reject", "edited", "confirm", "settle", "note", "return", "reopen", "x\x00", ""):
            form = {"action": action, "disagreement": row.pk, "side": "a", "text": "x", "value": "x", "reason": "x"}
            assert post(person, item, **form).status_code == status, (person.username, action)
    assert not Decision.objects.exists()
    assert not desk.question.notes.exists()


def test_an_adjudicator_who_marks_reads_of_the_other_pass_nowhere_before_it_is_settled() -> None:
    desk, item = opened()
    other = make_desk(study=desk.study)
    other.submit_both(other.content(), other.content(answer="Never."))
    Membership.objects.create(study=desk.study, person=desk.one, role=Role.ADJUDICATOR)
    client = Client()
    client.force_login(desk.one)
    slug = [desk.study.slug]
    for as_of in ({}, {"as_of": "2026-01-01T00:00:00Z"}, {"as_of": "2999-01-01T00:00:00Z"}):
        assert client.get(reverse("adjudicate", args=[item.pk]), as_of).status_code == 403
    assert client.get(reverse("own-decisions", args=[desk.second.pk])).status_code == 404
    for name in ("adjudication", "agreed-items", "questions", "study"):
        page = client.get(reverse(name, args=slug)).content.decode()
        assert ("7 days." in page, reverse("adjudicate", args=[item.pk]) in page) == (False, False), name

    def listed() -> set[str]:
        rows = client.get(reverse("agreement-items", args=slug)).content.decode().splitlines()[1:]
        return {row.split(",")[0] for row in rows} - {""}

    assert listed() == {other.question.key}
    settled(desk, item)
    assert listed() == {desk.question.key, other.question.key}


def test_blocks_of_a_source_show_both_sides_marks_to_its_adjudicators_alone_and_hide_what_they_may_not_read() -> None:
    desk = make_desk(key="labelled")
    secret = make_source_version(desk.study, "open secret open", access_ranges=[(5, 11, ["board"])], document_id="s")
    Membership.objects.filter(person__in=[desk.one, desk.two]).update(clearance=["board"])
    unmarked = make_source_version(desk.study, "nobody marked this", document_id="u")
    rule = replace(desk.span("rule", 0, 11), version=secret.sha256)
    other = replace(desk.span("rule", 5, 16), version=secret.sha256)
    desk.submit_both(desk.content(spans=(rule,), sets=(("rule",),)), desk.content(spans=(other,), sets=(("rule",),)))
    item = desk.question.items.get()
    url = reverse("adjudicate-blocks", args=[item.pk])

    def answer(person: Person, **query: object) -> HttpResponse:
        client = Client()
        client.force_login(person)
        return client.get(url, query)

    drawn = answer(desk.adjudicator, version=secret.pk)
    page = drawn.content.decode()
    side = "a" if item.submission_a.work.assignment_id == desk.first.pk else "b"
    there = "b" if side == "a" else "a"
    assert f'<span class="mark side-{side}" data-start="0" data-end="5"' in page
    assert f'<span class="mark side-{there}" data-start="11" data-end="16"' in page
    assert "restricted, bytes 5–11" in page
    assert "secret" not in page
    assert drawn["Cache-Control"] == "no-store"
    whole = Client()
    whole.force_login(desk.adjudicator)
    assert "secret" not in whole.get(reverse("adjudicate", args=[item.pk])).content.decode()
    named = [{"version": bad} for bad in (unmarked.pk, "x", "9" * 40, "", "²")]
    for bad in (*named, {"from": "-1"}, {"from": "²"}, {"to": ""}):
        assert answer(desk.adjudicator, **bad).status_code == 404, bad
    assert answer(desk.adjudicator, **{"from": 7, "to": 3}).content == b""
    assert answer(desk.adjudicator, **{"from": 999_999_999}).content == b""
    Membership.objects.create(study=desk.study, person=desk.one, role=Role.ADJUDICATOR)
    for person, status in ((desk.one, 403), (desk.two, 404), (desk.lead, 403), (make_desk().adjudicator, 404)):
        assert answer(person, version=secret.pk).status_code == status


def test_a_person_deactivated_while_the_page_is_open_does_nothing_more() -> None:
    desk, item = opened()
    decided(desk, item)
    client, url = Client(), reverse("adjudicate", args=[item.pk])
    client.force_login(desk.adjudicator)
    assert client.get(url).status_code == 200
    Person.objects.filter(pk=desk.adjudicator.pk).update(is_active=False)
    answer = client.post(url, settle_form(item))
    assert (answer.status_code, answer.url.startswith(reverse("sign-in"))) == (302, True)
    desk.adjudicator.refresh_from_db()
    with pytest.raises(NotAllowed):
        settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, SAID)
    assert not item.results.exists()
    assert item.decisions.count() == 3


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


@pytest.mark.parametrize(
    "text", ["\x00", "nul \x00 inside", "x" * (MOST + 1), "x" * 1_000_000, "half \ud800", "\udfff"], ids=ascii
)
def test_a_text_that_cannot_be_kept_is_refused_wherever_it_is_written(text: str) -> None:
    desk, item = opened()
    row = item.disagreements.get(kind="answer")
    calls = [
        lambda: decide(desk.adjudicator, item, row, Choice.A, reason=text),
        lambda: decide(desk.adjudicator, item, row, Choice.EDITED, "Seven.", ReasonCode.OTHER, text),
        lambda: confirm_agreed(desk.adjudicator, item, reason=text),
        lambda: add_note(desk.adjudicator, item, text),
        lambda: return_pass(desk.adjudicator, desk.first, text),
    ]
    if len(text) != MOST + 1:
        calls.append(lambda: decide(desk.adjudicator, item, row, Choice.EDITED, text, ReasonCode.OTHER, "Neither."))
    for call in calls:
        with pytest.raises(BadInput):
            call()
    assert not Decision.objects.exists()
    decided(desk, item)
    for words in (Necessity.NECESSARY, Necessity.TOPICAL):
        with pytest.raises(BadInputs, match="span “rule”"):
            settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, SAID | {"rule": (words, text)})
    with pytest.raises(BadInput, match="alternatives"):
        settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, SAID, text)
    assert not item.results.exists()
    with pytest.raises(Conflict):
        reopen_item(desk.adjudicator, item, text)


@pytest.mark.parametrize(
    ("text", "byte"),
    [("%ED%A0%80", "byte 0 (0xed)"), ("ab%ff", "byte 2 (0xff)"), ("%C3", "byte 0 (0xc3)"), ("x%80", "byte 1 (0x80)")],
)
def test_a_form_that_is_no_utf8_is_refused_and_never_stored_with_other_characters(text: str, byte: str) -> None:
    desk, item = opened()
    client = Client()
    client.force_login(desk.adjudicator)
    row = item.disagreements.first()
    form = "application/x-www-form-urlencoded"
    for fields in (f"action=note&text={text}", f"action=a&disagreement={row.pk}&reason={text}"):
        answer = client.post(reverse("adjudicate", args=[item.pk]), fields.encode(), content_type=form)
        page = answer.content.decode()
        assert (answer.status_code, f"its {byte} is not UTF-8" in page) == (400, True)
    named = client.post(reverse("sign-in"), f"user{text}=x".encode(), content_type=form)
    assert named.status_code == 400
    assert not desk.question.notes.exists()
    assert not item.decisions.exists()
    # U+FFFD itself is a character like any other.
    kept = client.post(reverse("adjudicate", args=[item.pk]), b"action=note&text=a+%EF%BF%BD+b", content_type=form)
    assert (kept.status_code, desk.question.notes.get().text) == (302, "a \ufffd b")


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


def test_what_turns_a_texts_direction_stays_inside_its_reason() -> None:
    desk, item = opened()
    row = item.disagreements.get(kind="answer")
    decide(desk.adjudicator, item, row, Choice.EDITED, f"Seven {BIDI}", ReasonCode.OTHER, BIDI)
    decide(desk.adjudicator, item, item.disagreements.get(kind="scope"), Choice.A)
    confirm_agreed(desk.adjudicator, item)
    settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, SAID | {"rule": (Necessity.NECESSARY, BIDI)})
    pages = []
    for person, url in (
        (desk.adjudicator, reverse("adjudicate", args=[item.pk])),
        (desk.one, reverse("own-decisions", args=[desk.first.pk])),
    ):
        client = Client()
        client.force_login(person)
        pages.append(client.get(url).content.decode())
    for page in pages:
        assert f"<bdi>{BIDI}</bdi>" in page
    assert f"<bdi>Seven {BIDI}</bdi>" in pages[0]

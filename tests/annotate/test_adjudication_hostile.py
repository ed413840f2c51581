"""An adjudicator who means harm: wrong roles, marks one may not read, impossible texts, a sign-in taken away."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotate.domain.conflicts import Conflict
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import Choice, Necessity, ReasonCode, Role, Segment
from annotate.domain.written import MOST
from annotate.models import Decision, Membership, Person
from annotate.permissions import NotAllowed
from annotate.services.decide import confirm_agreed, decide
from annotate.services.discuss import add_note
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.settle_item import settle_item
from tests.annotate.adjudicated import SAID, decided, opened, post, settle_form, settled
from tests.annotate.passes import make_desk
from tests.factories import make_member, make_source_version

pytestmark = pytest.mark.django_db


BIDI = "\u202eit says so\u202c\u2066"


def test_nobody_else_gets_past_the_page() -> None:
    desk, item = opened()
    both = desk.one
    Membership.objects.create(study=desk.study, person=both, role=Role.ADJUDICATOR)
    row = item.disagreements.first()
    observer, stranger = make_member(desk.study, Role.OBSERVER), make_desk().adjudicator
    for person, status in ((both, 404), (desk.two, 404), (desk.lead, 403), (observer, 403), (stranger, 404)):
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
        assert client.get(reverse("adjudicate", args=[item.pk]), as_of).status_code == 404
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
    for person, status in ((desk.one, 404), (desk.two, 404), (desk.lead, 403), (make_desk().adjudicator, 404)):
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

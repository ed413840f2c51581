"""Returning with a reason, discussing, re-opening, the history of an item, and what annotators are told afterwards."""

from __future__ import annotations

import pytest
from django.db.models import ProtectedError
from django.test import Client
from django.urls import reverse

from annotate.domain.conflicts import Conflict
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Choice, Necessity, ReasonCode, Role, Segment
from annotate.domain.written import MOST
from annotate.models import AdjudicationItem, Assignment
from annotate.permissions import OPERATOR, NotAllowed
from annotate.selectors.adjudication import item_for, settled_content, unsettled_items
from annotate.selectors.adjudication_queue import queue_rows
from annotate.selectors.agreement import agreement_of
from annotate.selectors.discussion import own_thread, thread_of
from annotate.selectors.fixtures import survey
from annotate.selectors.own_decisions import own_decisions
from annotate.services.decide import confirm_agreed, decide
from annotate.services.discuss import add_note, reply
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.settle_item import settle_item
from annotate.views.item_history import moments_of
from ledger.models import Record
from ledger.services.verify import verify
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_member

pytestmark = pytest.mark.django_db

OTHERS_ANSWER = "zqother thirty days"


def opened() -> tuple[Desk, AdjudicationItem]:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(answer=OTHERS_ANSWER))
    return desk, desk.question.items.get()


def settle(desk: Desk, item: AdjudicationItem, slot: int = 1, reason: str = "the text says so") -> None:
    """Take the answer of the pass in `slot`, and settle."""
    side = Choice.A if item.submission_a.work.assignment.slot == slot else Choice.B
    for row in item.disagreements.all():
        decide(desk.adjudicator, item, row, side, None, ReasonCode.BETTER_SUPPORTED, reason)
    confirm_agreed(desk.adjudicator, item)
    again(desk, item)


def again(desk: Desk, item: AdjudicationItem) -> None:
    names = {name for members in settled_content(item).sets for name in members}
    words = dict.fromkeys(names, (Necessity.NECESSARY, "without it the answer is wrong"))
    settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, words)


def page_of(person: object, name: str, pk: int, **query: str) -> str:
    client = Client()
    client.force_login(person)
    answer = client.get(reverse(name, args=[pk]), query)
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


def test_a_returned_pass_opens_its_discussion_to_its_annotator_and_to_nobody_else() -> None:
    desk, item = opened()
    add_note(desk.adjudicator, item, "The second pass is odd.")
    add_note(desk.adjudicator, item, "Which limit is it?", desk.first)
    assert own_thread(desk.first) == []
    with pytest.raises(NotAllowed):
        reply(desk.one, desk.first, "May I?")
    return_pass(desk.adjudicator, desk.first, "Count the days again.")
    desk.first.refresh_from_db()
    reply(desk.one, desk.first, "It is seven.")
    said = [(note.author, note.kind, note.text) for note in own_thread(desk.first)]
    assert said == [
        ("adjudicator", "note", "Which limit is it?"),
        ("adjudicator", "returned", "Count the days again."),
        ("annotator", "note", "It is seven."),
    ]
    assert own_thread(desk.second) == []
    for stranger, task in ((desk.two, desk.first), (desk.two, desk.second), (desk.lead, desk.first)):
        with pytest.raises(NotAllowed):
            reply(stranger, task, "I too")
    whole = thread_of(item)
    assert [note.text for note in whole] == ["The second pass is odd.", *(text for _, _, text in said)]
    sides = {"A" if item.submission_a.work.assignment_id == desk.first.pk else "B"}
    assert {note.side for note in whole[1:]} == sides
    assert verify().findings == ()


def test_only_adjudicators_who_did_not_mark_the_question_discuss_return_and_reopen() -> None:
    desk, item = opened()
    both = make_member(desk.study, Role.ADJUDICATOR, person=desk.one)
    for person in (both, desk.two, desk.lead, make_member(desk.study, Role.OBSERVER)):
        with pytest.raises(NotAllowed):
            add_note(person, item, "x")
        with pytest.raises(NotAllowed):
            reopen_item(person, item, "x")
    for person in (both, desk.two, make_member(desk.study, Role.OBSERVER)):
        with pytest.raises(NotAllowed):
            return_pass(person, desk.second, "x")


@pytest.mark.parametrize("text", ["", "  \n ", "a\x00b", "x" * (MOST + 1)])
def test_an_unusable_text_is_refused_and_nothing_is_written(text: str) -> None:
    desk, item = opened()
    for act in (
        lambda: add_note(desk.adjudicator, item, text),
        lambda: return_pass(desk.adjudicator, desk.first, text),
    ):
        with pytest.raises(BadInput):
            act()
    assert not Record.objects.filter(kind__in=["discussion.noted", "pass.returned"]).exists()


def test_agreement_stays_on_first_submissions_through_return_and_discussion() -> None:
    desk, _ = opened()
    before = agreement_of(desk.adjudicator, desk.study)
    return_pass(desk.adjudicator, desk.second, "Count again.")
    desk.second.refresh_from_db()
    reply(desk.two, desk.second, "Seven, then.")
    desk.submit(desk.second, desk.content())
    assert agreement_of(desk.adjudicator, desk.study) == before


def test_an_annotator_is_told_what_was_decided_and_why_once_it_is_settled() -> None:
    desk, item = opened()
    assert own_decisions(desk.one, desk.first) is None
    settle(desk, item, slot=2)
    told = own_decisions(desk.one, desk.first)
    assert told is not None
    (one,) = told.decisions
    assert (one.yours, one.taken, one.settled) == ("At most 7 days.", "the other pass's", OTHERS_ANSWER)
    assert (one.reason_code, one.reason) == (ReasonCode.BETTER_SUPPORTED, "the text says so")
    assert {span.reason for span in told.spans} == {"without it the answer is wrong"}
    assert own_decisions(desk.two, desk.second).decisions[0].taken == "yours"
    assert own_decisions(desk.two, desk.first) is None
    shown = page_of(desk.one, "own-decisions", desk.first.pk)
    assert "the text says so" in shown
    for name in (desk.two.username, desk.adjudicator.username):
        assert name not in shown


def test_nothing_unsettled_of_the_other_pass_is_told() -> None:
    desk, item = opened()
    assert OTHERS_ANSWER not in page_of(desk.one, "own-decisions", desk.first.pk)
    settle(desk, item, slot=1)
    # What was taken is told, what was not is not.
    assert OTHERS_ANSWER not in page_of(desk.one, "own-decisions", desk.first.pk)
    assert own_decisions(desk.one, desk.first).decisions[0].taken == "yours"
    reopen_item(desk.adjudicator, item, "The exception was overlooked.")
    assert own_decisions(desk.one, desk.first) is None
    row = item.disagreements.get()
    other = Choice.B if item.submission_a.work.assignment.slot == 1 else Choice.A
    decide(desk.adjudicator, item, row, other, None, ReasonCode.OTHER, "on second thoughts")
    assert own_decisions(desk.one, desk.first) is None
    assert OTHERS_ANSWER not in page_of(desk.one, "own-decisions", desk.first.pk)
    client = Client()
    client.force_login(desk.two)
    assert client.get(reverse("own-decisions", args=[desk.first.pk])).status_code == 404


def test_reopening_puts_the_item_back_and_settling_makes_the_next_revision() -> None:
    desk, item = opened()
    with pytest.raises(Conflict):
        reopen_item(desk.adjudicator, item, "too early")
    settle(desk, item)
    assert not unsettled_items(desk.adjudicator).exists()
    reopen_item(desk.adjudicator, item, "The exception was overlooked.")
    with pytest.raises(Conflict):
        reopen_item(desk.adjudicator, item, "twice")
    assert list(unsettled_items(desk.adjudicator)) == [item]
    assert [row.is_settled for row in queue_rows(desk.adjudicator, desk.study)] == [False]
    assert "opened again" in survey(OPERATOR, desk.study).blocks[0].what
    again(desk, item)
    assert list(item.results.order_by("ordinal").values_list("ordinal", flat=True)) == [1, 2]
    assert survey(OPERATOR, desk.study).blocks == ()
    assert not unsettled_items(desk.adjudicator).exists()
    assert verify().findings == ()


def test_the_page_shows_an_item_as_of_any_moment() -> None:
    desk, item = opened()
    settle(desk, item, slot=1, reason="first thoughts")
    reopen_item(desk.adjudicator, item, "on second thoughts")
    settle(desk, item, slot=2, reason="second thoughts")
    moments = moments_of(item)
    assert [moment.what for moment in moments] == [
        "round 1 opened",
        "decision 1",
        "decision 2",
        "settled, result 1",
        "reopened",
        "decision 3",
        "settled, result 2",
    ]
    opening, decided, *_, last = moments
    assert item_for(desk.adjudicator, item, opening.at).open_count == 1
    then = item_for(desk.adjudicator, item, moments[3].at)
    assert (then.differences[0].decision.reason, then.result.ordinal) == ("first thoughts", 1)
    now = item_for(desk.adjudicator, item, last.at)
    assert (now.differences[0].decision.reason, now.result.ordinal) == ("second thoughts", 2)
    shown = page_of(desk.adjudicator, "adjudicate", item.pk, as_of=decided.value)
    assert "first thoughts" in shown
    assert "second thoughts" not in shown
    assert 'name="action"' not in shown


def test_earlier_rounds_are_one_link_away_and_shown_for_moments_before_the_newest() -> None:
    desk, first = opened()
    settle(desk, first, reason="first thoughts")
    then = moments_of(first)[-1]
    return_pass(desk.adjudicator, desk.first, "Look again.")
    desk.submit(desk.first, desk.content())
    second = desk.question.items.get(round=2)
    link = f'<a href="{reverse("adjudicate", args=[first.pk])}">round 1</a> · round 2'
    assert link in page_of(desk.adjudicator, "adjudicate", second.pk)
    assert "there is a newer round" in page_of(desk.adjudicator, "adjudicate", first.pk)
    client = Client()
    client.force_login(desk.adjudicator)
    answer = client.get(reverse("adjudicate", args=[second.pk]), {"as_of": then.value}, follow=True)
    assert answer.redirect_chain[0][0].startswith(reverse("adjudicate", args=[first.pk]))
    assert "first thoughts" in answer.content.decode()
    early = client.get(reverse("adjudicate", args=[second.pk]), {"as_of": "2020-01-01T00:00:00Z"})
    assert (early.status_code, "was not there yet" in early.content.decode()) == (422, True)


@pytest.mark.parametrize("moment", ["yesterday", "2026-11-30", "2026-11-30T09:00:00", "0001-01-01T00:00:00Z", "9" * 50])
def test_what_is_no_moment_is_refused(moment: str) -> None:
    desk, item = opened()
    client = Client()
    client.force_login(desk.adjudicator)
    answer = client.get(reverse("adjudicate", args=[item.pk]), {"as_of": moment})
    assert answer.status_code == 422
    assert "it is no moment" in answer.content.decode()


def test_the_page_returns_a_pass_notes_and_reopens() -> None:
    desk, item = opened()
    client, url = Client(), reverse("adjudicate", args=[item.pk])
    client.force_login(desk.adjudicator)
    assert client.post(url, {"action": "note", "side": "", "text": "Odd."}).status_code == 302
    assert client.post(url, {"action": "return", "side": "", "text": "Count."}).status_code == 422
    settle(desk, item)
    assert client.post(url, {"action": "reopen", "text": ""}).status_code == 422
    assert client.post(url, {"action": "reopen", "text": "Look again."}).status_code == 302
    assert client.post(url, {"action": "return", "side": "a", "text": "Count."}).status_code == 302
    state = item.submission_a.work.assignment.__class__.objects.get(pk=item.submission_a.work.assignment_id).state
    assert state == Assignment.State.RETURNED
    assert [note.kind for note in thread_of(item)] == ["note", "reopened", "returned"]


def test_a_person_who_leaves_takes_nothing_with_them() -> None:
    desk, item = opened()
    settle(desk, item)
    before = agreement_of(desk.lead, desk.study)
    for person in (desk.one, desk.two, desk.adjudicator):
        with pytest.raises(ProtectedError):
            person.delete()
        person.is_active = False
        person.save(update_fields=["is_active"])
    assert agreement_of(desk.lead, desk.study) == before
    assert item.decisions.count() == 2
    assert survey(OPERATOR, desk.study).blocks == ()
    assert verify().findings == ()

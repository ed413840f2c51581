"""No figure of agreement tells those who mark a question of the other pass before it is settled."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.domain.vocabulary import Role
from annotate.models import Membership, Person
from annotate.permissions import NotAllowed
from annotate.selectors.agreement import agreement_of, agreement_parts, left_out_note, own_unsettled
from annotate.services.reassign import reassign
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.settle_item import settle_item
from tests.annotate.passes import Desk, make_desk
from tests.annotate.settled import replace_question, settle
from tests.factories import make_member

pytestmark = pytest.mark.django_db

CHOICES = ({}, {"segment": "unclassified"}, {"segment": "rule-and-exception"}, {"month": "2026-11"})


def desk_with(role: Role) -> Desk:
    """Return a desk whose first annotator has another role too, beside a question of two others that is in."""
    desk = make_desk(key="own")
    Membership.objects.create(study=desk.study, person=desk.one, role=role)
    other = make_desk(key="other", document_id="other", study=desk.study)
    other.submit_both(other.content(), other.content(answer="Never."))
    return desk


def seen_by(person: Person, desk: Desk) -> list[str]:
    """Return all that is shown of agreement, in every choice, without what differs from request to request."""
    client = Client()
    client.force_login(person)
    pages = [
        client.get(reverse(name, args=[desk.study.slug]), choice).content.decode()
        for name in ("agreement", "agreement-items")
        for choice in CHOICES
    ]
    return [re.sub(r'(csrfmiddlewaretoken" value=|X-CSRFToken.{0,8})"?[^"]+"', "", page) for page in pages]


@pytest.mark.parametrize("role", [Role.ADJUDICATOR, Role.LEAD, Role.OBSERVER])
def test_nothing_shown_depends_on_the_other_pass_before_it_is_settled(role: Role) -> None:
    desk = desk_with(role)
    desk.submit(desk.first, desk.content())
    before = seen_by(desk.one, desk)
    assert "1 question that you mark is not settled and so left out for you" in before[0]
    assert before[len(CHOICES)].splitlines()[-1].endswith(": a figure could tell of the other pass")
    desk.submit(desk.second, desk.content(answer="30 days", spans=(desk.span("rule", 0, 20),), sets=(("rule",),)))
    assert seen_by(desk.one, desk) == before
    judge = seen_by(desk.adjudicator, desk)
    assert judge != before
    assert "left out" not in "".join(judge)
    item = desk.question.items.get()
    assert {part.question for part in agreement_parts(desk.adjudicator, desk.study)} == {"own", "other"}
    assert {part.question for part in agreement_parts(desk.one, desk.study)} == {"other"}
    return_pass(desk.lead, desk.second, "Look again.")
    assert seen_by(desk.one, desk) == before
    assert item.round == 1


def test_a_question_counts_once_it_is_settled_and_not_while_it_is_open_again() -> None:
    desk = desk_with(Role.ADJUDICATOR)
    last = settle(desk, two=desk.content(answer="30 days"))
    assert own_unsettled(desk.one, desk.study) == frozenset()
    assert left_out_note(desk.one, desk.study) == ""
    assert agreement_of(desk.one, desk.study) == agreement_of(desk.adjudicator, desk.study)
    reopen_item(desk.adjudicator, last.item, "The exception was overlooked.")
    assert own_unsettled(desk.one, desk.study) == {desk.question.pk}
    assert own_unsettled(desk.adjudicator, desk.study) == frozenset()
    words = {row.span_name: (row.necessity, row.reason) for row in last.span_decisions.all()}
    settle_item(desk.adjudicator, last.item, last.segment, words)
    assert own_unsettled(desk.one, desk.study) == frozenset()
    return_pass(desk.adjudicator, desk.second, "Look again.")
    assert own_unsettled(desk.one, desk.study) == {desk.question.pk}
    desk.submit(desk.second, desk.content())
    # A newer round stands open.
    assert own_unsettled(desk.one, desk.study) == {desk.question.pk}


def test_who_gave_a_task_away_stays_blind_and_annotators_alone_have_no_page() -> None:
    desk = desk_with(Role.OBSERVER)
    third = make_member(desk.study)
    with pytest.raises(NotAllowed):
        agreement_of(third, desk.study)
    taken = reassign(desk.lead, desk.first, third)
    desk.submit(taken, desk.content())
    desk.submit(desk.second, desk.content(answer="30 days"))
    assert own_unsettled(desk.one, desk.study) == {desk.question.pk}
    assert {part.question for part in agreement_parts(desk.one, desk.study)} == {"other"}


def test_the_rule_costs_the_same_for_three_questions_as_for_one() -> None:
    desk = desk_with(Role.ADJUDICATOR)
    settle(desk)
    with CaptureQueriesContext(connection) as one:
        own_unsettled(desk.one, desk.study)
    for key in ("more", "most"):
        settle(replace_question(desk, key))
    with CaptureQueriesContext(connection) as three:
        assert own_unsettled(desk.one, desk.study) == frozenset()
    assert len(three) == len(one) == 3

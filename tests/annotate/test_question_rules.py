"""Filters and pages of the lists of questions: they stand in the address, and reach what stands on other pages."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.template.loader import get_template
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.domain.vocabulary import Role, Segment
from annotate.models import Assignment, Person
from annotate.services.pause_task import pause_tasks
from annotate.views import adjudication
from annotate.views.assignments import ROWS
from tests.annotate.passes import Desk, make_desk
from tests.annotate.settled import settle
from tests.factories import make_assignment, make_member, make_question

pytestmark = pytest.mark.django_db


def listed(person: Person, name: str, desk: Desk, query: str = "") -> list[str]:
    """Return the keys on the first page of the list `name` that `query` leaves."""
    client = Client()
    client.force_login(person)
    answer = client.get(reverse(name, args=[desk.study.slug]) + query)
    assert answer.status_code == 200, answer.content
    return [row.key for row in answer.context["page"]]


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("?text=DARK", ["dark-room"]),
        ("?text=lens", ["lens-fee"]),
        ("?text=100%25", []),
        ("?text=_oom", []),
        ("?segment=joint-evidence", ["lens-fee"]),
        ("?locale=de", ["lens-fee"]),
        ("?locale=de&text=dark", []),
        ("?state=settled", []),
        ("?state=adjudication", ["q-both-in"]),
        ("?state=open", ["dark-room", "lens-fee"]),
        ("?state=&segment=&text=", ["dark-room", "lens-fee", "q-both-in"]),
        # What cannot be read leaves all, and says so.
        ("?state=%00", ["dark-room", "lens-fee", "q-both-in"]),
        ("?text=%00", ["dark-room", "lens-fee", "q-both-in"]),
    ],
)
def test_questions_are_filtered_by_text_state_segment_and_language(query: str, keys: list[str]) -> None:
    desk = make_desk(key="q-both-in", segment=Segment.RULE_AND_EXCEPTION)
    desk.submit_both(desk.content(), desk.content())
    make_question(desk.study, "dark-room", "Who may use it?", segment=Segment.CROSS_REFERENCE)
    make_question(desk.study, "lens-fee", "What does a lens cost?", segment=Segment.JOINT_EVIDENCE, locale="de")
    assert listed(desk.lead, "questions", desk, query) == keys


def test_state_settled_finds_what_the_list_calls_settled() -> None:
    desk = make_desk()
    settle(desk)
    make_question(desk.study)
    assert listed(desk.lead, "questions", desk, "?state=settled") == [desk.question.key]


def test_who_marks_questions_has_no_filter_by_what_is_hidden_from_them() -> None:
    desk = make_desk(segment=Segment.CROSS_REFERENCE)
    make_member(desk.study, Role.OBSERVER, person=desk.one)
    other = make_question(desk.study, segment=Segment.JOINT_EVIDENCE)
    both = sorted([desk.question.key, other.key])
    for query in ("?segment=cross-reference", "?segment=joint-evidence", "?state=settled", "?state=open"):
        assert listed(desk.one, "questions", desk, query) == both
    assert listed(desk.one, "questions", desk, f"?text={other.key}") == [other.key]


def test_assignments_are_filtered_by_who_holds_a_place() -> None:
    desk = make_desk()
    other, third = make_question(desk.study), make_member(desk.study)
    make_assignment(other, desk.one, 1)
    make_assignment(other, third, 2)
    both = sorted([desk.question.key, other.key])
    assert listed(desk.lead, "assignments", desk, f"?person={desk.one.username}") == both
    assert listed(desk.lead, "assignments", desk, f"?person={third.username}") == [other.key]
    pause_tasks(desk.lead, desk.study, [desk.second], "Wait.")
    assert listed(desk.lead, "assignments", desk, "?state=paused") == [desk.question.key]
    # Paused is a task of somebody else.
    assert listed(desk.lead, "assignments", desk, f"?state=paused&person={desk.one.username}") == []


def test_every_task_that_fits_is_paused_on_whatever_page_it_stands() -> None:
    desk = make_desk()
    for _ in range(ROWS + 1):
        question = make_question(desk.study)
        make_assignment(question, desk.one, 1)
        make_assignment(question, desk.two, 2)
    client = Client()
    client.force_login(desk.lead)
    address = reverse("assignments", args=[desk.study.slug]) + f"?person={desk.one.username}"
    page = client.get(address)
    assert len(page.context["page"]) == ROWS
    text = page.content.decode()
    assert f"All {ROWS + 2} tasks that the filters show" in text
    # The next page keeps the filter.
    assert re.search(rf'rel="next" href="\?person={desk.one.username}&(amp;)?page=2"', text)
    asked = {"action": "pause", "every": str(ROWS + 1), "reason": "The guideline changes."}
    # One came in since the page was read.
    early = client.post(address, asked)
    assert (early.status_code, f"show {ROWS + 2} tasks by now" in early.content.decode()) == (422, True)
    assert not Assignment.objects.filter(paused=True).exists()
    done = client.post(address, asked | {"every": str(ROWS + 2)})
    assert done.status_code == 302
    paused = Assignment.objects.filter(paused=True)
    assert (paused.count(), set(paused.values_list("annotator", flat=True))) == (ROWS + 2, {desk.one.pk})


def test_every_task_of_a_rule_that_cannot_be_read_is_none() -> None:
    desk = make_desk()
    client = Client()
    client.force_login(desk.lead)
    address = reverse("assignments", args=[desk.study.slug])
    for query in ("?person=nobody", "?state=%00", "?text=%00"):
        answer = client.post(address + query, {"action": "pause", "every": "1", "reason": "Wait."})
        assert (answer.status_code, "none of the list" in answer.content.decode()) == (422, True)
    assert not Assignment.objects.filter(paused=True).exists()


@pytest.mark.parametrize("name", ["questions", "assignments"])
@pytest.mark.parametrize("query", ["", "?text=q&segment=cross-reference&state=open"])
def test_filtered_lists_cost_the_same_queries_at_one_and_three_rows(name: str, query: str) -> None:
    desk = make_desk(segment=Segment.CROSS_REFERENCE)
    client = Client()
    client.force_login(desk.lead)
    costs = []
    for count in (0, 2):
        for _ in range(count):
            question = make_question(desk.study, segment=Segment.CROSS_REFERENCE)
            make_assignment(question, desk.one, 1)
            make_assignment(question, desk.two, 2)
        listed(desk.lead, name, desk, query)
        with CaptureQueriesContext(connection) as captured:
            client.get(reverse(name, args=[desk.study.slug]) + query)
        costs.append(len(captured))
    assert costs[0] == costs[1]


def test_queue_has_pages_and_keeps_its_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjudication, "PER_PAGE", 1)
    desk = make_desk()
    other = make_desk(study=desk.study)
    for one in (desk, other):
        one.submit_both(one.content(answer="Yes."), one.content(answer="No."))
    client = Client()
    client.force_login(desk.adjudicator)
    address = reverse("adjudication", args=[desk.study.slug])
    shown = []
    for query in ("?type=answer", "?type=answer&page=2"):
        page = client.get(address + query)
        shown += [row.question.key for row in page.context["open"]]
        assert "type=answer&amp;page=" in page.content.decode() or "type=answer&page=" in page.content.decode()
    assert sorted(shown) == sorted([desk.question.key, other.question.key])


def test_page_of_a_failure_needs_no_file_and_no_style() -> None:
    text = get_template("500.html").render()
    assert not re.search(r"<link|<script|<style|style=|src=|static", text)
    assert all(part in text for part in ('lang="en"', "viewport", "What to do", 'href="/"'))

"""The lead's page with several tasks at once: all or nothing, said of which, and never more than was shown."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Assignment
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_member, make_question

pytestmark = pytest.mark.django_db


def page(desk: Desk, query: str = "", **fields: object) -> tuple[int, str]:
    client = Client()
    client.force_login(desk.lead)
    answer = client.post(reverse("assignments", args=[desk.study.slug]) + query, fields)
    return answer.status_code, answer.content.decode()


def test_several_passes_are_returned_together_or_none_is() -> None:
    desk = make_desk()
    desk.submit(desk.first, desk.content())
    tasks = [desk.first.pk, desk.second.pk]
    status, said = page(desk, action="return", task=tasks, reason="Both again.")
    assert status == 422
    assert f"{desk.question.key}, {desk.two}" in said
    assert Assignment.objects.get(pk=desk.first.pk).state == Assignment.State.SUBMITTED
    desk.submit(desk.second, desk.content())
    assert page(desk, action="return", task=tasks, reason="Both again.")[0] == 302
    assert set(Assignment.objects.values_list("state", flat=True)) == {Assignment.State.RETURNED}


def test_several_tasks_are_handed_on_together_or_none_is() -> None:
    desk = make_desk()
    other, third = make_question(desk.study), make_member(desk.study)
    held = Assignment.objects.create(question=other, annotator=desk.one, slot=1)
    Assignment.objects.create(question=other, annotator=third, slot=2)
    tasks = [desk.first.pk, held.pk]
    status, said = page(desk, action="reassign", task=tasks, to=third.username)
    assert (status, "has or had" in said, other.key in said) == (422, True, True)
    assert not Assignment.objects.filter(state=Assignment.State.WITHDRAWN).exists()
    # One person in both places of a question is refused the same way.
    assert page(desk, action="reassign", task=desk.first.pk, to=desk.two.username)[0] == 422


def test_a_rule_that_cannot_be_read_assigns_nothing() -> None:
    desk = make_desk()
    open_question = make_question(desk.study, locale="de")
    names = [desk.one.username, desk.two.username]
    status, said = page(desk, "?locale=tlh&source=%00", action="assign", annotator=names)
    assert (status, "none of the list" in said) == (422, True)
    assert not open_question.assignments.exists()
    # A rule that fits nothing fills nothing, and says so.
    status, said = page(desk, "?state=paused", action="assign", annotator=names)
    assert (status, "no question fits it" in said) == (422, True)
    assert not open_question.assignments.exists()
    # One that fits only what is taken says that; the first time, how many there were.
    assert page(desk, "?locale=de", action="assign", annotator=names)[0] == 302
    assert open_question.assignments.count() == 2
    status, said = page(desk, "?locale=de", action="assign", annotator=names)
    assert (status, "every place of these is taken" in said) == (422, True)


def test_what_was_done_to_some_of_the_ticked_tasks_is_said_of_all() -> None:
    desk = make_desk()
    desk.submit(desk.first, desk.content())
    client = Client()
    client.force_login(desk.lead)
    address = reverse("assignments", args=[desk.study.slug])
    both = {"task": [desk.first.pk, desk.second.pk], "reason": "Wait."}
    said = client.post(address, both | {"action": "pause"}, follow=True).content.decode()
    assert "1 task paused; the other was submitted or paused already." in said
    status, said = page(desk, action="pause", **both)
    assert (status, "none of the 2 was paused" in said) == (422, True)
    assert page(desk, action="resume", task=desk.first.pk)[0] == 422


def test_a_refused_form_keeps_what_was_ticked_and_written() -> None:
    desk = make_desk()
    status, said = page(
        desk, action="return", task=desk.first.pk, question=desk.question.key, reason="Look at <b> again.", to="x"
    )
    assert status == 422
    assert 'value="Look at &lt;b&gt; again."' in said
    assert f'name="task" value="{desk.first.pk}" checked' in said
    assert f'name="question" value="{desk.question.key}" checked' in said
    status, said = page(desk, action="guideline", text="A long text.", labels="no such label")
    assert (status, "A long text." in said) == (422, True)


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "assign", "question": "\x00", "annotator": "\x00"},
        {"action": "return", "task": "1\x00", "reason": "x"},
        {"action": "pause", "task": "-1", "reason": "\x00"},
        {"action": "guideline", "text": "a\x00b", "labels": "rule"},
        {"action": "guideline", "text": "a", "labels": "\x00"},
        {"action": "reassign", "task": "٣", "to": "\ud800".encode("utf-8", "replace").decode()},
        {"action": "\x00"},
        {},
    ],
)
def test_hostile_bytes_are_refused_on_the_assignments_page(fields: dict[str, str]) -> None:
    desk = make_desk()
    assert page(desk, **fields)[0] == 422


@pytest.mark.parametrize("key", ["\x00", "'; --", "x" * 70_000])
def test_a_hostile_question_key_names_no_question(key: str) -> None:
    desk = make_desk()
    names = [desk.one.username, desk.two.username]
    status, said = page(desk, action="assign", question=[make_question(desk.study).key, key], annotator=names)
    assert (status, "is none of this study" in said, len(said) < 60_000) == (422, True, True)
    assert Assignment.objects.count() == 2

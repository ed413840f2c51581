"""The lead's page: who works on what, handed on, paused and returned; guidelines in versions; progress with time."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotate.domain.conflicts import AlreadySubmitted, Conflict, NotNow
from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput
from annotate.domain.pass_edits import ContractFields
from annotate.models import Assignment, Guideline
from annotate.permissions import NotAllowed
from annotate.selectors.passes import assignments_of, content_of, open_assignments_of
from annotate.selectors.progress import by_person, by_segment, progress_of
from annotate.services.count_time import count_time
from annotate.services.edit_pass import edit_pass
from annotate.services.pause_task import pause_tasks, resume_tasks
from annotate.services.publish_guideline import publish_guideline
from annotate.services.reassign import reassign
from annotate.services.save_pass import save_pass
from annotate.services.submit_pass import submit_pass
from ledger.services import verify
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_member, make_question

pytestmark = pytest.mark.django_db


def post(desk: Desk, action: str, query: str = "", **fields: Any) -> Any:
    client = Client()
    client.force_login(desk.lead)
    return client.post(reverse("assignments", args=[desk.study.slug]) + query, {"action": action, **fields})


def test_a_task_is_handed_on_blind_and_the_slot_stays_one() -> None:
    desk = make_desk()
    third = make_member(desk.study)
    save_pass(desk.one, desk.first, 0, desk.content())
    new = reassign(desk.lead, desk.first, third)
    assert (new.slot, content_of(new)) == (1, (0, PassContent()))
    assert not assignments_of(desk.one).exists()
    with pytest.raises(NotNow, match="given to somebody else"):
        save_pass(desk.one, desk.first, 1, desk.content(answer="other"))
    desk.submit(new, desk.content())
    desk.submit(desk.second, desk.content())
    assert desk.question.items.count() == 1
    assert [finding for finding in verify().findings if "assignment" in finding.where] == []
    with pytest.raises(BadInput, match="has or had"):
        reassign(
            desk.lead, Assignment.objects.create(question=make_question(desk.study), annotator=third, slot=1), third
        )


@pytest.mark.parametrize("taken", ["slot", "person"])
def test_the_database_keeps_two_different_people_in_two_places(taken: str) -> None:
    desk = make_desk()
    person, slot = (make_member(desk.study), 1) if taken == "slot" else (desk.one, 2)
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.create(question=desk.question, annotator=person, slot=slot)


def test_what_was_submitted_is_returned_with_its_reason_and_never_handed_on() -> None:
    desk = make_desk()
    desk.submit(desk.first, desk.content())
    third = make_member(desk.study)
    with pytest.raises(Conflict, match="has been submitted"):
        reassign(desk.lead, desk.first, third)
    assert post(desk, "return", task=desk.first.pk, reason="Look at the second sentence.").status_code == 302
    task = assignments_of(desk.one).get()
    assert (task.state, task.note) == ("returned", "Look at the second sentence.")
    page = Client()
    page.force_login(desk.one)
    assert "Look at the second sentence." in page.get(reverse("home")).content.decode()


def test_a_paused_task_takes_no_work_until_it_goes_on() -> None:
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    assert pause_tasks(desk.lead, desk.study, [desk.first], "The source changes.") == 1
    assert not open_assignments_of(desk.one).exists()
    for write in (
        lambda: save_pass(desk.one, desk.first, 1, PassContent()),
        lambda: edit_pass(desk.one, desk.first, 1, [ContractFields({"answer": "x"})]),
        lambda: submit_pass(desk.one, desk.first, 1, "a" * 12),
        lambda: count_time(desk.one, desk.first, 5),
    ):
        with pytest.raises(NotNow, match="paused"):
            write()
    assert resume_tasks(desk.lead, desk.study, [desk.first]) == 1
    submit_pass(desk.one, desk.first, 1, "a" * 12)
    assert pause_tasks(desk.lead, desk.study, [desk.first], "Too late.") == 0
    with pytest.raises(NotAllowed):
        pause_tasks(desk.one, desk.study, [desk.first], "Me.")


def test_work_keeps_the_guideline_it_began_with_and_the_submission_names_it() -> None:
    desk = make_desk()
    one = publish_guideline(desk.lead, desk.study, "First text.", ["rule", "exception"])
    save_pass(desk.one, desk.first, 0, desk.content())
    two = publish_guideline(desk.lead, desk.study, "Second text.", change_note="Clearer")
    desk.submit(desk.first, desk.content(answer="Seven."))
    desk.submit(desk.second, desk.content())
    assert desk.first.work.submissions.get().guideline == one
    assert desk.second.work.submissions.get().guideline == two
    assert desk.study.guideline == "Second text."
    with pytest.raises(BadInput, match="no span label"):
        publish_guideline(desk.lead, desk.study, "Third.", ["nonsense"])
    with pytest.raises(Exception, match="annotate_guideline"), transaction.atomic():
        Guideline.objects.filter(pk=one.pk).update(text="changed")
    client = Client()
    client.force_login(desk.one)
    page = client.get(reverse("workspace", args=[desk.first.pk])).content.decode()
    assert "Guideline v1" in page
    assert "v2 is out" in page


def test_questions_are_assigned_by_rule_by_hand_and_evenly() -> None:
    desk = make_desk()
    third = make_member(desk.study)
    german = [make_question(desk.study, locale="de") for _ in range(3)]
    english = make_question(desk.study, locale="en", cluster_document="fees")
    names = [desk.one.username, desk.two.username, third.username]
    assert post(desk, "assign", "?locale=de", annotator=names).status_code == 302
    load = [
        Assignment.objects.filter(question__in=german, annotator=person).count()
        for person in (desk.one, desk.two, third)
    ]
    assert sorted(load) == [2, 2, 2]
    assert not english.assignments.exists()
    assert post(desk, "assign", question=english.key, annotator=names[:2]).status_code == 302
    assert {row.annotator for row in english.assignments.all()} == {desk.one, desk.two}
    assert post(desk, "assign", annotator=["nobody"]).status_code == 422
    assert post(desk, "pause", task="9" * 30, reason="x").status_code == 422
    assert post(desk, "reassign", task=english.assignments.first().pk, to=third.username).status_code == 302
    client = Client()
    client.force_login(desk.lead)
    for query in ("?state=free", "?state=open", "?state=paused", "?state=done", "?source=fees&segment=unclassified"):
        assert client.get(reverse("assignments", args=[desk.study.slug]) + query).status_code == 200


def test_progress_counts_time_by_person_and_by_segment() -> None:
    desk = make_desk(segment="number-and-scope")
    edit_pass(desk.one, desk.first, 0, [ContractFields({"answer": "x"})], seconds=100)
    assert count_time(desk.one, desk.first, 20) == 120
    assert count_time(desk.one, desk.first, 10**9) == 120 + 3600
    mine = progress_of(desk.one)
    assert (mine.total, mine.started, mine.submitted, mine.to_do, mine.per_task) == (1, 1, 0, 0, None)
    desk.submit(desk.first, desk.content())
    assert progress_of(desk.one).per_task == 3720
    assert {person: row.submitted for person, row in by_person(desk.study)} == {desk.one: 1, desk.two: 0}
    ((segment, row),) = by_segment(desk.study)
    assert (segment, row.total, row.submitted, row.seconds) == ("number-and-scope", 2, 1, 3720)
    with pytest.raises(AlreadySubmitted):
        count_time(desk.one, desk.first, 1)

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
from annotate.models import Assignment, Guideline, Membership
from annotate.permissions import NotAllowed
from annotate.records_pauses import pause_findings
from annotate.selectors.passes import assignments_of, content_of, open_assignments_of
from annotate.selectors.progress import by_person, by_segment, progress_of
from annotate.services.count_time import count_time
from annotate.services.pause_task import MAX_REASON, pause_tasks, resume_tasks
from annotate.services.publish_guideline import publish_guideline
from annotate.services.reassign import reassign
from annotate.services.return_pass import return_pass
from annotate.services.save_pass import save_pass
from annotate.services.submit_pass import submit_pass
from ledger.models import Record
from ledger.services import verify
from tests.annotate.passes import Desk, edit, make_desk
from tests.factories import make_assignment, make_member, make_question, make_study

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
        lambda: edit(desk.one, desk.first, 1, [ContractFields({"answer": "x"})]),
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
    with pytest.raises(BadInput, match="2001 characters and is too long"):
        pause_tasks(desk.lead, desk.study, [desk.second], "x" * (MAX_REASON + 1))


def test_pauses_are_recorded_with_their_reason_and_compared_with_the_tasks() -> None:
    desk = make_desk(reader_labels=["staff"])
    Membership.objects.filter(study=desk.study).update(clearance=["staff"])
    both = [desk.first, desk.second]
    assert pause_tasks(desk.lead, desk.study, both, "The source changes.") == 2
    assert pause_tasks(desk.lead, desk.study, both, "Again.") == 0
    assert resume_tasks(desk.lead, desk.study, [desk.second]) == 1
    paused, resumed = Record.objects.filter(kind__startswith="task.").order_by("seq")
    assert (paused.kind, resumed.kind) == ("task.paused", "task.resumed")
    assert paused.labels == ["staff"]
    assert paused.value["reason"] == "The source changes."
    assert [task["annotator"] for task in paused.value["tasks"]] == [desk.one.username, desk.two.username]
    assert [task["slot"] for task in resumed.value["tasks"]] == [2]
    assert list(pause_findings()) == []
    Assignment.objects.filter(pk=desk.first.pk).update(note="Nothing.")
    assert [found.kind for found in pause_findings()] == ["row.differs"]
    Assignment.objects.update(paused=False)
    assert ["it is not paused" in found.message for found in pause_findings()] == [True]
    Assignment.objects.update(paused=True, note="The source changes.")
    assert ["it is paused, and" in found.message for found in pause_findings()] == [True]


def test_a_returned_pass_says_again_why_once_its_pause_is_over() -> None:
    desk = make_desk()
    desk.submit(desk.first, desk.content())
    return_pass(desk.lead, desk.first, "Look at the exception.")
    pause_tasks(desk.lead, desk.study, [desk.first], "Wait for the new version.")
    desk.first.refresh_from_db()
    assert (desk.first.paused, desk.first.note) == (True, "Wait for the new version.")
    resume_tasks(desk.lead, desk.study, [desk.first])
    desk.first.refresh_from_db()
    assert (desk.first.paused, desk.first.note) == (False, "Look at the exception.")


def test_every_task_is_counted_in_one_state(client: Client) -> None:
    desk = make_desk()
    for state in ("begun", "returned", "submitted", "paused"):
        task = make_assignment(make_question(desk.study), desk.one, 1)
        if state in {"begun", "paused"}:
            save_pass(desk.one, task, 0, desk.content())
        else:
            desk.submit(task, desk.content())
        if state == "returned":
            return_pass(desk.lead, task, "Look again.")
        if state == "paused":
            pause_tasks(desk.lead, desk.study, [task], "Wait.")
    mine = progress_of(desk.one)
    assert (mine.submitted, mine.started, mine.returned, mine.paused, mine.to_do) == (1, 1, 1, 1, 1)
    client.force_login(desk.one)
    page = client.get(reverse("home")).content.decode()
    assert "1 submitted · 1 in progress · 1 returned · 1 to do · 1 paused" in page


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
    edit(desk.one, desk.first, 0, [ContractFields({"answer": "x"})], seconds=100)
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


def test_the_guideline_page_keeps_every_version_readable_and_counts_others_work_for_overseers_only(
    client: Client,
) -> None:
    desk = make_desk()
    publish_guideline(desk.lead, desk.study, "Mark the whole rule.")
    desk.submit(desk.first, desk.content())
    publish_guideline(desk.lead, desk.study, "Mark <rules> only.", ["rule", "exception"], "Shorter.")
    address = reverse("guidelines", args=[desk.study.slug])
    client.force_login(desk.two)
    seen = client.get(address).content.decode()
    assert "Mark the whole rule." in seen
    assert "Mark &lt;rules&gt; only." in seen
    assert "Shorter." in seen
    assert "submission" not in seen
    assert "of your passes" not in seen
    client.force_login(desk.one)
    assert "1 of your passes" in client.get(address).content.decode()
    client.force_login(desk.lead)
    seen = client.get(address).content.decode()
    assert "1 submission made by it" in seen
    assert "0 submissions made by it" in seen
    client.force_login(make_member(make_study()))
    assert client.get(address).status_code == 404

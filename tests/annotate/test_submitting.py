"""Submitting a pass: completeness, once only, and the item both submissions make."""

import threading
from dataclasses import replace

import pytest
from django.db import connections

from annotate.domain.conflicts import AlreadySubmitted, Conflict, StaleRevision
from annotate.domain.content import PassContent
from annotate.domain.content_codec import normalised
from annotate.domain.disagreements import differences
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import DependencyType
from annotate.models import AdjudicationItem, Assignment, Disagreement, Submission
from annotate.permissions import NotAllowed
from annotate.selectors.adjudication import difference_of
from annotate.selectors.passes import content_of, submitted_content
from annotate.services.return_pass import return_pass
from annotate.services.save_pass import save_pass
from annotate.services.submit_pass import submit_pass
from ledger.models import Record
from tests.annotate.passes import make_desk

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("build", "where"),
    [
        (lambda d: d.content(answerable=None), "answerable"),
        (lambda d: d.content(answer="  "), "answer"),
        (lambda d: d.content(sets=()), "support sets"),
        (lambda d: d.content(sets=(("rule", "qualifier"), ())), "set B"),
        (lambda d: d.content(sets=(("rule", "qualifier"), ("qualifier", "rule"))), "set B"),
        (lambda d: d.content(answerable=False), "support sets"),
        (lambda d: d.content(missing_text=" "), "required qualification"),
        (lambda d: d.content(forbidden=("rule",)), "set A"),
        (
            lambda d: d.content(spans=(d.span("rule", 0, 37), d.span("qualifier", 0, 37))),
            "span “rule”",
        ),
    ],
)
def test_an_incomplete_pass_is_refused_with_its_place_and_stays_open(build, where):
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, build(desk))
    with pytest.raises(BadInputs) as raised:
        submit_pass(desk.one, desk.first, 1, "key")
    assert where in {problem.where for problem in raised.value.problems}
    assert all(problem.mend for problem in raised.value.problems)
    assert not Submission.objects.exists()
    assert Assignment.objects.get(pk=desk.first.pk).state == Assignment.State.OPEN
    assert not Record.objects.filter(kind="pass.submitted").exists()


def test_every_problem_is_named_at_once():
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content(answer="", sets=((),), missing_text=""))
    with pytest.raises(BadInputs) as raised:
        submit_pass(desk.one, desk.first, 1, "key")
    assert {p.where for p in raised.value.problems} == {"answer", "set A", "required qualification"}


@pytest.mark.parametrize(
    "build",
    [
        lambda d: d.content(),
        lambda d: d.content(missing_text="", qualification="only if marked temporary"),
        lambda d: d.content(missing_text="", dependency=DependencyType.NONE),
        lambda d: PassContent(replace(d.content().contract, answerable=False, answer="")),
        lambda d: d.content(answerable=False, sets=(), forbidden=("rule",)),
    ],
)
def test_a_complete_pass_is_sealed_as_it_stands(build):
    desk = make_desk()
    content = build(desk)
    submission = desk.submit(desk.first, content)
    assert submitted_content(submission) == normalised(content)
    record = Record.objects.get(kind="pass.submitted")
    assert record.value["content"] == submission.digest
    assert record.scope == f"study:{desk.study.slug}"


def test_nothing_saved_cannot_be_submitted():
    desk = make_desk()
    with pytest.raises(BadInput, match="nothing has been saved"):
        submit_pass(desk.one, desk.first, 0, "key")
    assert Assignment.objects.get(pk=desk.first.pk).state == Assignment.State.OPEN


def test_the_same_key_again_returns_the_same_submission():
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    one = submit_pass(desk.one, desk.first, 1, "key")
    two = submit_pass(desk.one, desk.first, 1, "key")
    assert one.pk == two.pk
    assert Submission.objects.count() == Record.objects.filter(kind="pass.submitted").count() == 1


def test_another_key_after_submission_and_a_key_of_another_pass_are_conflicts():
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    save_pass(desk.two, desk.second, 0, desk.content())
    submit_pass(desk.one, desk.first, 1, "key")
    with pytest.raises(AlreadySubmitted, match="another key"):
        submit_pass(desk.one, desk.first, 1, "other")
    with pytest.raises(Conflict, match="another pass"):
        submit_pass(desk.two, desk.second, 1, "key")
    for key in ("", " ", "x" * 65, "a\nb"):
        with pytest.raises(BadInput, match="printable"):
            submit_pass(desk.two, desk.second, 1, key)


def test_a_revision_that_is_not_the_one_seen_is_not_submitted():
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    save_pass(desk.one, desk.first, 1, desk.content(answer="a week"))
    with pytest.raises(StaleRevision) as raised:
        submit_pass(desk.one, desk.first, 1, "key")
    assert raised.value.mine.contract.answer == "At most 7 days."
    assert raised.value.theirs.contract.answer == "a week"
    assert Assignment.objects.get(pk=desk.first.pk).state == Assignment.State.OPEN


def test_only_its_annotator_submits_a_pass():
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    for person in (desk.two, desk.adjudicator, desk.lead):
        with pytest.raises(NotAllowed):
            submit_pass(person, desk.first, 1, "key")


def test_both_passes_in_make_one_item_with_every_difference_stored():
    desk = make_desk()
    one, two = desk.content(), desk.content(answer="30 days", scope="all", sets=(("rule",),))
    desk.submit(desk.first, one)
    assert not AdjudicationItem.objects.exists()
    desk.submit(desk.second, two)
    item = AdjudicationItem.objects.get()
    a, b = submitted_content(item.submission_a), submitted_content(item.submission_b)
    assert {a.contract.answer, b.contract.answer} == {"At most 7 days.", "30 days"}
    stored = [difference_of(row) for row in item.disagreements.order_by("position")]
    assert tuple(stored) == differences(a, b)
    assert {d.kind for d in stored} == {"answer", "scope", "set-membership"}
    assert Record.objects.get(kind="item.opened").value["a"] == item.submission_a.digest


def test_equal_passes_make_an_item_without_differences():
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(notes="a note is no difference"))
    assert AdjudicationItem.objects.get().disagreements.count() == 0


def test_which_submission_is_a_is_drawn_and_not_told_by_slot():
    slots = set()
    for _ in range(40):
        desk = make_desk()
        desk.submit_both(desk.content(), desk.content())
        slots.add(desk.question.items.get().submission_a.work.assignment.slot)
        if len(slots) == 2:
            break
    assert slots == {1, 2}


def test_a_returned_pass_makes_a_second_round_and_keeps_the_first():
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(answer="30 days"))
    for nobody in (desk.one, desk.two):
        with pytest.raises(NotAllowed):
            return_pass(nobody, desk.first, "look again")
    with pytest.raises(BadInput):
        return_pass(desk.lead, desk.first, " ")
    return_pass(desk.lead, desk.first, "look at the second sentence")
    with pytest.raises(Conflict):
        return_pass(desk.lead, desk.first, "again")
    desk.submit(desk.first, desk.content(answer="30 days"))
    rounds = list(desk.question.items.order_by("round"))
    assert [item.round for item in rounds] == [1, 2]
    assert [item.disagreements.count() for item in rounds] == [1, 0]
    assert [s.ordinal for s in Submission.objects.filter(work__assignment=desk.first)] == [1, 2]


@pytest.mark.django_db(transaction=True)
def test_two_submissions_at_one_moment_make_one_item():
    desk = make_desk()
    for person, assignment in ((desk.one, desk.first), (desk.two, desk.second)):
        save_pass(person, assignment, 0, desk.content())
    together = threading.Barrier(3)
    failed = []

    def submit(person, assignment, key):
        try:
            together.wait()
            submit_pass(person, Assignment.objects.get(pk=assignment.pk), 1, key)
        except Exception as error:
            failed.append(error)
        finally:
            connections.close_all()

    threads = [
        threading.Thread(target=submit, args=arguments)
        for arguments in ((desk.one, desk.first, "a"), (desk.two, desk.second, "b"), (desk.two, desk.second, "b"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert Submission.objects.count() == 2
    assert AdjudicationItem.objects.count() == 1
    assert Disagreement.objects.count() == 0
    assert content_of(desk.first)[0] == 1

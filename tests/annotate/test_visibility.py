"""Who sees which studies, texts, questions and people: every query starts from the person who asks."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotate.domain.vocabulary import Role
from annotate.models import Assignment
from annotate.permissions import OPERATOR
from annotate.selectors import people, questions, sources, studies
from tests.factories import (
    make_assignment,
    make_member,
    make_person,
    make_question,
    make_source,
    make_source_version,
    make_study,
)

pytestmark = pytest.mark.django_db

SECRET = b"Everybody reads this. Only finance reads this. Everybody again."
RANGE = (22, 46, ["finance"])


def everything(person):
    """What each selector of this app shows to a person."""
    return [
        studies.visible_to(person),
        sources.visible_to(person),
        sources.versions_visible_to(person),
        questions.visible_to(person),
        people.memberships_visible_to(person),
    ]


def test_stranger_sees_nothing_of_a_study_and_a_deactivated_member_nothing_more():
    study = make_study()
    make_source_version(study)
    member = make_member(study, *Role)
    make_assignment(make_question(study), member)
    assert all(rows.exists() for rows in everything(member))
    stranger = make_person()
    elsewhere = make_member(make_study(), Role.LEAD)
    for rows in everything(stranger):
        assert not rows.exists()
    for rows in everything(elsewhere)[1:4]:
        assert not rows.exists()
    assert list(people.visible_to(stranger)) == [stranger]
    member.is_active = False
    for rows in [*everything(member), people.visible_to(member)]:
        assert not rows.exists()


def test_operator_sees_everything():
    make_source_version(make_study(), access_labels=["hr"])
    make_question()
    assert all(rows.exists() for rows in everything(OPERATOR)[:4])


def test_version_is_visible_only_with_every_label_held_in_that_study():
    study, other = make_study(), make_study()
    version = make_source_version(study, access_labels=["hr", "board"])
    open_version = make_source_version(study)
    person = make_member(study, clearance=["hr"])
    make_member(other, person=person, clearance=["board"])
    assert list(sources.versions_visible_to(person)) == [open_version]
    assert list(sources.visible_to(person)) == [open_version.source]
    make_member(study, Role.OBSERVER, person=person, clearance=["board"])
    assert set(sources.versions_visible_to(person)) == {version, open_version}


@pytest.mark.parametrize("role", list(Role))
def test_no_role_reads_past_its_labels_not_even_the_lead(role):
    study = make_study()
    make_source_version(study, access_labels=["hr"])
    person = make_member(study, role)
    assert not sources.versions_visible_to(person).exists()
    assert not sources.visible_to(person).exists()


def test_source_with_one_readable_version_is_visible_with_that_version_only():
    study = make_study()
    source = make_source(study)
    make_source_version(source=source, content=b"old", access_labels=["hr"])
    new = make_source_version(source=source, content=b"new")
    person = make_member(study)
    assert list(sources.visible_to(person)) == [source]
    assert list(sources.versions_visible_to(person)) == [new]


def test_restricted_range_never_reaches_a_reader_without_its_label():
    version = make_source_version(content=SECRET, access_ranges=[RANGE])
    text = sources.readable_text(version, {"hr"})
    assert text.hidden == ((22, 46),)
    assert text.length == len(SECRET)
    assert [part.content for part in text.parts] == [SECRET[:22], None, SECRET[46:]]
    assert not any(b"finance" in (part.content or b"") for part in text.part(10, 50))
    assert [(part.start, part.end, part.content) for part in text.part(20, 30)] == [
        (20, 22, SECRET[20:22]),
        (22, 30, None),
    ]
    assert text.shows(0, 22)
    assert text.shows(46, 50)
    assert not text.shows(21, 23)
    whole = sources.readable_text(version, {"finance"})
    assert (whole.hidden, whole.parts[0].content) == ((), SECRET)


def test_whole_text_is_hidden_from_a_reader_without_the_versions_label():
    version = make_source_version(content=SECRET, access_labels=["hr"], access_ranges=[RANGE])
    text = sources.readable_text(version, {"finance"})
    assert text.hidden == ((0, len(SECRET)),)
    assert [part.content for part in text.parts] == [None]


def test_list_of_versions_does_not_load_their_bytes():
    study = make_study()
    make_source_version(study)
    version = sources.versions_visible_to(make_member(study)).get()
    assert {"content", "derived"} <= version.get_deferred_fields()


def test_annotator_sees_assigned_questions_and_overseers_see_all():
    study = make_study()
    annotator = make_member(study)
    mine, others = make_question(study), make_question(study)
    make_assignment(mine, annotator)
    make_assignment(others, make_member(study))
    assert list(questions.visible_to(annotator)) == [mine]
    for role in questions.WHOLE_STUDY:
        assert set(questions.visible_to(make_member(study, role))) == {mine, others}


def test_annotator_who_lost_the_role_sees_no_question_any_more():
    study = make_study()
    person = make_member(study)
    make_assignment(make_question(study), person)
    person.memberships.all().delete()
    assert not questions.visible_to(person).exists()


def test_annotators_are_blind_to_each_other_in_every_selector():
    study = make_study()
    one, two = make_member(study), make_member(study)
    question = make_question(study)
    make_assignment(question, one, 1)

    def seen():
        return [list(rows.values()) for rows in [*everything(one), people.visible_to(one), people.members(one, study)]]

    before = seen()
    work = make_assignment(question, two, 2)
    assert seen() == before
    Assignment.objects.filter(pk=work.pk).update(state=Assignment.State.SUBMITTED)
    assert seen() == before
    assert two.pk not in {row["id"] for row in seen()[5]}
    assert [row["person_id"] for row in seen()[6]] == [one.pk]


def test_adjudicator_and_observer_see_no_names_and_the_lead_sees_all_with_their_counts():
    study = make_study()
    annotator = make_member(study, username="ada")
    make_assignment(make_question(study), annotator, state=Assignment.State.SUBMITTED)
    make_assignment(make_question(study), annotator)
    make_assignment(make_question(), annotator)
    for role in (Role.ADJUDICATOR, Role.OBSERVER):
        person = make_member(study, role)
        assert [row.person for row in people.members(person, study)] == [person]
    lead = make_member(study, Role.LEAD, username="zoe")
    make_member(study, Role.OBSERVER, person=annotator)
    rows = {(row.person.username, row.role): (row.assigned, row.submitted) for row in people.members(lead, study)}
    assert rows["ada", "annotator"] == (2, 1)
    assert rows["ada", "observer"] == (0, 0)
    assert rows["zoe", "lead"] == (0, 0)
    assert list(people.annotators(study)) == [annotator]


def test_progress_of_a_question_counts_its_two_slots():
    study = make_study()
    question = make_question(study)
    make_assignment(question, make_member(study), 1, state=Assignment.State.SUBMITTED)
    make_assignment(question, make_member(study), 2)
    row = questions.with_progress(questions.visible_to(make_member(study, Role.LEAD))).get()
    assert (row.assigned, row.submitted, row.settled) == (2, 1, False)
    study = studies.with_counts(studies.visible_to(make_member(study, Role.LEAD))).get()
    assert (study.question_count, study.settled_count) == (1, 0)


@pytest.mark.parametrize(
    ("listed", "show"),
    [
        (lambda person, study: studies.with_counts(studies.visible_to(person)), lambda row: row.title),
        (lambda person, study: sources.visible_to(person), lambda row: row.title),
        (lambda person, study: sources.versions_visible_to(person), lambda row: (row.source.title, row.access_labels)),
        (lambda person, study: questions.with_progress(questions.visible_to(person)), lambda row: row.study.slug),
        (people.members, lambda row: (row.person.username, row.study.slug)),
    ],
    ids=["studies", "sources", "versions", "questions", "members"],
)
def test_number_of_queries_does_not_grow_with_the_rows(listed, show):
    study = make_study()
    person = make_member(study, *Role, clearance=["hr"])

    def add():
        make_source_version(study, access_labels=["hr"])
        make_source_version(study, access_labels=["board"])
        make_assignment(make_question(study), make_member(study))
        make_member(make_study(), person=person)

    def count():
        with CaptureQueriesContext(connection) as captured:
            assert [show(row) for row in listed(person, study)]
        return len(captured)

    add()
    at_one = count()
    add()
    add()
    assert count() == at_one <= 3

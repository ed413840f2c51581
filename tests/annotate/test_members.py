"""People, roles and who gets which question."""

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.distribution import OpenQuestion, distribute
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.models import Assignment, Membership, Person, Study
from annotate.permissions import OPERATOR, NotAllowed, actor_for
from annotate.services.assign_questions import assign_questions
from annotate.services.members import add_member, create_person, random_password
from annotate.services.studies import create_study
from ledger.models import Record
from ledger.services.verify import verify
from tests.annotate.tampering import tampering
from tests.factories import make_member, make_person, make_question, make_study

LABELS = st.frozensets(st.sampled_from(["hr", "finance"]))


@pytest.mark.django_db
def test_actor_is_the_union_of_a_persons_memberships_in_this_study_only(django_assert_num_queries):
    study, other = make_study(), make_study()
    person = make_member(study, Role.ANNOTATOR, clearance=["hr"])
    make_member(study, Role.ADJUDICATOR, person=person, clearance=["finance"])
    make_member(other, Role.LEAD, person=person, clearance=["board"])
    with django_assert_num_queries(1):
        actor = actor_for(person, study)
    assert actor.roles == {Role.ANNOTATOR, Role.ADJUDICATOR}
    assert actor.clearance == {"hr", "finance"}
    assert not actor_for(make_person(), study).is_member
    person.is_active = False
    assert not actor_for(person, study).is_member


@pytest.mark.django_db
def test_person_who_creates_a_study_leads_it_and_a_stranger_creates_none():
    study = create_study(OPERATOR, "first", "First")
    lead = make_member(study, Role.LEAD)
    second = create_study(lead, "second", "Second")
    assert actor_for(lead, second).roles == {Role.LEAD}
    for person in (make_person(), make_member(study, Role.ADJUDICATOR)):
        with pytest.raises(NotAllowed):
            create_study(person, "third", "Third")
    with pytest.raises(BadInput, match="one of this name"):
        create_study(OPERATOR, "first", "Again")
    with pytest.raises(BadInput, match="short name"):
        create_study(OPERATOR, "No Slug", "Title")
    with pytest.raises(BadInput, match="title"):
        create_study(OPERATOR, "fourth", " ")
    assert Study.objects.count() == 2
    assert verify().ok


@pytest.mark.django_db
def test_lead_creates_a_person_who_can_sign_in(client):
    study = make_study()
    lead = make_member(study, Role.LEAD)
    password = random_password()
    person = create_person(lead, study, "ada", display_name="Ada", password=password)
    assert client.login(username="ada", password=password)
    assert not actor_for(person, study).is_member
    with pytest.raises(NotAllowed):
        create_person(make_member(study), study, "eve", password=password)


@pytest.mark.django_db
def test_person_without_a_password_signs_in_once_one_is_set(client):
    person = create_person(OPERATOR, make_study(), "ada", password=None)
    assert not person.has_usable_password()
    assert not client.login(username="ada", password="")
    password = random_password()
    person.set_password(password)
    person.save(update_fields=["password"])
    assert client.login(username="ada", password=password)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("ada", random_password()),
        ("a b", random_password()),
        ("", random_password()),
        ("bob", "short"),
        ("bob", "1234567890"),
    ],
)
def test_person_with_an_unusable_name_or_password_is_refused(username, password):
    make_person("ada")
    with pytest.raises(BadInput):
        create_person(OPERATOR, make_study(), username, password=password)
    assert Person.objects.count() == 1


@pytest.mark.django_db
def test_role_given_again_sets_its_labels_and_the_same_again_records_nothing():
    study, person = make_study(), make_person()
    lead = make_member(study, Role.LEAD)
    add_member(lead, study, person, Role.ANNOTATOR)
    add_member(lead, study, person, Role.ANNOTATOR, ["hr"])
    records = Record.objects.count()
    add_member(lead, study, person, Role.ANNOTATOR, ["hr"])
    assert Record.objects.count() == records
    assert Membership.objects.get(person=person).clearance == ["hr"]
    with pytest.raises(NotAllowed):
        add_member(person, study, person, Role.LEAD)
    with pytest.raises(BadInput, match="no role"):
        add_member(lead, study, person, "owner")
    with pytest.raises(BadInput, match="no label"):
        add_member(lead, study, person, Role.ANNOTATOR, ["two words"])
    assert verify().ok


@pytest.mark.django_db
def test_role_or_labels_written_past_the_services_are_found_by_the_ledger():
    study = make_study()
    person = make_member(study)
    Membership.objects.filter(person=person).update(clearance=["board"])
    assert [item.kind for item in verify().findings] == ["row.differs"]
    Membership.objects.filter(person=person).update(clearance=[])
    Membership.objects.create(study=study, person=person, role=Role.LEAD)
    assert [item.kind for item in verify().findings] == ["row.unrecorded"]


@given(
    st.lists(LABELS, min_size=1, max_size=12), st.dictionaries(st.sampled_from("abcde"), LABELS, min_size=2, max_size=5)
)
def test_distribution_gives_two_different_eligible_people_and_an_even_load(readers, people):
    questions = [
        OpenQuestion(f"q{number:02}", {}, frozenset(name for name in people if labels <= people[name]))
        for number, labels in enumerate(readers)
    ]
    taken, short = distribute(questions, {})
    for question in questions:
        holders = {taken.get((question.key, slot)) for slot in (1, 2)}
        if len(question.eligible) < 2:
            assert question.key in short
            assert holders == {None}
        else:
            assert len(holders) == 2
            assert holders <= question.eligible
    assert distribute(questions, {}) == (taken, short)
    if all(question.eligible == set(people) for question in questions):
        loads = [list(taken.values()).count(name) for name in people]
        assert max(loads) - min(loads) <= 1


@pytest.mark.django_db
def test_questions_are_shared_out_evenly_and_again_only_fills_gaps():
    study = make_study()
    lead = make_member(study, Role.LEAD)
    people = [make_member(study) for _ in range(3)]
    for _ in range(6):
        make_question(study)
    made = assign_questions(lead, study, people)
    assert len(made) == 12
    assert [Assignment.objects.filter(annotator=person).count() for person in people] == [4, 4, 4]
    assert {Assignment.objects.filter(annotator=person, slot=1).count() for person in people} != {0, 4}
    assert assign_questions(lead, study, people) == []
    extra = make_question(study)
    assert {item.question for item in assign_questions(lead, study, people[:2], [extra])} == {extra}
    assert verify().ok


@pytest.mark.django_db
def test_question_is_given_only_to_those_who_hold_its_readers_labels():
    study = make_study()
    cleared = [make_member(study, clearance=["hr"]) for _ in range(2)]
    other = make_member(study)
    make_question(study, reader_labels=["hr"])
    make_question(study)
    with pytest.raises(BadInput, match="fewer than two"):
        assign_questions(OPERATOR, study, [cleared[0], other])
    assert not Assignment.objects.exists()
    assign_questions(OPERATOR, study, [*cleared, other])
    restricted = Assignment.objects.filter(question__reader_labels=["hr"])
    assert {item.annotator for item in restricted} == set(cleared)


@pytest.mark.django_db
def test_assignment_to_a_stranger_to_one_person_or_across_studies_is_refused():
    study = make_study()
    person, second = make_member(study), make_member(study)
    question = make_question(study)
    with pytest.raises(BadInput, match="two different people"):
        assign_questions(OPERATOR, study, [person])
    with pytest.raises(BadInput, match="two different people"):
        assign_questions(OPERATOR, study, [person, person])
    for stranger in (make_person(), make_member(study, Role.LEAD), make_member(make_study())):
        with pytest.raises(BadInput, match="no active annotator"):
            assign_questions(OPERATOR, study, [person, stranger])
    with pytest.raises(BadInput, match="not of study"):
        assign_questions(OPERATOR, study, [person, second], [make_question()])
    with pytest.raises(NotAllowed):
        assign_questions(person, study, [person, second], [question])
    assert not Assignment.objects.exists()


@pytest.mark.django_db
def test_database_refuses_one_person_in_both_slots_and_a_third_slot():
    question, person = make_question(), make_person()
    Assignment.objects.create(question=question, annotator=person, slot=1)
    for slot in (2, 1, 3):
        holder = person if slot == 2 else make_person()
        with pytest.raises(IntegrityError), transaction.atomic():
            Assignment.objects.create(question=question, annotator=holder, slot=slot)


@pytest.mark.django_db
def test_swapped_annotator_is_found_by_the_ledger():
    study = make_study()
    people = [make_member(study) for _ in range(3)]
    make_question(study)
    made = assign_questions(OPERATOR, study, people[:2])
    with tampering():
        Assignment.objects.filter(pk=made[0].pk).update(annotator=people[2])
    assert [item.kind for item in verify().findings] == ["row.missing", "row.unrecorded"]

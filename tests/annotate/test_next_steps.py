"""What a person is told to do next in each study, and that no number of studies makes it dearer."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.domain.vocabulary import Role
from annotate.models import Person, Study
from annotate.selectors.next_steps import next_steps
from annotate.services.pause_task import pause_tasks
from tests.annotate.passes import make_desk
from tests.annotate.settled import settle
from tests.factories import make_assignment, make_member, make_person, make_question, make_source_version, make_study

pytestmark = pytest.mark.django_db


def said(person: Person, study: Study) -> str:
    step = next_steps(person, [study]).get(study.pk)
    return step.text if step else ""


def test_next_step_of_a_lead_follows_the_work_to_the_freeze() -> None:
    study = make_study()
    lead = make_member(study, Role.LEAD)
    assert said(lead, study) == "Import sources"
    make_source_version(study)
    assert said(lead, study) == "Import questions"
    question = make_question(study)
    one = make_member(study)
    assert next_steps(lead, [study])[study.pk].detail == "a question needs two, there is 1 annotator"
    two = make_member(study)
    assert said(lead, study) == "Assign questions"
    make_assignment(question, one, 1)
    make_assignment(question, two, 2)
    step = next_steps(lead, [study])[study.pk]
    assert (step.text, step.detail, step.looks_on) == ("See the progress", "0 of 1 question settled", True)


def test_next_step_goes_from_annotator_to_adjudicator_to_lead() -> None:
    desk = make_desk()
    assert said(desk.one, desk.study) == "Next task"
    assert said(desk.adjudicator, desk.study) == ""
    settle(desk)
    assert said(desk.one, desk.study) == ""
    assert said(desk.adjudicator, desk.study) == ""
    assert said(desk.lead, desk.study) == "Freeze a fixture set"


def test_next_step_of_an_adjudicator_counts_only_what_can_be_settled() -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content())
    assert next_steps(desk.adjudicator, [desk.study])[desk.study.pk].detail == "1 item to settle"
    make_member(desk.study, Role.ADJUDICATOR, person=desk.one)
    assert said(desk.one, desk.study) == ""


def test_next_step_leaves_out_paused_tasks_archived_studies_and_strangers() -> None:
    desk = make_desk()
    pause_tasks(desk.lead, desk.study, [desk.first], "The price list changes.")
    assert said(desk.one, desk.study) == ""
    assert said(make_person(), desk.study) == ""
    desk.study.archived_at = timezone.now()
    assert said(desk.two, desk.study) == ""


def test_home_shows_the_adjudicators_next_step_and_every_role() -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content())
    make_member(desk.study, Role.OBSERVER, person=desk.adjudicator)
    client = Client()
    client.force_login(desk.adjudicator)
    page = client.get(reverse("home")).content.decode()
    assert "adjudicator, observer" in page
    # The step above the list is not repeated in the study's row.
    assert page.count(reverse("adjudication", args=[desk.study.slug])) == 1


def test_next_steps_cost_the_same_for_one_study_and_for_three() -> None:
    person = make_person()
    costs = []
    for count in (1, 2):
        for _ in range(count):
            study = make_study()
            make_member(study, Role.LEAD, Role.ANNOTATOR, Role.ADJUDICATOR, Role.OBSERVER, person=person)
            make_source_version(study)
            make_question(study)
        with CaptureQueriesContext(connection) as queries:
            assert len(next_steps(person, Study.objects.filter(memberships__person=person).distinct())) in {1, 3}
        costs.append(len(queries))
    assert costs[0] == costs[1]

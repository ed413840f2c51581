"""What a lead and an observer are told to do next once a fixture set is frozen."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotate.domain.vocabulary import Role
from annotate.permissions import OPERATOR
from annotate.selectors.next_steps import NextStep, next_steps
from evaluation.services.lock_plan import lock_plan
from evaluation.services.pause_sweep import pause_sweep
from evaluation.services.sign_release import sign_release
from evaluation.services.work import drain
from tests.factories import make_member
from tests.factories.sweeps import make_fixture_set, make_plan, make_sweep

pytestmark = pytest.mark.django_db


def test_next_step_follows_the_plan_to_the_signed_release() -> None:
    fixture_set = make_fixture_set()
    study = fixture_set.study
    lead, observer = make_member(study, Role.LEAD), make_member(study, Role.OBSERVER)

    def step() -> NextStep:
        return next_steps(lead, [study])[study.pk]

    assert step().text == "Write a plan"
    plan = make_plan(fixture_set, locked=False)
    assert (step().text, step().url) == ("Lock the plan", f"{reverse('plan', args=[plan.pk])}#lock")
    assert next_steps(observer, [study]) == {}
    lock_plan(OPERATOR, plan)
    assert step().text == "Start the sweep"
    sweep = make_sweep(plan)
    assert (step().text, step().looks_on) == ("Watch the sweep", True)
    pause_sweep(lead, sweep)
    assert step().text == "Let the sweep go on"
    assert next_steps(observer, [study]) == {}


def test_next_step_after_the_seal_is_to_read_and_then_the_release() -> None:
    plan = make_plan()
    study = plan.study
    lead, observer = make_member(study, Role.LEAD), make_member(study, Role.OBSERVER)
    sweep = make_sweep(plan)
    drain("next-steps", sweep_id=sweep.pk)
    sweep.refresh_from_db()
    for person in (lead, observer):
        assert next_steps(person, [study])[study.pk].url == reverse("results", args=[sweep.pk])
    sign_release(lead, sweep, idempotency_key="next-steps")
    for person in (lead, observer):
        found = next_steps(person, [study])[study.pk]
        assert (found.text, found.looks_on) == ("Read the release", True)

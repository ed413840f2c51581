"""Whoever is shown results of held-out questions is counted, once a day; nobody else is."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotate.domain.vocabulary import Partition, Role
from annotate.models import HeldOutOpening
from annotate.services.record_reading import READING
from evaluation.middleware import SILENT
from evaluation.services.decide_release import decide_release
from evaluation.services.results import sweep_results
from evaluation.services.sign_release import sign_release
from ledger.services.verify import verify
from tests.factories import make_member, make_person
from tests.factories.routes import all_routes
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan, make_sealed_sweep

pytestmark = pytest.mark.django_db

HELD_OUT_PLAN = PLAN.replace('partition = "development"', 'partition = "held-out"\nheld_out_openings = 2')


def client_of(person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def test_a_reader_of_held_out_results_is_counted_once_a_day_with_who_and_when(monkeypatch):
    fixture_set = make_fixture_set(partition=Partition.HELD_OUT)
    sweep = make_sealed_sweep(make_plan(fixture_set, HELD_OUT_PLAN))
    sweep_results(sweep)
    assert fixture_set.openings.count() == 1  # the sweep itself
    lead, observer = make_member(fixture_set.study, Role.LEAD), make_member(fixture_set.study, Role.OBSERVER)
    page, table = reverse("results", args=[sweep.pk]), reverse("results-table", args=[sweep.pk])
    for person in (lead, observer):
        for address in (page, table, page):
            assert client_of(person).get(address).status_code == 200
    read = fixture_set.openings.filter(purpose__startswith=READING)
    assert sorted(opening.opened_by.pk for opening in read) == sorted([lead.pk, observer.pk])
    assert client_of(lead).get(reverse("api-results", args=[sweep.pk])).status_code == 200
    assert client_of(lead).get(reverse("sweep", args=[sweep.pk])).status_code == 200
    assert client_of(make_person()).get(page).status_code == 404
    assert Client().get(page).status_code == 302
    assert read.all().count() == 2
    tomorrow = read.first().opened_at + timedelta(days=1)
    monkeypatch.setattr("annotate.services.record_reading.timezone.now", lambda: tomorrow)
    assert client_of(lead).get(page).status_code == 200
    assert read.all().count() == 3
    monkeypatch.undo()
    assert verify().findings == ()
    assert "3" in client_of(lead).get(reverse("release", args=[sweep.pk])).content.decode()


def test_results_of_development_questions_count_nobody():
    sweep = make_sealed_sweep()
    lead = make_member(sweep.plan.study, Role.LEAD)
    assert client_of(lead).get(reverse("results", args=[sweep.pk])).status_code == 200
    assert not HeldOutOpening.objects.exists()


def test_every_address_below_a_sweep_is_counted_or_named_as_silent():
    below = {route.name for route in all_routes() if "pk" in route.holds and "sweep" in route.name}
    assert below >= SILENT
    assert "results" not in SILENT


def test_commands_that_show_held_out_results_count_the_operator_once_a_day(tmp_path):
    fixture_set = make_fixture_set(partition=Partition.HELD_OUT)
    sweep = make_sealed_sweep(make_plan(fixture_set, HELD_OUT_PLAN))
    read = fixture_set.openings.filter(purpose__startswith=READING)
    for number in range(2):
        call_command("results", str(sweep.pk), "--json", str(tmp_path / f"{number}.json"), stdout=StringIO())
        call_command("export_artefacts", str(sweep.pk), str(tmp_path / f"bundle-{number}"), stdout=StringIO())
    assert [(one.opened_by, one.purpose) for one in read] == [(None, f"{READING}sweep {sweep.pk}, manage.py results")]
    assert verify().findings == ()


def test_comparing_releases_counts_and_their_list_does_not():
    fixture_set = make_fixture_set(partition=Partition.HELD_OUT)
    sweep = make_sealed_sweep(make_plan(fixture_set, HELD_OUT_PLAN))
    lead = make_member(fixture_set.study, Role.LEAD)
    decision = decide_release(sweep)
    sign_release(lead, sweep, idempotency_key="signed", disposition=decision.disposition)
    page = reverse("releases", args=[fixture_set.study.slug])
    read = fixture_set.openings.filter(purpose__startswith=READING, opened_by=lead)
    assert client_of(lead).get(page).status_code == 200
    assert not read.exists()
    assert client_of(lead).get(page, {"before": sweep.pk, "after": sweep.pk}).status_code == 200
    assert read.count() == 1


def test_a_form_that_is_answered_on_its_page_counts_too():
    fixture_set = make_fixture_set(partition=Partition.HELD_OUT)
    sweep = make_sealed_sweep(make_plan(fixture_set, HELD_OUT_PLAN))
    lead = make_member(fixture_set.study, Role.LEAD)
    question = fixture_set.fixtures.first().fixture_id
    answer = client_of(lead).post(reverse("sweep-question-fixture", args=[sweep.pk, question]))
    assert answer.status_code == 422  # the page, with why there is no such file
    assert fixture_set.openings.filter(purpose__startswith=READING, opened_by=lead).count() == 1

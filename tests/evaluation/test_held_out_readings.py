"""Whoever is shown results of held-out questions is counted, once a day; nobody else is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from annotate.domain.vocabulary import Partition, Role
from annotate.models import HeldOutOpening
from annotate.services.record_reading import READING
from evaluation.middleware import SILENT
from evaluation.services.results import sweep_results
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

"""Who reaches the evaluation pages: leads and observers; other members get 403, strangers 404."""

from __future__ import annotations

import pytest
from django.test import Client, TestCase
from django.urls import reverse

from annotate.domain.vocabulary import Role
from evaluation.models import Plan, Release, Sweep
from tests.factories.studies import make_member, make_person, make_study
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan, make_sealed_sweep, make_sweep

READERS = (Role.LEAD, Role.OBSERVER)


class TestAccess(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep = make_sealed_sweep()
        cls.study = cls.sweep.plan.study
        cls.people = {role: make_member(cls.study, role) for role in Role}
        cls.stranger = make_member(make_study(), Role.LEAD)

    def pages(self) -> list[str]:
        plan, sweep = self.sweep.plan_id, self.sweep.pk
        return [
            reverse("plans", args=[self.study.slug]),
            reverse("plan", args=[plan]),
            reverse("plan-toml", args=[plan]),
            reverse("sweep", args=[sweep]),
            reverse("results", args=[sweep]),
            reverse("results-table", args=[sweep]),
            reverse("results-segment", args=[sweep, "number-and-scope"]),
            reverse("results-parquet", args=[sweep]),
            reverse("results-measures", args=[sweep]),
            reverse("results-top-k", args=[sweep]),
            reverse("results-charts", args=[sweep]),
            reverse("results-chart", args=[sweep, "losses", "svg"]),
            reverse("results-chart", args=[sweep, "agreement", "csv"]),
            reverse("results-drawing", args=[sweep, "differences"]),
            reverse("sweep-questions", args=[sweep]),
            reverse("sweep-questions-file", args=[sweep, "csv"]),
            reverse("sweep-question", args=[sweep, "opening"]),
            reverse("release", args=[sweep]),
        ]

    def test_readers_reach_every_page_and_others_are_refused(self) -> None:
        for role, person in self.people.items():
            self.client.force_login(person)
            for page in self.pages():
                answer = self.client.get(page)
                assert answer.status_code == (200 if role in READERS else 403), (role, page)
                if role in READERS:
                    assert answer["Cache-Control"] == "no-store"

    def test_stranger_is_told_nothing(self) -> None:
        for person in (self.stranger, make_person()):
            self.client.force_login(person)
            for page in self.pages():
                assert self.client.get(page).status_code == 404, page

    def test_somebody_not_signed_in_is_sent_to_the_door(self) -> None:
        for page in self.pages():
            assert self.client.get(page).status_code == 302, page

    def test_observer_changes_nothing(self) -> None:
        draft = make_plan(self.sweep.plan.fixture_set, PLAN.replace("seed = 7", "seed = 9"), locked=False)
        running = make_sweep(make_plan(self.sweep.plan.fixture_set, PLAN.replace("seed = 7", "seed = 10")))
        before = (Plan.objects.count(), Sweep.objects.count(), Release.objects.count())
        self.client.force_login(self.people[Role.OBSERVER])
        key = "a" * 32
        posts = [
            (reverse("plans", args=[self.study.slug]), {"toml": PLAN, "fixture_set": "v1"}),
            (reverse("plan", args=[draft.pk]), {"action": "lock"}),
            (reverse("plan", args=[draft.pk]), {"action": "write", "toml": PLAN}),
            (reverse("plan", args=[self.sweep.plan_id]), {"action": "start", "key": key}),
            (reverse("sweep", args=[running.pk]), {"action": "cancel", "sure": "1"}),
            (reverse("release", args=[self.sweep.pk]), {"key": key, "disposition": "reject", "confirmed": "1"}),
        ]
        for address, form in posts:
            assert self.client.post(address, form).status_code == 403, address
        draft.refresh_from_db()
        running.refresh_from_db()
        assert draft.locked_at is None
        assert running.state == Sweep.State.RUNNING
        assert (Plan.objects.count(), Sweep.objects.count(), Release.objects.count()) == before

    def test_link_to_plans_stands_in_the_study_of_those_who_may_follow_it(self) -> None:
        address = reverse("plans", args=[self.study.slug])
        for role, person in self.people.items():
            self.client.force_login(person)
            page = self.client.get(reverse("study", args=[self.study.slug])).content.decode()
            assert (address in page) is (role in READERS), role


@pytest.mark.django_db
def test_restricted_text_stays_out_of_every_page_without_the_labels(client: object) -> None:
    from django.test import Client

    assert isinstance(client, Client)
    sweep = make_sealed_sweep(make_plan(make_fixture_set()))
    secret, staff = "alarm code changes", "Overtime is paid"
    page = reverse("sweep-question", args=[sweep.pk, "alarm"])
    client.force_login(make_member(sweep.plan.study, Role.LEAD))
    for phase in ("1/4", "1/2", "3/4", "1/1"):
        text = client.get(page, {"phase": phase}).content.decode()
        assert secret not in text.replace("When does the alarm code change?", "")
        assert staff not in text
        assert "staff 1" not in text, "a version whose labels one does not hold is not named"
        assert "Each quarter" not in text, "the answer contract repeats restricted text"
        assert "restricted, bytes 0–" in text
    client.force_login(make_member(sweep.plan.study, Role.LEAD, clearance=["staff"]))
    partly = client.get(page, {"phase": "1/4"}).content.decode()
    assert staff in partly
    assert secret not in partly
    client.force_login(make_member(sweep.plan.study, Role.LEAD, clearance=["staff", "keys"]))
    assert secret in client.get(page, {"phase": "1/4"}).content.decode()


@pytest.mark.django_db
def test_label_that_names_documents_does_not_name_a_restricted_one(client: Client) -> None:
    toml = PLAN.replace("[budget]", '[budget]\nlabel_format = "{rank}. {title}: "')
    sweep = make_sealed_sweep(make_plan(make_fixture_set(), toml))
    address = reverse("sweep-question", args=[sweep.pk, "holiday"])
    client.force_login(make_member(sweep.plan.study, Role.OBSERVER))
    page = client.get(address).content.decode()
    assert "lending: " in page or "safety: " in page
    assert "staff: " not in page
    client.force_login(make_member(sweep.plan.study, Role.LEAD, clearance=["staff", "keys"]))
    assert "staff: " in client.get(address).content.decode()

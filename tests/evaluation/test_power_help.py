"""The plan page's help on how many questions a tolerance needs."""

from __future__ import annotations

import pytest
from django.test import TestCase
from django.urls import reverse

from annotate.domain.vocabulary import Role
from evaluation.domain.power import Assumptions, questions_needed
from evaluation.services.write_plan import plan_value
from evaluation.views.power_help import FIELDS, power_help
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_plan

START = {name: start for name, (_, _, start) in FIELDS.items()}
WORST = """
[[gates]]
name = "worst"
kind = "support-loss"
sample = "representative"
statistic = "worst-phase"
tolerance = 0.10
minimum_questions = 4

[[gates]]
name = "cited"
kind = "attribution"
sample = "representative"
tolerance = 0.10
minimum_questions = 4

[[gates]]
name = "none-lost"
kind = "support-loss"
sample = "representative"
tolerance = 0
minimum_questions = 4
"""


class TestPowerHelp(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.plan = make_plan(toml=PLAN + WORST, locked=False)

    def test_each_gate_is_told_what_it_needs_and_has(self) -> None:
        found = power_help(plan_value(self.plan), self.plan.fixture_set, START)
        rows = {row.gate: row for row in found["rows"]}
        wanted = questions_needed(Assumptions(tolerance=0.10, step=0.5), 0.8).questions
        overall = rows["Support overall"]
        assert (overall.needs, overall.has, overall.enough) == (str(wanted), 9, False)
        assert rows["Support conditions"].has == 3
        assert rows["Worst"].needs.startswith("more than ")
        assert rows["Worst"].enough is None
        assert rows["Cited"].needs == "not a difference"
        assert rows["None lost"].needs == "no number"

    def test_supposing_that_more_questions_differ_needs_more(self) -> None:
        few = power_help(plan_value(self.plan), self.plan.fixture_set, START)
        many = power_help(plan_value(self.plan), self.plan.fixture_set, {**START, "discordance": "0.6"})
        needs = [int(found["rows"][0].needs.replace(",", "")) for found in (few, many)]
        assert needs[0] < needs[1]

    def test_page_shows_the_form_and_computes_only_when_asked(self) -> None:
        self.client.force_login(make_member(self.plan.study, Role.OBSERVER))
        page = reverse("plan", args=[self.plan.pk])
        assert self.client.get(page).context["power"]["rows"] is None
        answer = self.client.get(page, START)
        assert answer.status_code == 200
        assert "Questions that each gate needs" in answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong",
    [
        {"discordance": "2"},
        {"discordance": "1e-170"},
        {"power": "1"},
        {"power": "x"},
        {"change": "nan"},
        {"per_cluster": "1e999"},
        {"per_cluster": "1e9999999"},
        {"step": "0"},
    ],
)
def test_what_cannot_be_supposed_is_told_and_nothing_is_computed(wrong: dict[str, str]) -> None:
    plan = make_plan(locked=False)
    found = power_help(plan_value(plan), plan.fixture_set, {**START, **wrong})
    assert found["rows"] is None
    assert found["problem"] is not None

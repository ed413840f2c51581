"""From a lost question to the experiment it asks for: one change against the arm it was lost in, ready to edit."""

from __future__ import annotations

import pytest
from django.test import TestCase
from django.urls import reverse

from annotate.domain import archive
from annotate.domain.vocabulary import Role
from evaluation.domain.diagnosis import EXPERIMENTS, Diagnosis, Trouble
from evaluation.domain.next_experiment import next_plan
from evaluation.domain.plan_factors import changed_factors
from evaluation.domain.plan_toml import parse_plan, plan_to_toml
from evaluation.domain.plan_words import Factor, PlanPartition
from evaluation.models import Plan
from evaluation.services.export_pack import lost_questions
from evaluation.services.outcome_table import table_of_results
from evaluation.services.plugins import installed_plugins
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_sealed_sweep

ARM = "window-48-0"


def found(trouble: Trouble) -> Diagnosis:
    return Diagnosis(trouble, "It says so.", EXPERIMENTS[trouble])


@pytest.mark.parametrize("trouble", list(Trouble))
@pytest.mark.parametrize("arm", ["window-48-16", ARM])
def test_every_experiment_is_a_plan_that_this_installation_reads_with_one_factor_changed(
    trouble: Trouble, arm: str
) -> None:
    plan = parse_plan(PLAN)
    made = next_plan(plan, arm, found(trouble), "how-long", "1/4")
    if EXPERIMENTS[trouble].factor is Factor.NONE:
        assert made is None
        return
    if made is None:
        assert (trouble, arm) in {(Trouble.RERANKED_AWAY, arm), (Trouble.REPLACED, arm)}
        return
    assert parse_plan(plan_to_toml(made), installed_plugins().known_names()) == made
    assert len(changed_factors(made, made.candidates[0])) == 1
    assert made.population.partition is PlanPartition.DEVELOPMENT
    assert made.population.held_out_openings == 0
    assert "how-long lost its support in" in made.hypothesis.boundary_hypothesis


def test_severed_span_asks_for_overlap_and_crowding_for_less_of_it() -> None:
    plan = parse_plan(PLAN)
    more = next_plan(plan, ARM, found(Trouble.SEVERED), "q", "1/4")
    assert more is not None
    assert (more.baseline.overlap, more.candidates[0].overlap) == (0, 12)
    less = next_plan(plan, "window-48-16", found(Trouble.CROWDED_OUT), "q", "1/4")
    assert less is not None
    assert (less.baseline.name, less.candidates[0].overlap) == ("window-48-16", 8)


def test_long_names_stay_names() -> None:
    plan = parse_plan(PLAN.replace("short-overlap", "x" * 64))
    made = next_plan(plan, ARM, found(Trouble.SEVERED), "q", "1/4")
    assert made is not None
    assert parse_plan(plan_to_toml(made)).name == made.name


class TestPages(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep = make_sealed_sweep()
        cls.study = cls.sweep.plan.study
        cls.lead = make_member(cls.study, Role.LEAD, clearance=["staff", "keys"])
        cls.lost = lost_questions(table_of_results(cls.sweep), ARM)[0]
        cls.page = reverse("sweep-question-next", args=[cls.sweep.pk, cls.lost])

    def at_a_loss(self) -> tuple[str, str]:
        """Return a phase at which the page has an experiment to offer, and its name."""
        for phase in ("1/4", "1/2", "3/4", "1/1"):
            answer = self.client.get(self.page, {"phase": phase})
            for one in answer.context["proposals"]:
                if one["plan"] and one["arm"] == ARM:
                    return phase, one["ident"]
        raise AssertionError("nothing was lost")

    def test_lost_question_becomes_a_draft_in_the_editor_without_a_long_address(self) -> None:
        self.client.force_login(self.lead)
        phase, ident = self.at_a_loss()
        answer = self.client.post(self.page, {"phase": phase, "proposal": ident})
        assert answer.status_code == 302
        assert len(answer["Location"]) < 200
        editor = self.client.get(reverse("plans", args=[self.study.slug]))
        text = editor.context["toml"]
        assert f"{self.lost} lost its support in {ARM} at phase {phase}" in text
        assert editor.context["chosen_set"] == "v1"
        written = self.client.post(reverse("plans", args=[self.study.slug]), {"toml": text, "fixture_set": "v1"})
        assert written.status_code == 302
        assert Plan.objects.filter(locked_at=None).count() == 1
        assert self.client.get(reverse("plans", args=[self.study.slug])).context["toml"] == ""

    def test_draft_of_one_study_does_not_show_in_another_and_a_preset_replaces_it(self) -> None:
        self.client.force_login(self.lead)
        phase, ident = self.at_a_loss()
        self.client.post(self.page, {"phase": phase, "proposal": ident})
        plans = reverse("plans", args=[self.study.slug])
        assert "boundary_hypothesis" in self.client.get(plans, {"preset": "standard"}).context["toml"]
        assert self.client.get(plans).context["toml"] == ""

    def test_unknown_proposal_phase_or_candidate_is_not_there(self) -> None:
        self.client.force_login(self.lead)
        assert self.client.post(self.page, {"proposal": "nothing"}).status_code == 422
        assert self.client.get(self.page, {"phase": "1/7"}).status_code == 404
        assert self.client.get(self.page, {"candidate": "nobody"}).status_code == 404

    def test_observer_reads_and_takes_nothing(self) -> None:
        self.client.force_login(make_member(self.study, Role.OBSERVER))
        page = self.client.get(self.page)
        assert page.status_code == 200
        assert b"Open it as a plan" not in page.content
        fixture = reverse("sweep-question-fixture", args=[self.sweep.pk, self.lost])
        assert fixture.encode() not in page.content
        assert self.client.post(fixture).status_code == 403
        assert self.client.post(self.page, {"proposal": "x"}).status_code == 403

    def test_fixture_downloads_as_an_archive(self) -> None:
        self.client.force_login(self.lead)
        answer = self.client.post(reverse("sweep-question-fixture", args=[self.sweep.pk, self.lost]))
        assert answer.status_code == 200
        assert "replay.json" in archive.unpack(answer.content, "download")
        assert answer["X-Content-Type-Options"] == "nosniff"
        nobody = reverse("sweep-question-fixture", args=[self.sweep.pk, "nobody"])
        assert self.client.post(nobody).status_code == 404

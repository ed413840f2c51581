"""Two releases side by side: what changed in plan, arms, gates and numbers, and what makes either stale."""

from __future__ import annotations

import pytest
from django.test import TestCase
from django.urls import reverse

from annotate.domain.vocabulary import Role
from annotate.permissions import OPERATOR
from annotate.services.freeze_fixtures import freeze_fixtures
from evaluation.domain.plan_toml import parse_plan, plan_payload
from evaluation.domain.release_changes import reading_pairs, setting_changes, veto_pairs
from evaluation.selectors.pages import decision_for
from evaluation.selectors.releases import corpus_changes, made_with
from evaluation.selectors.staleness import stale_reasons
from evaluation.services.sign_release import sign_release
from tests.evaluation.rows import bare_sweep
from tests.factories.studies import make_member, make_study
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan, make_sealed_sweep

OTHER = (
    PLAN.replace("capacity = 48\noverlap = 0", "capacity = 32\noverlap = 0")
    .replace('factor = "overlap"', 'factor = "combined"')
    .replace("window-48-0", "window-32-0")
    .replace("index_expansion = 1.5", "evidence_tokens_increase = 0.5")
)


def test_settings_are_compared_by_name_and_not_by_place() -> None:
    before = plan_payload(parse_plan(PLAN))
    after = plan_payload(
        parse_plan(PLAN.replace("seed = 7", "seed = 8").replace("tolerance = 0.05", "tolerance = 0.02"))
    )
    after["arms"].reverse()
    found = {one.path: (one.before, one.after) for one in setting_changes(before, after)}
    assert found == {"statistics.seed": ("7", "8"), "gates.support-conditions.tolerance": ("0.05", "0.02")}
    assert setting_changes(before, before) == []


def test_renamed_arm_is_one_gone_and_one_new() -> None:
    found = setting_changes(plan_payload(parse_plan(PLAN)), plan_payload(parse_plan(OTHER)))
    values = {one.path: (one.before, one.after) for one in found}
    assert values["arms.window-48-0.capacity"] == ("48", "")
    assert values["arms.window-32-0.capacity"] == ("", "32")
    assert values["resources.index_expansion"] == ("1.5", "")
    assert values["resources.evidence_tokens_increase"] == ("", "0.5")


class TestComparison(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        fixture_set = make_fixture_set("tools")
        cls.study = fixture_set.study
        cls.first = make_sealed_sweep(make_plan(fixture_set))
        cls.second = make_sealed_sweep(make_plan(fixture_set, OTHER))
        cls.lead = make_member(cls.study, Role.LEAD, username="lead")
        sign_release(cls.lead, cls.first, idempotency_key="first")
        cls.page = reverse("releases", args=["tools"])

    def compared(self, before: int, after: int) -> dict[str, object]:
        self.client.force_login(self.lead)
        answer = self.client.get(self.page, {"before": before, "after": after})
        assert answer.status_code == 200
        found: dict[str, object] = answer.context["compared"]
        return found

    def test_gates_and_vetoes_stand_side_by_side_by_name(self) -> None:
        old, new = (decision_for(one, None) for one in (self.first, self.second))
        pairs = {one.gate: one for one in reading_pairs(old, new)}
        assert pairs["index-expansion"].after is None
        assert pairs["evidence-tokens"].before is None
        assert pairs["index-expansion"].turned
        assert pairs["support-overall"].before is not None
        assert pairs["support-overall"].after is not None
        assert {one.veto for one in veto_pairs(old, new)} >= {"permission-leaks", "superseded-evidence"}
        assert all(not one.turned for one in reading_pairs(old, old))

    def test_page_says_what_changed_and_an_equal_pair_that_nothing_did(self) -> None:
        found = self.compared(self.first.pk, self.second.pk)
        paths = {one.path for one in found["settings"]}
        assert {"decision.candidate", "arms.window-32-0.capacity"} <= paths
        same = self.compared(self.first.pk, self.first.pk)
        assert same["settings"] == []
        assert not any(turned for *_, turned in same["gates"])
        page = self.client.get(self.page, {"before": self.first.pk, "after": self.first.pk}).content.decode()
        assert "The two plans are the same." in page

    def test_versions_of_steps_and_packages_are_what_a_sweep_was_made_with(self) -> None:
        found = made_with(self.first)
        assert found["retriever"] == "bm25 1"
        assert found["packing"] == "packing-1"
        assert found["prompt"] == "rendering-1"
        assert found["numpy"]
        assert set(found) >= {"segmenter", "reranker", "expansion", "generator"}
        assert made_with(bare_sweep()) == {}

    def test_list_shows_who_signed_and_what_nobody_did(self) -> None:
        self.client.force_login(self.lead)
        page = self.client.get(self.page).content.decode()
        assert "Not signed" in page
        assert "lead" in page

    def test_sweep_of_another_study_or_none_is_not_compared(self) -> None:
        self.client.force_login(self.lead)
        other = make_sealed_sweep()
        for name in (str(other.pk), "x", "99999999999999999999"):
            assert self.client.get(self.page, {"before": self.first.pk, "after": name}).status_code == 404, name

    def test_empty_study_says_what_to_do(self) -> None:
        study = make_study()
        self.client.force_login(make_member(study, Role.OBSERVER))
        assert "No release yet" in self.client.get(reverse("releases", args=[study.slug])).content.decode()


@pytest.mark.django_db
def test_corrected_fixture_set_makes_its_releases_stale_and_the_corpus_is_compared() -> None:
    fixture_set = make_fixture_set("tools")
    sweep = make_sealed_sweep(make_plan(fixture_set))
    assert stale_reasons(sweep) == []
    keys = [one.fixture_id for one in fixture_set.fixtures.all() if one.fixture_id != "colour"]
    corrected = freeze_fixtures(OPERATOR, fixture_set.study, "v2", keys, successor_of=fixture_set)
    assert stale_reasons(sweep) == ["The fixture set was corrected: its successor is v2."]
    assert corpus_changes(fixture_set, corrected)["fixtures_removed"] == ["colour"]

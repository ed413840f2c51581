"""Plans, sweeps and releases through their forms: what is refused, with its place, and what is kept once."""

from __future__ import annotations

from dataclasses import fields
from html import unescape
from typing import Any

from django.db import connection
from django.test import TestCase
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.domain.vocabulary import Partition, Role
from evaluation.domain.plan import Plan as PlanValue
from evaluation.domain.plan_toml import parse_plan
from evaluation.models import Calibration, Cell, Plan, Release, Sweep
from evaluation.services.lock_plan import lock_plan
from evaluation.services.plugins import installed_plugins
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from evaluation.views import plan_reading, setting_names
from ledger.domain.canonical import digest
from ledger.services import verify
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan, make_sealed_sweep, make_sweep

KEY = "0123456789abcdef0123456789abcdef"


class TestPlanPages(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.fixture_set = make_fixture_set()
        cls.study = cls.fixture_set.study
        cls.lead = make_member(cls.study, Role.LEAD)

    def setUp(self) -> None:
        self.client.force_login(self.lead)

    def test_list_costs_the_same_queries_at_one_and_three_rows(self) -> None:
        address = reverse("plans", args=[self.study.slug])
        make_plan(self.fixture_set)
        self.client.get(address)
        with self.assertNumQueries(8):
            self.client.get(address)
        for seed in (8, 9):
            make_sweep(make_plan(self.fixture_set, PLAN.replace("seed = 7", f"seed = {seed}")))
        with self.assertNumQueries(8):
            assert self.client.get(address).content.decode().count("short-overlap") >= 3

    def test_plan_page_costs_the_same_queries_at_one_and_three_sweeps(self) -> None:
        toml = PLAN.replace('partition = "development"', 'partition = "all"\nheld_out_openings = 3')
        plan = make_plan(self.fixture_set, toml)
        counts = []
        for _ in range(3):
            make_sweep(plan)
            with CaptureQueriesContext(connection) as captured:
                self.client.get(reverse("plan", args=[plan.pk]))
            counts.append(len(captured))
        assert counts[0] == counts[2]

    def test_preset_fills_the_form_and_every_shipped_plan_is_offered(self) -> None:
        page = self.client.get(reverse("plans", args=[self.study.slug]), {"preset": "standard"}).content.decode()
        for name in ("demo", "standard", "chunking-evaluation"):
            assert f">{name}</option>" in page
        assert "boundary_hypothesis" in page

    def test_unreadable_plan_comes_back_with_every_problem_and_its_line(self) -> None:
        broken = PLAN.replace("overlap = 16", "overlap = 48").replace("top_k = 2", "top_k = true")
        answer = self.client.post(
            reverse("plans", args=[self.study.slug]), {"toml": broken, "fixture_set": self.fixture_set.name}
        )
        page = answer.content.decode()
        assert answer.status_code == 422
        for place in ("arms[0].overlap", "budget.top_k", "Line "):
            assert place in page
        assert "overlap = 48" in page, "the text is not lost"
        assert not Plan.objects.exists()

    def test_fixture_set_of_another_study_is_not_there(self) -> None:
        other = make_fixture_set()
        answer = self.client.post(reverse("plans", args=[self.study.slug]), {"toml": PLAN, "fixture_set": other.digest})
        assert answer.status_code == 404

    def test_form_line_ends_do_not_change_the_text(self) -> None:
        self.client.post(
            reverse("plans", args=[self.study.slug]),
            {"toml": PLAN.replace("\n", "\r\n"), "fixture_set": self.fixture_set.name},
        )
        assert Plan.objects.get().toml == PLAN

    def test_changed_draft_is_a_new_plan_beside_the_old_one(self) -> None:
        draft = make_plan(self.fixture_set, locked=False)
        changed = PLAN.replace("seed = 7", "seed = 8")
        answer = self.client.post(reverse("plan", args=[draft.pk]), {"action": "write", "toml": changed})
        new = Plan.objects.exclude(pk=draft.pk).get()
        assert answer.headers["Location"] == reverse("plan", args=[new.pk])
        draft.refresh_from_db()
        assert draft.toml == PLAN

    def test_locking_twice_is_a_conflict_and_starting_a_draft_too(self) -> None:
        draft = make_plan(self.fixture_set, locked=False)
        address = reverse("plan", args=[draft.pk])
        assert self.client.post(address, {"action": "start", "key": KEY}).status_code == 409
        assert self.client.post(address, {"action": "lock"}).status_code == 302
        assert self.client.post(address, {"action": "lock"}).status_code == 409
        assert not Sweep.objects.exists()

    def test_second_press_of_start_is_one_sweep(self) -> None:
        plan = make_plan(self.fixture_set)
        address = reverse("plan", args=[plan.pk])
        first = self.client.post(address, {"action": "start", "key": KEY})
        second = self.client.post(address, {"action": "start", "key": KEY})
        assert first.headers["Location"] == second.headers["Location"]
        assert Sweep.objects.count() == 1

    def test_estimate_runs_when_asked_and_stands_on_the_page_afterwards(self) -> None:
        address = reverse("plan", args=[make_plan(self.fixture_set, locked=False).pk])
        assert "Not measured yet" in self.client.get(address).content.decode()
        assert not Calibration.objects.exists()
        prices = {"price_input": "0.15", "price_output": "0.60"}
        answer = self.client.post(address, {"action": "estimate", **prices})
        assert answer.status_code == 302
        assert answer.headers["Location"].endswith("#estimate")
        page = self.client.get(answer.headers["Location"].partition("#")[0]).content.decode()
        for text in ("9, over 8 index builds", "sent to the generator", "of work on one worker", "at these prices"):
            assert text in page, text
        assert 'value="0.60"' in page
        assert "at these prices" not in self.client.get(address).content.decode()
        assert not Sweep.objects.exists()

    def test_price_that_is_none_is_refused_beside_its_field(self) -> None:
        address = reverse("plan", args=[make_plan(self.fixture_set).pk])
        for form in ({"action": "estimate", "price_input": "free"}, {"action": "start", "key": KEY, "max_cells": "0"}):
            answer = self.client.post(address, form)
            assert answer.status_code == 422
            page = answer.content.decode()
            assert 'role="alert"' in page
            assert 'aria-invalid="true"' in page
        assert self.client.get(address, {"price_input": "<b>"}).status_code == 200
        assert not Sweep.objects.exists()

    def test_sweep_started_with_a_cap_stops_at_it_and_goes_on_from_its_page(self) -> None:
        plan = make_plan(self.fixture_set)
        started = self.client.post(
            reverse("plan", args=[plan.pk]), {"action": "start", "key": KEY, "max_cells": "3", "price_input": "1.5"}
        )
        sweep = Sweep.objects.get()
        address = started.headers["Location"]
        drain("test", sweep_id=sweep.pk)
        page = self.client.get(address).content.decode()
        for text in ("‖ capped", "3 of at most 3 (9 in all)", "Raise the cap", "Cost so far", "Per question", "hx-get"):
            assert (text in page) is (text != "hx-get"), text
        assert "Capped" in self.client.get(reverse("plan", args=[plan.pk])).content.decode()
        refused = self.client.post(address, {"action": "resume", "max_cells": "many"})
        assert refused.status_code == 422
        assert "many" in refused.content.decode()
        assert self.client.post(address, {"action": "resume", "max_cells": "3"}).status_code == 409
        assert self.client.post(address, {"action": "resume", "max_cells": "", "price_input": ""}).status_code == 302
        drain("test", sweep_id=sweep.pk)
        sweep.refresh_from_db()
        assert (sweep.state, sweep.max_cells, sweep.price_input) == (Sweep.State.SEALED, None, "")
        assert self.client.post(address, {"action": "resume"}).status_code == 409

    def test_running_sweep_is_paused_with_its_reason_and_goes_on_from_its_page(self) -> None:
        sweep = make_sweep(make_plan(self.fixture_set))
        address = reverse("sweep", args=[sweep.pk])
        assert 'value="pause"' in self.client.get(address).content.decode()
        assert self.client.post(address, {"action": "pause", "reason": "Night <shift>."}).status_code == 302
        page = self.client.get(address).content.decode()
        for text in ("‖ paused", "Night &lt;shift&gt;.", "Let it go on …", "Cancel for good"):
            assert text in page, text
        assert "hx-get" not in page
        plan_page = self.client.get(reverse("plan", args=[sweep.plan_id])).content.decode()
        assert '<span class="tag collect">‖ Paused</span>' in plan_page
        study_page = self.client.get(reverse("study", args=[sweep.plan.study.slug])).content.decode()
        assert "Paused" in study_page
        assert "Capped" not in plan_page + study_page
        assert self.client.post(address, {"action": "resume"}).status_code == 302
        assert "… running" in self.client.get(address).content.decode()
        assert self.client.post(address, {"action": "cancel", "sure": "1"}).status_code == 302
        page = self.client.get(address).content.decode()
        assert "Start another sweep …" in page
        assert self.client.post(address, {"action": "pause"}).status_code == 409

    def test_unknown_action_and_missing_key_are_refused(self) -> None:
        address = reverse("plan", args=[make_plan(self.fixture_set).pk])
        assert self.client.post(address, {"action": "delete"}).status_code == 422
        assert self.client.post(address, {"action": "start"}).status_code == 422

    def test_plan_page_shows_every_setting_by_name(self) -> None:
        plan = make_plan(self.fixture_set)
        page = self.client.get(reverse("plan", args=[plan.pk])).content.decode()
        value = parse_plan(PLAN)
        for section in plan_reading.sections(value, installed_plugins().known_names()):
            for name, said in section.rows:
                assert name in page
                assert said in unescape(page)
        for name in setting_names.GATE_NAMES.values():
            assert name in page
        for arm in value.arms:
            assert arm.name in page
        assert plan.digest in page
        assert "<dd>Bonferroni" not in page

    def test_toml_comes_as_an_attachment(self) -> None:
        answer = self.client.get(reverse("plan-toml", args=[make_plan(self.fixture_set).pk]))
        assert answer.content.decode() == PLAN
        assert answer["Content-Disposition"].startswith("attachment;")
        assert answer["X-Content-Type-Options"] == "nosniff"


def test_no_setting_of_a_plan_is_left_out_of_its_page() -> None:
    plan = parse_plan(PLAN)
    told_elsewhere = {"name", "arms", "metrics", "gates", "edge_policy"}
    for item in fields(PlanValue):
        if item.name in told_elsewhere:
            continue
        section: Any = getattr(plan, item.name)
        assert {one.name for one in fields(section)} == set(setting_names.NAMES[item.name]), item.name
    for kind, names in setting_names.TABLES.items():
        assert {one.name for one in fields(kind)} == set(names), kind


class TestSweepPage(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep = make_sweep()
        cls.lead = make_member(cls.sweep.plan.study, Role.LEAD)

    def setUp(self) -> None:
        self.client.force_login(self.lead)
        self.address = reverse("sweep", args=[self.sweep.pk])

    def test_running_sweep_polls_and_a_sealed_one_stops(self) -> None:
        page = self.client.get(self.address, headers={"HX-Request": "true"})
        text = page.content.decode()
        assert "<html" not in text
        assert 'hx-trigger="every 2s"' in text
        assert "Not measured: no cell is done yet" in text
        assert "HX-Request" in page["Vary"]
        drain("test", sweep_id=self.sweep.pk)
        text = self.client.get(self.address, headers={"HX-Request": "true"}).content.decode()
        assert "hx-trigger" not in text
        assert reverse("results", args=[self.sweep.pk]) in text

    def test_results_of_a_running_sweep_lead_to_its_progress(self) -> None:
        for name in ("results", "release"):
            answer = self.client.get(reverse(name, args=[self.sweep.pk]))
            assert answer.headers["Location"] == self.address
        assert self.client.get(reverse("results-table", args=[self.sweep.pk])).status_code == 409

    def test_question_of_an_uncomputed_cell_says_not_measured(self) -> None:
        page = self.client.get(reverse("sweep-question", args=[self.sweep.pk, "opening"])).content.decode()
        assert "Not measured: Not computed yet" in page

    def test_cancelling_needs_the_box_and_happens_once(self) -> None:
        assert self.client.post(self.address, {"action": "cancel"}).status_code == 422
        for _ in range(2):
            assert self.client.post(self.address, {"action": "cancel", "sure": "1"}).status_code == 302
        self.sweep.refresh_from_db()
        assert self.sweep.state == Sweep.State.CANCELLED
        assert Cell.objects.filter(sweep=self.sweep, state=Cell.State.DONE).count() == 0
        assert "cancelled" in self.client.get(self.address).content.decode()


class TestReleasePage(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep = make_sealed_sweep()
        cls.lead = make_member(cls.sweep.plan.study, Role.LEAD)

    def setUp(self) -> None:
        self.client.force_login(self.lead)
        self.address = reverse("release", args=[self.sweep.pk])

    def sign(self, **form: str) -> Any:
        return self.client.post(self.address, {"key": KEY, "disposition": "collect-more", "confirmed": "1", **form})

    def test_page_holds_gates_bounds_digests_and_the_command(self) -> None:
        page = self.client.get(self.address).content.decode()
        for text in (
            "Collect more evidence",
            "Complete support may fall by at most 0.1",
            "63.2 %",
            self.sweep.root,
            self.sweep.plan.digest,
            self.sweep.plan.fixture_set.digest,
            f"--study {self.sweep.plan.study.slug}",
            "Held-out openings: 0",
        ):
            assert text in page, text

    def test_signature_needs_the_second_confirmation(self) -> None:
        answer = self.client.post(self.address, {"key": KEY, "disposition": "collect-more"})
        assert answer.status_code == 422
        assert "the box was not ticked" in answer.content.decode()
        assert self.sign(disposition="perhaps").status_code == 422
        assert not Release.objects.exists()

    def test_override_needs_a_reason_and_keeps_it_in_sight(self) -> None:
        answer = self.sign(disposition="reject")
        assert answer.status_code == 422
        assert "says “collect more evidence”. To sign “reject” instead, write down why" in answer.content.decode()
        assert not Release.objects.exists()
        assert self.sign(disposition="reject", reason="The <b>date</b> is past.").status_code == 302
        page = self.client.get(self.address).content.decode()
        assert "The &lt;b&gt;date&lt;/b&gt; is past." in page
        assert "The plan's rule said “Collect more evidence”" in page.replace("&#x27;", "'")
        assert "Sign the release" not in page

    def test_second_press_is_one_signature_and_another_key_a_conflict(self) -> None:
        assert self.sign().status_code == 302
        assert self.sign().status_code == 302
        assert Release.objects.count() == 1
        assert self.sign(key="f" * 32).status_code == 409
        release = Release.objects.get()
        page = self.client.get(self.address).content.decode()
        assert release.digest in page
        assert release.ledger_head in page

    def test_new_source_makes_the_results_stale(self) -> None:
        from tests.factories.texts import make_source_version

        make_source_version(self.sweep.plan.study, "A new rule.")
        assert (
            "1 source version came after the fixture set was frozen" in self.client.get(self.address).content.decode()
        )
        results = self.client.get(reverse("results", args=[self.sweep.pk])).content.decode()
        assert "Stale: these results speak of what was frozen then" in results


class TestPlanOfAnotherVersion(TestCase):
    def test_plan_this_version_does_not_read_is_said_to_be_one_and_is_no_finding(self) -> None:
        sweep = make_sealed_sweep()
        plan = sweep.plan
        toml = plan.toml.replace("top_k = 2", "top_k = 0")
        canonical = bytes(plan.canonical).replace(b'"top_k":2', b'"top_k":0')
        old = Plan.objects.create(
            study=plan.study,
            fixture_set=plan.fixture_set,
            name="old",
            toml=toml,
            canonical=canonical,
            digest=digest(canonical),
        )
        self.client.force_login(make_member(plan.study, Role.LEAD))
        answer = self.client.get(reverse("plan", args=[old.pk]))
        assert answer.status_code == 409
        assert "does not read this plan" in answer.content.decode()
        assert "budget.top_k" in answer.content.decode()
        Plan.objects.filter(pk=old.pk).update(locked_at=timezone.now())
        assert "plan.text" not in {finding.kind for finding in verify().findings}


class TestPostHoc(TestCase):
    def test_post_hoc_plan_says_so_everywhere_and_offers_no_accept(self) -> None:
        toml = PLAN.replace('partition = "development"', 'partition = "held-out"\nheld_out_openings = 1')
        fixture_set = make_fixture_set(partition=Partition.HELD_OUT)
        lead = make_member(fixture_set.study, Role.LEAD)
        make_sweep(make_plan(fixture_set, toml))
        later = lock_plan(lead, make_plan(fixture_set, toml.replace("seed = 7", "seed = 8"), locked=False))
        sweep = start_sweep(lead, later, idempotency_key=KEY)
        drain("test", sweep_id=sweep.pk)
        self.client.force_login(lead)
        assert "post hoc" in self.client.get(reverse("plans", args=[fixture_set.study.slug])).content.decode()
        page = self.client.get(reverse("release", args=[sweep.pk])).content.decode()
        assert "a post-hoc plan cannot accept" in page
        assert "Held-out openings: 2" in page
        form = {"key": KEY, "disposition": "accept", "confirmed": "1", "reason": "We want it."}
        answer = self.client.post(reverse("release", args=[sweep.pk]), form)
        assert answer.status_code == 422
        assert not Release.objects.exists()

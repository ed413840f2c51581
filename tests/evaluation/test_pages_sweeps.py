"""A sweep's own page: where reused cells came from, computing again, the bundle, and the way there from the study."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from django.test import TestCase
from django.urls import reverse

from annotate.domain.vocabulary import Partition, Role
from annotate.models import HeldOutOpening
from evaluation.models import Sweep
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from ledger.services import verify_bundle
from tests.factories.studies import make_member
from tests.factories.sweeps import LENDING, PLAN, make_fixture_set, make_plan, make_sealed_sweep

KEY = "0123456789abcdef-0123456789"


class TestSweepPage(TestCase):
    sweep: Sweep

    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep = make_sealed_sweep()
        cls.lead = make_member(cls.sweep.plan.study, Role.LEAD, username="lead", clearance=["staff", "keys"])

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.tmp = tmp_path

    def setUp(self) -> None:
        self.client.force_login(self.lead)

    def page(self, sweep: Sweep) -> str:
        return " ".join(self.client.get(reverse("sweep", args=[sweep.pk])).content.decode().split())

    def again(self, **form: str) -> Sweep:
        form = {"action": "start", "key": f"again{Sweep.objects.count()}again", **form}
        self.client.post(reverse("plan", args=[self.sweep.plan_id]), form)
        made = Sweep.objects.latest("pk")
        drain("test", sweep_id=made.pk)
        made.refresh_from_db()
        return made

    def test_second_sweep_says_which_sweep_its_cells_came_from(self) -> None:
        assert "not computed again" not in self.page(self.sweep)
        page = self.page(self.again())
        assert f'9 cells from <a href="/sweeps/{self.sweep.pk}/">sweep {self.sweep.pk}</a>' in page

    def test_box_of_the_plan_page_has_every_cell_computed_again(self) -> None:
        assert (
            "Compute every cell again" in self.client.get(reverse("plan", args=[self.sweep.plan_id])).content.decode()
        )
        made = self.again(recompute="1")
        assert made.recompute
        assert made.root == self.sweep.root
        page = self.page(made)
        assert "not computed again" not in page
        assert "every cell was to be computed again" in page

    def test_study_leads_to_the_newest_sweep_and_from_there_to_the_results(self) -> None:
        study = self.client.get(reverse("study", args=[self.sweep.plan.study.slug])).content.decode()
        assert f'href="{reverse("sweep", args=[self.sweep.pk])}"' in study
        assert f'href="{reverse("results", args=[self.sweep.pk])}"' in self.page(self.sweep)
        self.client.force_login(make_member(self.sweep.plan.study, Role.ANNOTATOR))
        study = self.client.get(reverse("study", args=[self.sweep.plan.study.slug])).content.decode()
        assert "/sweeps/" not in study
        assert "Releases" not in study

    def unpacked(self, **form: str) -> Path:
        answer = self.client.post(reverse("sweep-bundle", args=[self.sweep.pk]), form)
        assert answer.status_code == 200
        assert answer["Content-Disposition"].startswith("attachment;")
        assert answer["X-Content-Type-Options"] == "nosniff"
        body = b"".join(answer.streaming_content)
        with tarfile.open(fileobj=io.BytesIO(body), mode="r:gz") as tar:
            names = tar.getnames()
            tar.extractall(self.tmp, filter="data")
        tops = {name.split("/")[0] for name in names}
        assert len(tops) == 1
        return self.tmp / tops.pop()

    def test_bundle_download_is_what_verifies_elsewhere(self) -> None:
        whole = self.unpacked(form="whole")
        assert verify_bundle(whole).ok
        assert LENDING.encode() in {path.read_bytes() for path in (whole / "sources").iterdir()}

    def test_text_free_download_holds_no_text_and_needs_no_clearance(self) -> None:
        self.client.force_login(make_member(self.sweep.plan.study, Role.LEAD, username="other"))
        for key in (KEY, ""):
            folder = self.unpacked(form="text-free", key=key)
            assert verify_bundle(folder).ok
            assert not (folder / "sources").exists()
            assert b"Members may borrow" not in b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())

    def test_bundle_is_refused_without_clearance_role_or_form_and_says_how_to_mend_it(self) -> None:
        address = reverse("sweep-bundle", args=[self.sweep.pk])
        assert self.client.get(address).status_code == 405
        answer = self.client.post(address, {"form": "other"})
        assert (answer.status_code, "Choose whole or text-free" in answer.content.decode()) == (422, True)
        answer = self.client.post(address, {"form": "text-free", "key": "short"})
        assert (answer.status_code, "at least 16" in answer.content.decode()) == (422, True)
        self.client.force_login(make_member(self.sweep.plan.study, Role.LEAD, username="uncleared"))
        answer = self.client.post(address, {"form": "whole"})
        assert (answer.status_code, "text-free" in answer.content.decode()) == (422, True)
        self.client.force_login(make_member(self.sweep.plan.study, Role.OBSERVER))
        assert self.client.post(address, {"form": "text-free"}).status_code == 403
        assert "A lead of this study may download the bundle" in self.page(self.sweep)


class TestUnsealed(TestCase):
    def test_running_sweep_has_no_bundle_and_no_tabs_of_results(self) -> None:
        plan = make_plan(make_fixture_set("tools"))
        lead = make_member(plan.study, Role.LEAD)
        running = start_sweep(lead, plan, idempotency_key="running-one")
        self.client.force_login(lead)
        page = self.client.get(reverse("sweep", args=[running.pk])).content.decode()
        assert "Download bundle" not in page
        assert "/top-k/" not in page
        assert self.client.post(reverse("sweep-bundle", args=[running.pk]), {"form": "whole"}).status_code == 409
        for name in ("results-top-k", "results-charts"):
            assert self.client.get(reverse(name, args=[running.pk])).url == f"/sweeps/{running.pk}/"

    def test_bundle_of_a_held_out_sweep_is_counted_as_a_reading(self) -> None:
        opened = PLAN.replace('partition = "development"', 'partition = "all"\nheld_out_openings = 1')
        sweep = make_sealed_sweep(make_plan(make_fixture_set("tools", partition=Partition.HELD_OUT), opened))
        before = HeldOutOpening.objects.count()
        self.client.force_login(make_member(sweep.plan.study, Role.LEAD, username="reader"))
        self.client.post(reverse("sweep-bundle", args=[sweep.pk]), {"form": "text-free"})
        assert HeldOutOpening.objects.count() == before + 1

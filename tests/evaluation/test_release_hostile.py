"""Two tabs, double clicks, hostile texts and hostile addresses: one signature, no fault of the server, no formula."""

from __future__ import annotations

import io
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client, TestCase
from django.urls import reverse
from pyarrow import parquet

from annotate.domain.vocabulary import Role
from annotate.models import Person
from annotate.permissions import OPERATOR
from evaluation.domain.plan_schema import PlanRefused
from evaluation.domain.plan_toml import parse_plan
from evaluation.models import Plan, Release, Sweep
from evaluation.services.decide_release import decide_release
from evaluation.services.lock_plan import lock_plan
from evaluation.views.downloads import csv_file, parquet_file
from ledger.models import Record
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_plan, make_sealed_sweep

HOSTILE = ("", "\x00", "__class__", "<script>alert(1)</script>", "9" * 40, "1/0", "budget:-1", "\ud7ffé")


def press(person: Person, sweep: Sweep, key: str, at: threading.Barrier) -> int:
    """Sign as a browser does, at the same moment as somebody else; return the answer's status."""
    try:
        client = Client()
        client.force_login(person)
        form = {"key": key, "disposition": str(decide_release(sweep).disposition), "confirmed": "1"}
        at.wait()
        return client.post(reverse("release", args=[sweep.pk]), form).status_code
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("keys", "answers"), [(("a" * 32, "a" * 32), [302, 302]), (("a" * 32, "b" * 32), [302, 409])])
def test_two_presses_at_one_moment_are_one_signature(keys: tuple[str, str], answers: list[int]) -> None:
    sweep = make_sealed_sweep()
    lead = make_member(sweep.plan.study, Role.LEAD)
    decide_release(sweep)
    at = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        found = sorted(pool.map(lambda key: press(lead, sweep, key, at), keys))
    assert found == answers
    assert Release.objects.count() == 1
    assert Record.objects.filter(kind="release.signed").count() == 1


class TestTabs(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep: Sweep = make_sealed_sweep()
        cls.lead = make_member(cls.sweep.plan.study, Role.LEAD)

    def setUp(self) -> None:
        self.client.force_login(self.lead)

    def test_second_tab_is_told_who_signed_what_and_changes_nothing(self) -> None:
        address = reverse("release", args=[self.sweep.pk])
        tabs = [self.client.get(address).context["key"] for _ in range(2)]
        assert tabs[0] != tabs[1]
        word = str(decide_release(self.sweep).disposition)
        other = "reject" if word != "reject" else "collect-more"
        assert self.client.post(address, {"key": tabs[0], "disposition": word, "confirmed": "1"}).status_code == 302
        late = self.client.post(
            address, {"key": tabs[1], "disposition": other, "confirmed": "1", "reason": "I saw it otherwise."}
        )
        assert late.status_code == 409
        assert f"{self.lead} signed “{word}”" in late.content.decode()
        assert Release.objects.get().disposition == word

    def test_draft_that_was_locked_meanwhile_is_neither_changed_nor_locked_again(self) -> None:
        draft = make_plan(self.sweep.plan.fixture_set, PLAN.replace("seed = 7", "seed = 8"), locked=False)
        address = reverse("plan", args=[draft.pk])
        lock_plan(OPERATOR, draft)
        before = bytes(Plan.objects.get(pk=draft.pk).canonical)
        written = self.client.post(address, {"action": "write", "toml": PLAN.replace("seed = 7", "seed = 9")})
        assert written.status_code == 302
        assert written.headers["Location"] != address
        again = self.client.post(address, {"action": "lock"})
        assert again.status_code == 409
        assert "was locked on" in again.content.decode()
        assert bytes(Plan.objects.get(pk=draft.pk).canonical) == before

    def test_hostile_addresses_are_answered_or_not_found(self) -> None:
        pk = self.sweep.pk
        pages = {
            f"/sweeps/{pk}/results/": ("candidate",),
            f"/sweeps/{pk}/results/overall/": ("view", "candidate"),
            f"/sweeps/{pk}/charts/support-by-phase.csv": ("sample", "segment", "view"),
            f"/sweeps/{pk}/questions/": (
                "segment",
                "source",
                "language",
                "format",
                "length",
                "change",
                "stage",
                "page",
            ),
            f"/sweeps/{pk}/questions.parquet": ("source", "stage"),
            f"/sweeps/{pk}/questions/opening/": ("phase", "view", "candidate", "repeat"),
            f"/sweeps/{pk}/questions/opening/next/": ("phase", "view"),
            f"/studies/{self.sweep.plan.study.slug}/releases/": ("before", "after"),
            f"/plans/{self.sweep.plan_id}/": ("discordance", "price_input"),
        }
        for page, names in pages.items():
            for name in names:
                for value in HOSTILE:
                    answer = self.client.get(page, {name: value})
                    assert answer.status_code in {200, 302, 404, 422}, (page, name, value)
                    assert b"<script>alert(1)" not in answer.content, (page, name)

    def test_selection_of_nothing_is_a_file_with_its_columns(self) -> None:
        address = reverse("sweep-questions-file", args=[self.sweep.pk, "parquet"])
        everything = parquet.read_table(io.BytesIO(self.client.get(address).content))
        assert everything.num_rows
        nothing = self.client.get(address, {"segment": "number-and-scope", "change": "gained-everywhere"})
        table = parquet.read_table(io.BytesIO(nothing.content))
        assert (table.num_rows, table.column_names) == (0, everything.column_names)


def test_no_cell_of_a_csv_is_a_formula_however_it_begins() -> None:
    for sign in ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"):
        body = csv_file("x.csv", ["x"], [[f"{sign}cmd|'/c calc'!A1"]]).content.decode()
        assert body.partition("\n")[2].lstrip('"').startswith("'"), repr(sign)
    assert csv_file("x.csv", ["x"], [["a=1"], [-1]]).content.decode().split() == ["x", "a=1", "-1"]


def test_parquet_of_no_rows_of_mixed_or_empty_columns_can_be_read() -> None:
    for rows in ([], [[None, 1]], [["a", None], [1, 2.5]]):
        table = parquet.read_table(io.BytesIO(parquet_file("x.parquet", ["a", "b"], rows).content))
        assert (table.num_rows, table.column_names) == (len(rows), ["a", "b"])


def test_text_with_thousands_of_faults_is_refused_and_its_page_lists_the_first() -> None:
    text = "".join(f"k{number} = 1\n" for number in range(2_000))
    with pytest.raises(PlanRefused) as refused:
        parse_plan(text)
    assert len(refused.value.problems) > 2_000


@pytest.mark.django_db
def test_page_of_a_text_with_thousands_of_faults_stays_short(client: Client) -> None:
    plan = make_plan(locked=False)
    client.force_login(make_member(plan.study, Role.LEAD))
    text = "".join(f"k{number} = 1\n" for number in range(2_000))
    answer = client.post(reverse("plan", args=[plan.pk]), {"action": "write", "toml": text})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert page.count("is not a setting of a plan") < 51
    assert "Only the first 50 are listed." in page

"""The list of questions, its filters and files, and the ways from one question page to the next."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pyarrow.parquet as parquet
from django.http import QueryDict
from django.test import TestCase
from django.urls import reverse

from annotate.domain.vocabulary import Role
from evaluation.services.results import sweep_results
from evaluation.views.question_rows import READS
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan, make_sealed_sweep

REPEATED = PLAN.replace('generator = "extractive"', 'generator = "extractive"\nrepeats = 2')


class TestQuestionList(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep = make_sealed_sweep(make_plan(make_fixture_set(), REPEATED))
        study = cls.sweep.plan.study
        cls.lead = make_member(study, Role.LEAD, clearance=["staff", "keys"])
        cls.observer = make_member(study, Role.OBSERVER)
        cls.report = sweep_results(cls.sweep)

    def setUp(self) -> None:
        self.client.force_login(self.lead)

    def get(self, name: str, *args: object, **query: str) -> Any:
        return self.client.get(reverse(name, args=[self.sweep.pk, *args]), query)

    def file(self, **query: str) -> list[dict[str, str]]:
        answer = self.get("sweep-questions-file", "csv", **query)
        assert answer.status_code == 200
        assert answer["Content-Disposition"].startswith("attachment")
        return list(csv.DictReader(io.StringIO(answer.content.decode())))

    def test_list_holds_the_population_and_each_filter_what_fits(self) -> None:
        every = self.file()
        assert len(every) == 12
        lost = [row["question"] for row in self.file(change="lost")]
        cells = self.report.row(
            "pairs", view="budget:130", sample="representative", segment="overall", metric="complete-support"
        )["cells"][1:]
        rich = self.report.row(
            "pairs", view="budget:130", sample="enriched", segment="overall", metric="complete-support"
        )["cells"][1:]
        assert set(lost) == {name for cell in (*cells, *rich) for name in cell["lost"]}
        for row in every:
            assert row in self.file(segment=row["segment"], sample=row["sample"], language=row["language"])
        both = self.file(segment="number-and-scope", sample="enriched")
        assert both == []
        assert [row["evidence bytes"] for row in self.file(length="none")] == ["0", "0"]

    def test_every_filter_of_a_row_finds_that_row(self) -> None:
        page = self.get("sweep-questions").content.decode()
        for name in READS:
            values = re.findall(rf'<select name="{name}">(.*?)</select>', page, re.DOTALL)
            for value, count in re.findall(r'value="([^"]+)">[^<]*\((\d+)\)', values[0] if values else ""):
                assert len(self.file(**{name: value})) == int(count), (name, value)

    def test_parameters_that_are_no_filter_are_never_read(self) -> None:
        assert len(self.file(assigned__password="x", question="opening", key="opening")) == 12

    def test_parquet_holds_what_the_csv_holds(self) -> None:
        answer = self.get("sweep-questions-file", "parquet", change="lost")
        table = parquet.read_table(io.BytesIO(answer.content)).to_pylist()
        rows = self.file(change="lost")
        assert [row["question"] for row in table] == [row["question"] for row in rows]
        assert [row["evidence bytes"] for row in table] == [int(row["evidence bytes"]) for row in rows]
        differences = parquet.read_table(io.BytesIO(self.get("results-parquet").content))
        assert differences.num_rows == len(self.report.data["pairs"])
        assert (
            self.get("sweep-questions-file", "parquet", segment="number-and-scope", sample="enriched").status_code
            == 200
        )

    def test_sources_whose_labels_one_lacks_are_counted_and_never_named(self) -> None:
        assert [row["sources"] for row in self.file(source="staff 1")] == ["staff 1", "staff 1"]
        self.client.force_login(self.observer)
        page = self.get("sweep-questions").content.decode()
        assert "staff 1" not in page
        assert "1 restricted" in page
        assert {row["sources"] for row in self.file() if row["question"] in {"holiday", "alarm"}} == {""}
        assert self.get("sweep-questions", source="staff 1").status_code == 404

    def test_list_costs_the_same_queries_whatever_it_shows(self) -> None:
        self.get("sweep-questions")
        shown = {change: self.get("sweep-questions", change=change) for change in ("lost", "same")}
        counts = [answer.content.decode().count('scope="row"') for answer in shown.values()]
        assert counts[0] != counts[1]
        for change in shown:
            with self.assertNumQueries(8):
                self.get("sweep-questions", change=change)

    def test_pages_answer_head_and_refuse_post(self) -> None:
        for name, args in (
            ("results", []), ("results-top-k", []), ("results-charts", []), ("results-measures", []),
            ("sweep-questions", []), ("sweep-question", ["opening"]),
            ("results-segment", ["overall"]), ("results-chart", ["losses", "csv"]), ("sweep", []),
        ):  # fmt: skip
            address = reverse(name, args=[self.sweep.pk, *args])
            head = self.client.head(address)
            assert (head.status_code, head.content) == (200, b""), name
            assert name == "sweep" or self.client.post(address).status_code == 405, name

    def test_question_leads_along_the_lost_ones_and_along_a_filter(self) -> None:
        lost = [row["question"] for row in self.file(change="lost")]
        page = self.get("sweep-question", lost[0]).content.decode()
        assert f"1 of {len(lost)} lost" in page
        assert 'data-key="p"' not in page
        walked = [lost[0]]
        while link := re.search(r'data-key="n" href="([^"]+)"', page):
            page = self.client.get(link[1].replace("&amp;", "&")).content.decode()
            walked.append(re.search(r'class="lede">([\w~-]+) ', page)[1])  # type: ignore[index]
        assert walked == lost
        chosen = self.get("sweep-question", "saw", segment="definition-and-referent").content.decode()
        assert "1 of 1 chosen" in chosen
        assert 'data-key="n"' not in chosen

    def test_question_that_was_not_lost_leads_to_the_first_lost_one(self) -> None:
        lost = [row["question"] for row in self.file(change="lost")]
        page = self.get("sweep-question", "insurance").content.decode()
        assert f'title="{lost[0]}"' in page

    def test_slider_and_link_show_the_same_phase_and_htmx_gets_the_part_alone(self) -> None:
        by_label = self.get("sweep-question", "opening", phase="3/4").content.decode()
        by_number = self.get("sweep-question", "opening", at="3").content.decode()
        assert "(3 of 4)" in by_label
        # Each answer carries a form token of its own above the page's content.
        assert by_label.partition("<main")[2] == by_number.partition("<main")[2]
        address = reverse("sweep-question", args=[self.sweep.pk, "opening"])
        part = self.client.get(address, {"at": "3"}, headers={"HX-Request": "true"})
        text = part.content.decode()
        assert "HX-Request" in part["Vary"]
        assert "<html" not in text
        assert 'id="phase-steps" hx-swap-oob="true"' in text
        assert 'id="walk" data-at="3"' in text

    def test_repeats_can_be_chosen(self) -> None:
        page = self.get("sweep-question", "opening", repeat="1").content.decode()
        assert re.search(r'repeat=1[^"]*" aria-current="page">2<', page)
        assert self.get("sweep-question", "opening", repeat="2").status_code == 404

    def test_question_page_says_why_support_was_lost_and_what_to_try(self) -> None:
        row = next(row for row in self.file(change="lost") if row["stages"])
        page = " ".join(self.get("sweep-question", row["question"]).content.decode().split())
        label = next(name for name, fate in row.items() if name.startswith("phase ") and fate == "lost")
        page = self.get("sweep-question", row["question"], phase=label.removeprefix("phase ")).content.decode()
        assert "Why, as far as the records say" in page
        assert "Next: " in page
        assert "Chunks that hold the marks" in page

    def test_question_costs_the_same_queries_at_every_place_of_the_list(self) -> None:
        lost = [row["question"] for row in self.file(change="lost")]
        self.get("sweep-question", lost[0])
        for name in (lost[0], lost[-1], "insurance"):
            with self.assertNumQueries(8):
                self.get("sweep-question", name)

    def test_filters_read_the_last_of_a_doubled_value_only(self) -> None:
        query = QueryDict("change=same&change=lost").urlencode()
        answer = self.client.get(f"{reverse('sweep-questions-file', args=[self.sweep.pk, 'csv'])}?{query}")
        assert answer.content.decode() == self.get("sweep-questions-file", "csv", change="lost").content.decode()

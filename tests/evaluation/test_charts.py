"""Charts of a report: titles that say the finding, tables that hold what is drawn, drawings of listed elements."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest
from django.test import TestCase
from django.urls import reverse

from annotate.domain.vocabulary import Role
from evaluation.charts import frontier, heat_map, intervals, losses, support_by_phase, svg
from evaluation.charts.look import two_lines
from evaluation.charts.support_by_phase import PhasePoint
from evaluation.services.results import sweep_results
from evaluation.views.charts_of_support import fragile_first
from evaluation.views.result_charts import CHARTS
from tests.factories.studies import make_member
from tests.factories.sweeps import make_sealed_sweep

DRAWN: dict[str, Callable[[], str]] = {
    "support": lambda: support_by_phase.draw(
        [PhasePoint(arm, label, 1, 2, 0.5, "", 0.2, 0.9) for arm in ("a", "b") for label in ("1/2", "1/1")], ("a", "b")
    ),
    "intervals": lambda: intervals.draw(
        [intervals.Line("x", 0.1, -0.2, 0.3, tolerance=0.05), intervals.Line("<y>", None, None, None, "n = 0")],
        "Difference",
        (-1, 1),
        zero=True,
    ),
    "no intervals": lambda: intervals.draw([intervals.Line("x", None, None, None, "n = 0")], "Difference", (-1, 1)),
    "heat map": lambda: heat_map.draw([("<script>", ["both", "lost"]), ("q", ["", "gained"])], ["1/2", "1/1"]),
    "empty heat map": lambda: heat_map.draw([], ["1/2"]),
    "losses": lambda: losses.draw(
        [losses.Step("a", "All", 4, 0, "all", "4"), losses.Step("a", "Left", 3, 0, "left", "3")]
    ),
    "empty losses": lambda: losses.draw([losses.Step("a", "All", 0, 0, "all", "0")]),
    "frontier": lambda: frontier.draw([frontier.Arm("a", 0.5, None, None, 3.0, True, "Tokens")], ["Tokens"], 0.4),
    "empty frontier": lambda: frontier.draw([], [], None),
}


@pytest.mark.parametrize("name", DRAWN)
def test_drawing_is_rebuilt_from_listed_elements_in_the_pages_colours(name: str) -> None:
    drawn = DRAWN[name]()
    inside = " ".join(f"<{one.tag} {one.attributes}>" for one in svg.pieces(drawn))
    assert not re.search(r"<(script|style|image|foreignObject)|style=|on[a-z]+=|href=|NaN", inside)
    assert not re.search(r"#[0-9a-f]{6}", inside), "a colour that does not follow the theme"
    assert "var(" not in svg.resolved(drawn)
    ElementTree.fromstring(svg.resolved(drawn))


def test_heat_map_says_each_fate_by_a_sign_and_draws_no_more_rows_than_can_be_read() -> None:
    texts = [one.text for one in svg.pieces(DRAWN["heat map"]()) if one.text]
    assert {"●", "▼", "▲"} <= set(texts)
    many = heat_map.draw([(f"q{n}", ["both"]) for n in range(100)], ["1/1"])
    assert sum(one.text == "●" for one in svg.pieces(many)) == heat_map.MOST


def test_most_fragile_question_stands_first_and_uncounted_phases_add_nothing() -> None:
    rows = [
        ("steady", ["both"] * 4),
        ("one-loss", ["both", "both", "both", "lost"]),
        ("half", ["both", "lost", "gained", "neither"]),
        ("short", ["lost", "", "", ""]),
        ("another-loss", ["lost", "both", "both", "both"]),
    ]
    assert [name for name, _ in fragile_first(rows)] == ["half", "another-loss", "one-loss", "short", "steady"]


class TestChartFiles(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep = make_sealed_sweep()
        cls.lead = make_member(cls.sweep.plan.study, Role.LEAD)
        cls.report = sweep_results(cls.sweep)

    def setUp(self) -> None:
        self.client.force_login(self.lead)

    def rows(self, name: str, **query: str) -> list[dict[str, Any]]:
        answer = self.client.get(reverse("results-chart", args=[self.sweep.pk, name, "csv"]), query)
        assert answer.status_code == 200
        return list(csv.DictReader(io.StringIO(answer.content.decode())))

    def test_every_chart_has_a_page_a_drawing_and_both_files(self) -> None:
        for name in CHARTS:
            address = reverse("results-drawing", args=[self.sweep.pk, name])
            page = self.client.get(address).content.decode()
            assert page.count("<svg viewBox") == 2, name
            assert "The same numbers as a table" in page
            part = self.client.get(address, headers={"HX-Request": "true"}).content.decode()
            assert part.startswith("<svg"), name
            drawn = self.client.get(reverse("results-chart", args=[self.sweep.pk, name, "svg"]))
            assert ElementTree.fromstring(drawn.content.decode()).tag.endswith("svg")
            self.rows(name)

    def test_numbers_are_the_reports(self) -> None:
        differences = {row["segment"]: row for row in self.rows("differences", sample="enriched")}
        for row in self.report.rows("pairs", view="budget:130", sample="enriched", metric="complete-support"):
            name = (
                "All segments together"
                if row["segment"] == "overall"
                else row["segment"].replace("-", " ").capitalize()
            )
            value = row["mean"]["value"]
            assert differences[name]["difference"] == ("" if value is None else str(value))
        assert differences["Rule and exception"]["tolerance"] == "0.05"
        lost = self.rows("losses")
        for arm in ("window-48-16", "window-48-0"):
            own = [row for row in lost if row["arm"] == arm]
            assert sum(int(row["runs"]) for row in own) == int(own[0]["of"]) == 7 * 4
        assert [row["arm"] for row in self.rows("frontier")] == ["window-48-16", "window-48-0"]

    def test_charts_wait_for_their_drawing_but_not_for_their_numbers(self) -> None:
        # Five charts of two samples; the results page draws two of them and says what the others find.
        for name, figures in (("results-charts", 10), ("results", 4)):
            page = self.client.get(reverse(name, args=[self.sweep.pk])).content.decode()
            assert page.count("Drawing …") == figures
            assert page.count("The same numbers as a table") == figures
            assert page.count("<noscript><img") == figures
        for name in ("questions-by-phase", "losses", "frontier"):
            assert f"/charts/?candidate=window-48-0#c-{name}" in page

    def test_measures_page_draws_the_agreement_only_when_asked(self) -> None:
        address = reverse("results-measures", args=[self.sweep.pk])
        page = " ".join(self.client.get(address).content.decode().split())
        for said in (
            "Evidence precision",
            "Spans severed by a cut",
            "Complete beyond k",
            "Cuts moved",
            "Orphan headings",
        ):
            assert said in page
        assert "Draw it" in page
        part = self.client.get(address, {"agreement": "draw"}, headers={"HX-Request": "true"}).content.decode()
        assert "No question was submitted by two annotators" in part
        with self.assertNumQueries(7):
            self.client.get(address)


def test_axis_of_differences_gives_zero_no_sign() -> None:
    drawn = intervals.draw([intervals.Line("x", 0.1, -0.2, 0.3)], "Difference", (-1, 1), zero=True)
    labels = {text for text in ElementTree.fromstring(drawn).itertext() if text.strip()}
    assert {"0", "+0.50", "−0.50"} <= labels
    assert "+0.00" not in labels


def test_long_label_stands_in_two_lines_that_are_drawn_below_each_other() -> None:
    assert two_lines("Complete in the prompt") == ["Complete in the prompt"]
    assert two_lines("Never together among the candidates") == ["Never together among", "the candidates"]
    assert two_lines("x" * 40) == ["x" * 40]
    drawn = losses.draw([losses.Step("a", "Lost in packing: no room under the limit", 4, 0, "lost", "−4")])
    kept = [piece for piece in svg.pieces(drawn) if piece.tag == "tspan"]
    assert any(float(dict(piece.attributes).get("dy", 0)) > 10 for piece in kept)
    words = " ".join(text.strip() for text in ElementTree.fromstring(drawn).itertext() if text.strip())
    assert "Lost in packing: no room under the limit" in words.replace("  ", " ")

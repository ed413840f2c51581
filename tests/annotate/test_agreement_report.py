"""The agreement report: intervals, coverage, exclusions, slices, and the parts whose sums give each figure."""

from __future__ import annotations

import csv
import datetime
import html
import io
import re
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.domain.agreement import ALPHA_U, cohen_kappa, nominal_alpha, question_units, spans_alpha_u
from annotate.domain.agreement_intervals import FEWEST, interval, kappa_of_table, nominal_alpha_of_table, ratio
from annotate.domain.agreement_report import NOTHING_MARKED, RATIOS, Item, parts, report
from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.unitizing import alpha_u_replicates
from annotate.domain.vocabulary import Role, Segment
from tests.annotate.contents import VERSIONS, complete
from tests.annotate.passes import make_desk
from tests.factories import make_member

DAY = datetime.datetime(2026, 10, 5, tzinfo=datetime.UTC)
V = "a" * 64
LENGTHS = dict.fromkeys((*VERSIONS, V), 400)


def marked(*places: tuple[int, int], answerable: bool = True, sets: tuple[tuple[str, ...], ...] = ()) -> PassContent:
    spans = tuple(MarkedSpan(V, start, end, f"s{start}-{end}") for start, end in places)
    return PassContent(AnswerContract(answerable), spans, sets)


def item(key: str, a: PassContent, b: PassContent) -> Item:
    return Item(key, "rule-and-exception", ("anna", "ben"), DAY, (a, b))


def by_name(items: list[Item]):
    return {line.measure.name: line for line in report(items, LENGTHS)}


def test_precision_recall_and_jaccard_of_a_known_pair() -> None:
    lines = by_name([item("q", marked((0, 10), (20, 30), (40, 50)), marked((0, 10), (22, 31)))])
    values = {name: line.measure.value for name, line in lines.items()}
    assert values["exact span precision"] == Fraction(1, 2)
    assert values["exact span recall"] == Fraction(1, 3)
    assert values["exact span F1"] == Fraction(2, 5)
    assert values["byte Jaccard"] == Fraction(10 + 8, 10 + 11 + 10)
    assert values["byte-overlap F1"] == Fraction(2 * 18, 30 + 19)
    assert (values["mean start difference"], values["mean end difference"]) == (Fraction(2, 2), Fraction(1, 2))


def test_support_sets_are_equal_by_bytes_whatever_their_spans_are_called() -> None:
    one = PassContent(AnswerContract(True), (MarkedSpan(V, 0, 5, "x"), MarkedSpan(V, 6, 9, "y")), (("x", "y"), ("x",)))
    two = PassContent(AnswerContract(True), (MarkedSpan(V, 0, 5, "p"), MarkedSpan(V, 6, 9, "q")), (("q", "p"),))
    assert by_name([item("q", one, two)])["exact F1, support sets"].measure.value == Fraction(2, 3)


def test_questions_that_say_nothing_are_excluded_by_name_and_coverage_shows_it() -> None:
    items = [item("marked", marked((0, 5)), marked((0, 5))), item("empty", marked(), marked())]
    line = by_name(items)["exact span F1"]
    assert (line.covered, line.of, line.excluded) == (1, 2, (("empty", NOTHING_MARKED),))
    assert by_name(items)[ALPHA_U].excluded == (("empty", NOTHING_MARKED),)


@settings(max_examples=25)
@given(st.lists(st.tuples(complete(answerable=None), complete(answerable=None)), max_size=6))
def test_parts_sum_to_the_exact_figures(pairs: list[tuple[PassContent, PassContent]]) -> None:
    items = [item(f"q{i}", a, b) for i, (a, b) in enumerate(pairs)]
    sums: dict[str, list[Fraction]] = defaultdict(lambda: [Fraction(0), Fraction(0)])
    for part in parts(items):
        if not part.excluded:
            for i, number in enumerate(part.numbers):
                sums[part.figure][i] += number
    lines = {line.measure.name: line for line in report(items, LENGTHS, RATIOS)}
    for name in RATIOS:
        line = lines[name]
        above, below = sums[name]
        assert line.measure.value == (above / below if below else None), name
        assert all(key and why for key, why in line.excluded)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=12))
def test_tables_give_the_exact_kappa_and_alpha(values: list[tuple[str, str]]) -> None:
    words = sorted({word for both in values for word in both})
    table = np.zeros((len(words), len(words)))
    for a, b in values:
        table[words.index(a), words.index(b)] += 1
    for exact, combine in ((cohen_kappa, kappa_of_table), (nominal_alpha, nominal_alpha_of_table)):
        value = exact("x", values).value
        found = combine(table.reshape(1, -1))[0]
        assert np.isnan(found) if value is None else abs(float(value) - found) < 1e-9


def test_nominal_alpha_of_krippendorffs_two_coder_example() -> None:
    # Krippendorff 2011, section A: ten units, two coders, binary; α = 0.095.
    coders = ((0, 1, 0, 0, 0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0, 0, 0))
    value = nominal_alpha("α", list(zip(*coders, strict=True))).value
    assert value is not None
    assert round(float(value), 3) == 0.095


@given(st.lists(st.tuples(complete(answerable=None), complete(answerable=None)), min_size=1, max_size=4))
def test_alpha_u_replicates_of_every_question_once_give_alpha_u(pairs: list[tuple[PassContent, PassContent]]) -> None:
    exact = spans_alpha_u(pairs, LENGTHS).value
    drawn = question_units(pairs, LENGTHS)
    found = alpha_u_replicates(drawn, np.arange(len(pairs))[None, :])[0]
    assert np.isnan(found) if exact is None else abs(float(exact) - found) < 1e-9


def test_interval_holds_the_figure_and_is_the_same_every_time() -> None:
    rows = [(1, 2), (0, 3), (2, 2), (1, 1), (0, 1), (3, 4), (1, 5)]
    one, two = interval(rows, ratio), interval(rows, ratio)
    assert one == two
    assert one.low is not None
    assert one.high is not None
    assert 0 < one.low < 8 / 18 < one.high < 1


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        ([(1, 2)] * (FEWEST - 1), "fewer than"),
        ([(1, 2)] * 30, "every replicate is equal"),
        ([(0, 0)] * 9 + [(1, 2)], "undefined in"),
    ],
)
def test_interval_says_why_there_is_none(rows: list[tuple[int, int]], note: str) -> None:
    found = interval(rows, ratio)
    assert (found.low, found.high) == (None, None)
    assert note in found.note


def test_wholly_equal_passes_have_no_zero_width_interval() -> None:
    items = [item(f"q{i}", marked((i, i + 5)), marked((i, i + 5))) for i in range(9)]
    for line in report(items, LENGTHS):
        assert line.interval.low is None, line.measure.name
        assert line.interval.note


@pytest.mark.django_db
def test_page_slices_by_segment_pair_and_month_and_sends_the_items(client: Client) -> None:
    desk = make_desk(segment=Segment.NUMBER_AND_SCOPE)
    desk.submit_both(desk.content(), desk.content(answer="Never."))
    client.force_login(make_member(desk.study, Role.LEAD))
    address = f"/studies/{desk.study.slug}/agreement/"
    page = client.get(address).content.decode()
    assert "1 of 1 questions" in page
    assert "none: 1 questions, fewer than 5" in page
    pair = "+".join(sorted((desk.one.username, desk.two.username)))
    assert "1 of 1 questions" in client.get(address, {"pair": pair, "segment": "number-and-scope"}).content.decode()
    # What the study does not have is no filter, and never reaches a query.
    unknown = client.get(address, {"pair": "x'; --", "segment": "annotator__password", "month": "9999-99"})
    assert "1 of 1 questions" in unknown.content.decode()
    answer = client.get(f"{address}items.csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    # Behind every number that the page shows stand its items, by the number's name.
    shown = set(re.findall(r'<th role="rowheader" scope="row">([^<]+)</th>', html.unescape(page)))
    assert {row["figure"] for row in rows} == {line.measure.name for line in report([], {})} == shown
    assert len(rows) == len(shown)
    assert {row["question"] for row in rows} == {desk.question.key}


@pytest.mark.django_db
def test_agreement_page_asks_as_often_for_three_questions_as_for_one(client: Client) -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content())
    client.force_login(make_member(desk.study, Role.LEAD))
    address = f"/studies/{desk.study.slug}/agreement/"
    client.get(address)
    with CaptureQueriesContext(connection) as first:
        client.get(address)
    for number in (1, 2):
        more = make_desk(study=desk.study, key=f"more-{number}", document_id=f"more-{number}")
        more.submit_both(more.content(), more.content())
    with CaptureQueriesContext(connection) as second:
        client.get(address)
    assert len(second) == len(first)

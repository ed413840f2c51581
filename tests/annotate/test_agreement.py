"""Agreement figures against published values, and their undefined cases."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given

from annotate.domain.agreement import (
    all_measures,
    byte_overlap_f1,
    cohen_kappa,
    exact_span_f1,
    masi_distance,
    partial_span_f1,
    spans_alpha_u,
    support_set_masi,
)
from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.unitizing import Continuum, alpha_u, expected_disagreement, observed_disagreement
from tests.annotate.contents import VERSIONS, complete

CASES = json.loads((Path(__file__).parent.parent / "golden" / "agreement.json").read_text())
V = "a" * 64


def marked(*places, sets=()):
    spans = tuple(MarkedSpan(V, start, end, f"s{start}-{end}") for start, end in places)
    return PassContent(AnswerContract(True), spans, sets)


def test_alpha_u_gives_the_published_example():
    case = CASES["alpha_u_krippendorff_2004"]
    categories = {
        name: Continuum(
            case["continuum"]["start"],
            case["continuum"]["length"],
            [[tuple(unit) for unit in case[f"category_{name}"][coder]] for coder in ("coder_1", "coder_2")],
        )
        for name in "ck"
    }
    assert round(float(observed_disagreement(categories["c"])), 4) == case["observed_c"]
    assert round(float(expected_disagreement(categories["c"])), 4) == case["expected_c"]
    assert round(float(alpha_u([categories["c"]])), 4) == case["alpha_c"]
    assert alpha_u([categories["k"]]) == case["alpha_k"]
    assert round(float(alpha_u(list(categories.values()))), 4) == case["alpha_all"]


def test_masi_is_passonneaus():
    for one, two, distance in CASES["masi"]["distances"]:
        assert round(float(masi_distance(one, two)), 4) == distance
        assert masi_distance(one, two) == masi_distance(two, one)
    assert masi_distance({"1"}, {"2"}) == 1


def test_span_scores_are_those_of_nervaluate():
    case = CASES["span_scores"]
    pair = [(marked(*map(tuple, case["gold"])), marked(*map(tuple, case["predicted"])))]
    assert float(exact_span_f1(pair).value) == case["strict_f1"]
    assert float(partial_span_f1(pair).value) == case["partial_f1"]
    assert byte_overlap_f1(pair).value == Fraction(2 * (37 + 42), 37 + 51 + 37 + 42)


def test_touching_spans_do_not_overlap():
    for one, two in CASES["not_overlapping"]:
        pair = [(marked(tuple(one)), marked(tuple(two)))]
        for measure in (exact_span_f1(pair), partial_span_f1(pair), byte_overlap_f1(pair)):
            assert measure.value == 0
            assert measure.n > 0


def test_overlapping_marks_of_one_person_count_each_byte_once():
    pair = [(marked((0, 10), (5, 15)), marked((0, 15)))]
    assert byte_overlap_f1(pair).value == 1
    assert exact_span_f1(pair).value == 0


def test_nothing_to_compare_is_undefined_and_never_one():
    for pairs in ([], [(marked(), marked())]):
        for measure in (exact_span_f1(pairs), partial_span_f1(pairs), byte_overlap_f1(pairs), support_set_masi(pairs)):
            assert measure.value is None
            assert str(measure).startswith("undefined, n = 0")
        assert spans_alpha_u(pairs, {}).value is None
    assert str(cohen_kappa("κ", [])) == "undefined, n = 0"
    constant = cohen_kappa("κ", [("yes", "yes")] * 5)
    assert constant.value is None
    assert constant.n == 5
    assert "one word throughout" in constant.note


@pytest.mark.parametrize(
    ("values", "kappa"),
    [
        # Fleiss, Levin & Paik's layout: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no.
        ([("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15, Fraction(2, 5)),
        ([("y", "y"), ("n", "n")], 1),
        ([("y", "n"), ("n", "y")], -1),
        ([("y", "n")] * 3, 0),
    ],
)
def test_kappa_of_known_tables(values, kappa):
    assert cohen_kappa("κ", values).value == kappa


def test_a_set_without_counterpart_counts_nought():
    one = marked((0, 5), (6, 9), sets=(("s0-5",), ("s6-9",)))
    two = marked((0, 5), (6, 9), sets=(("s0-5",),))
    measure = support_set_masi([(one, two)])
    assert (measure.value, measure.n) == (Fraction(1, 2), 2)


@given(a=complete(answerable=None), b=complete(answerable=None))
def test_every_figure_stays_in_its_range_and_equal_passes_agree_wholly(a, b):
    lengths = dict.fromkeys(VERSIONS, 60)
    for one, two in zip(all_measures([(a, b)], lengths), all_measures([(b, a)], lengths), strict=True):
        assert one.value == two.value, one.name
        assert one.value is None or one.value <= 1
    for measure in all_measures([(a, a)], lengths):
        assert measure.value in (None, 1), measure.name

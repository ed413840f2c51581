"""Phase labels, grids, targeted phases."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.domain.phases import (
    PhaseError,
    PhaseLabel,
    check_phase,
    check_stride,
    every,
    grid,
    map_labels,
    targeted,
)
from tests.evaluation.engine_world import byte_tokenizer, document, question, span


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=1), st.integers(1, 10**6))
def test_label_maps_to_the_exact_rounding_of_the_fraction(value: Fraction, stride: int) -> None:
    product = value * stride + Fraction(1, 2)
    assert PhaseLabel(value).phase(stride) == max(1, product.numerator // product.denominator)
    assert 1 <= PhaseLabel(value).phase(stride) <= stride


def test_label_half_way_rounds_up_where_a_float_might_not() -> None:
    assert PhaseLabel.parse("1/2").phase(5) == 3
    assert PhaseLabel.parse("3/8").phase(192) == 72
    assert PhaseLabel.parse("1/16").phase(8) == 1
    assert PhaseLabel.parse("1/1000").phase(3) == 1
    assert PhaseLabel.parse("1/1").phase(192) == 192


def test_label_is_written_in_lowest_terms() -> None:
    assert str(PhaseLabel.parse(" 6/16 ")) == "3/8"
    assert str(PhaseLabel.parse("4/4")) == "1/1"


@pytest.mark.parametrize("text", ["0/8", "9/8", "0.375", "3/0", "-1/8", "", "3", "1/2/3"])
def test_label_that_is_no_fraction_of_a_stride_is_refused(text: str) -> None:
    with pytest.raises(PhaseError):
        PhaseLabel.parse(text)


def test_labels_that_fall_on_one_phase_are_one_phase_and_reported() -> None:
    mapping = map_labels(grid(8), 4)
    assert mapping.phases == (1, 2, 3, 4)
    assert mapping.collapsed == {1: ("1/8", "1/4"), 2: ("3/8", "1/2"), 3: ("5/8", "3/4"), 4: ("7/8", "1/1")}
    assert map_labels(grid(4), 256).collapsed == {}


def test_every_lists_each_phase_of_the_stride() -> None:
    assert every(3) == (1, 2, 3)


@pytest.mark.parametrize("phase", [0, 193, -1, True, 1.5, "1"])
def test_phase_outside_the_stride_is_refused(phase: object) -> None:
    with pytest.raises(PhaseError, match="outside 1…192"):
        check_phase(phase, 192)  # type: ignore[arg-type]


@pytest.mark.parametrize("stride", [0, -3, True, 2.0])
def test_stride_that_is_no_positive_whole_number_is_refused(stride: object) -> None:
    with pytest.raises(PhaseError):
        check_stride(stride)  # type: ignore[arg-type]


def test_targeted_phases_cut_before_between_and_after_the_spans() -> None:
    doc = document("d", "xxxxxAAAAAyyyyyBBBBBzzzzz")
    asked = question("?", [span(doc, "BBBBB"), span(doc, "AAAAA")])
    found = targeted([asked], {doc.digest: byte_tokenizer().encode(doc.content)}, stride=7)
    assert [(t.position, t.token) for t in sorted(found, key=lambda t: t.token)] == [
        ("before", 5),
        ("between", 10),
        ("after", 20),
    ]
    assert all(t.phase == (t.token - 1) % 7 + 1 for t in found)


def test_targeted_phases_leave_out_the_edges_of_the_source() -> None:
    doc = document("d", "AAAAABBBBB")
    asked = question("?", [span(doc, "AAAAA"), span(doc, "BBBBB")])
    found = targeted([asked], {doc.digest: byte_tokenizer().encode(doc.content)}, stride=4)
    assert [(t.position, t.token, t.phase) for t in found] == [("between", 5, 1)]

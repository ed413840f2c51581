"""What pages make of recorded sentences and numbers: real minus signs, three places, no abbreviations, nothing lost."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.domain.gates import GateOutcome, GateReading
from evaluation.views.gate_rows import brief, in_words
from evaluation.views.recorded_words import plain, shown

SIGNATURE = "studentised cluster bootstrap, 95 % one-sided, 6 clusters of 18 questions, 4000 replicates, seed 7"


def reading(reason: str, **numbers: str | int) -> GateReading:
    return GateReading("support-a", "rule", numbers, GateOutcome.COLLECT_MORE, reason)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("-0.097222", "−0.097"),
        ("0.799876", "0.800"),
        ("0.25", "0.25"),
        ("12", "12"),
        ("-0.000400", "0.000"),
        ("0.755245", "0.755"),
    ],
)
def test_number_is_shown_with_a_real_minus_and_three_places(text: str, wanted: str) -> None:
    assert shown(text) == wanted


def test_number_that_would_look_like_its_limit_keeps_its_places() -> None:
    assert shown("-0.099999", ["0.1"]) == "−0.099999"
    assert shown("-0.100000", ["0.1"]) == "−0.100"
    assert "0.049999" in plain("The upper bound 0.049999 is below the limit 0.05.")


@given(st.integers(-(10**7), 10**7))
def test_shown_number_is_the_recorded_one_rounded(millionths: int) -> None:
    text = f"{Decimal(millionths) / 10**6:.6f}"
    back = Decimal(shown(text).replace("−", "-"))
    assert abs(back - Decimal(text)) <= Decimal("0.0005")
    assert "-" not in shown(text)


def test_sentence_keeps_its_hyphens_seeds_and_phases() -> None:
    text = "Lowest bound at phase 1/8: -0.083333 (one-sided, 12 clusters, seed 20261021); 2020-05-04 stays."
    assert plain(text) == "Lowest bound at phase 1/8: −0.083 (one-sided, 12 clusters, seed 20261021); 2020-05-04 stays."
    assert plain("0 of 13 clusters still allow 20.6% (95 %).") == "0 of 13 clusters still allow 20.6 % (95 %)."


def test_reason_does_not_repeat_the_signature_that_stands_beside_it() -> None:
    reason = f"Change: -0.097222, bounds -0.8 to 0.7 ({SIGNATURE}; only 1 cluster gained); it crosses −0.1."
    said = in_words(reading(reason, signature=SIGNATURE))
    assert said == "Change: −0.097, bounds −0.8 to 0.7 (only 1 cluster gained); it crosses −0.1."
    assert in_words(reading(f"Change: 0.5 ({SIGNATURE}).", signature=SIGNATURE)) == "Change: 0.5."


def test_line_of_a_gate_holds_interval_tolerance_and_n_or_says_why_there_is_none() -> None:
    numbers = {"point": "-0.097222", "lower": "-0.851630", "upper": "0.799876", "tolerance": "0.10"}
    line = brief(reading("why", **numbers, questions=18, clusters=1))
    assert line == "−0.097 [−0.852, 0.800], tolerance 0.10; n = 18 questions in 1 cluster"
    assert brief(reading("Measured.", measured="0.007516", limit="0.15")) == "0.008 measured, limit 0.15"
    assert brief(reading("3 questions were counted; the gate asks for 8.", questions=3)) == (
        "3 questions were counted; the gate asks for 8."
    )

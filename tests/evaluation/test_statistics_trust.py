"""What the product says about its own intervals is what the bench's page holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.coverage_table import BANDS as BENCH_BANDS
from evaluation.domain.plan_words import IntervalMethod
from evaluation.domain.resampling import UncertaintyRule
from evaluation.domain.trust import BANDS, MEASURED, caution

PAGE = (Path(__file__).resolve().parents[2] / "bench" / "coverage.md").read_text("utf-8")


def test_measured_table_is_that_of_the_bench() -> None:
    assert BANDS == BENCH_BANDS
    table = PAGE.split("<!-- bands -->")[1].split("<!-- end bands -->")[0]
    head, _, *lines = [line.strip("|").split("|") for line in table.strip().splitlines()]
    methods = [IntervalMethod(name.strip()) for name in head[1:]]
    assert set(methods) == set(IntervalMethod)
    for column, method in enumerate(methods, 1):
        found = [tuple(float(part) for part in line[column].split("/"))[:2] for line in lines]
        assert found == [pytest.approx(pair) for pair in MEASURED[method]]


def test_a_method_that_covers_too_little_warns_with_what_was_measured() -> None:
    percentile = UncertaintyRule(IntervalMethod.PERCENTILE)
    assert re.search(r"10 to 19 clusters .* 89\.0% of 95% promised.* up to 11\.3%", caution(percentile, 12))
    assert caution(percentile, 60) == ""
    studentised = UncertaintyRule(IntervalMethod.STUDENTISED)
    assert re.search(r"10 to 19 clusters .* up to 10\.2%", caution(studentised, 12))
    assert caution(studentised, 60) == ""
    assert [caution(UncertaintyRule(), clusters) for clusters in (12, 30, 60, 300)] == [""] * 4
    assert "not measured below 5 clusters" in caution(UncertaintyRule(), 3)


def test_the_default_covers_no_less_than_any_other_where_clusters_are_few() -> None:
    for place in range(3):
        best = max(MEASURED[method][place][0] for method in IntervalMethod)
        assert MEASURED[UncertaintyRule().method][place][0] == best


def test_a_gate_on_the_default_accepts_near_what_it_promises_from_ten_clusters_on() -> None:
    for (least, _), (coverage, accepts) in zip(BANDS, MEASURED[UncertaintyRule().method], strict=True):
        if least >= 10:
            assert coverage >= 0.94
            assert accepts <= 0.07

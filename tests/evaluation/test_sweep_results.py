"""Results: every number is one that can be counted by hand from the outcomes."""

from __future__ import annotations

import json

import pytest

from annotate.domain.vocabulary import Sample, Segment
from annotate.permissions import OPERATOR
from evaluation.domain.authorise import TWIN_SUFFIX
from evaluation.domain.outcomes import Stage
from evaluation.models import Sweep, SweepReport
from evaluation.services.outcome_table import Selection, table_of_results
from evaluation.services.problems import NotSealed
from evaluation.services.results import SweepResults, sweep_results
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from tests.evaluation.sweeps import locked, plan_toml, started

pytestmark = pytest.mark.django_db


@pytest.fixture
def sealed() -> Sweep:
    sweep = started()
    drain("w")
    sweep.refresh_from_db()
    return sweep


def test_results_of_a_running_sweep_are_refused() -> None:
    with pytest.raises(NotSealed, match="running"):
        sweep_results(started())


def test_figures_are_the_counts_of_the_outcomes(sealed: Sweep) -> None:
    results, table = sweep_results(sealed), table_of_results(sealed)
    answerable = [one.question_id for one in table.questions if one.answerable]
    assert len(answerable) == 4
    for arm in ("overlap", "plain"):
        for label, phase in table.phases[arm].shared.items():
            for view in ("budget:90", "top-k:2"):
                outcomes = table.cells[arm, phase, view, 0]
                for stage in Stage:
                    row = results.row(
                        "figures",
                        arm=arm,
                        view=view,
                        label=label,
                        stage=str(stage),
                        segment="overall",
                        sample="enriched",
                        metric="complete-support",
                    )
                    by_hand = sum(outcomes[name].complete[stage] for name in answerable)
                    assert (row["numerator"], row["denominator"]) == (by_hand, 4)
                    assert row["value"] == round(by_hand / 4, 6)
                    assert row["status"] == "value"


def test_a_boundary_matters_in_the_small_study(sealed: Sweep) -> None:
    """Guards the other tests: were all phases and arms alike, equal numbers would prove nothing."""
    row = sweep_results(sealed).row("arms_by_view", arm="plain", view="budget:90", segment="overall", **SUPPORT)
    assert 0 < row["mean"] < 1
    assert row["fragile"]


SUPPORT = {"sample": "enriched", "metric": "complete-support"}


def test_mean_worst_and_shares_follow_from_the_phases(sealed: Sweep) -> None:
    results = sweep_results(sealed)
    for arm in ("overlap", "plain"):
        place = {"arm": arm, "view": "budget:90", "segment": "overall"} | SUPPORT
        values = [row["value"] for row in results.rows("figures", stage="packed", **place)]
        row = results.row("arms_by_view", **place)
        assert row["mean"] == pytest.approx(sum(values) / len(values), abs=1e-6)
        assert row["worst"] == min(values)
        names = [*row["always"], *row["never"], *row["fragile"]]
        assert len(names) == len(set(names)) == 4
        assert row["fragile_share"] == len(row["fragile"]) / 4


def test_pairs_are_candidate_minus_baseline_with_a_signature(sealed: Sweep) -> None:
    results = sweep_results(sealed)
    place = {"view": "budget:90", "segment": "overall"} | SUPPORT
    row = results.row("pairs", **place)
    means = {one["arm"]: one["mean"] for one in results.rows("arms_by_view", **place)}
    assert row["mean"]["value"] == pytest.approx(means["plain"] - means["overlap"], abs=2e-6)
    assert row["mean"]["signature"]["unit"] == "document cluster"
    assert row["mean"]["signature"]["questions"] == 4
    assert row["mean"]["signature"]["seed"] == 7
    for cells in row["cells"]:
        names = [*cells["both"], *cells["gained"], *cells["lost"], *cells["neither"]]
        assert sorted(names) == sorted(set(names))
        assert len(names) == 4


def test_repeats_are_counted_and_never_dropped(sealed: Sweep) -> None:
    assert {repeat for _, _, _, repeat in table_of_results(sealed).cells} == {0}
    sweep = started_with_repeats(sealed)
    row = sweep_results(sweep).row(
        "figures", arm="plain", view="budget:90", label="1/4", stage="packed", segment="overall", **SUPPORT
    )
    assert row["denominator"] == 8


def started_with_repeats(other: Sweep) -> Sweep:
    toml = plan_toml({'generator = "extractive"': 'generator = "extractive"\nrepeats = 2'})
    sweep = start_sweep(OPERATOR, locked(other.plan.fixture_set, toml), idempotency_key="repeats", block_size=8)
    drain("w")
    sweep.refresh_from_db()
    return sweep


def test_twin_without_the_label_counts_in_no_figure_and_is_asked_all_the_same(sealed: Sweep) -> None:
    table = table_of_results(sealed)
    twins = [one.question_id for one in table.asked if one.question_id.endswith(TWIN_SUFFIX)]
    assert twins == ["how-long-anvils" + TWIN_SUFFIX]
    assert all(twins[0] in outcomes for outcomes in table.cells.values())
    controls = sweep_results(sealed).row(
        "figures",
        arm="plain",
        view="budget:90",
        label="1/4",
        stage="packed",
        segment="unanswerable-control",
        sample="enriched",
        metric="false-assertion",
    )
    assert controls["denominator"] == 2


def test_question_whose_cell_is_still_open_reads_as_failed_and_not_as_absent() -> None:
    sweep = started()
    table = table_of_results(sweep)
    runs = table.runs("plain", 10, "budget:90", Selection(Sample.ENRICHED, Segment.RULE_AND_EXCEPTION))
    assert len(runs) == 4
    assert all(outcome.failed for _, outcome in runs)


def test_oracle_is_told_apart_from_the_arms(sealed: Sweep) -> None:
    results = sweep_results(sealed)
    assert {row["view"] for row in results.rows("oracle")} == {"oracle:90", "oracle-roomy:360"}
    roomy = results.row("oracle", view="oracle-roomy:360", segment="overall", **SUPPORT)
    assert roomy["value"] == 1.0
    assert {row["arm"] for row in results.rows("figures")} == {"overlap", "plain"}


def test_report_is_kept_and_is_the_same_from_the_same_outcomes(sealed: Sweep) -> None:
    first = sweep_results(sealed)
    assert SweepReport.objects.count() == 1
    assert sweep_results(sealed) == first
    SweepReport.objects.update(recipe="0" * 64)
    assert sweep_results(sealed) == first
    again = start_sweep(OPERATOR, sealed.plan, idempotency_key="again", block_size=3)
    drain("w")
    again.refresh_from_db()
    assert without_identity(sweep_results(again)) == without_identity(first)


def without_identity(results: SweepResults) -> dict[str, object]:
    data = json.loads(json.dumps(results.data))
    for name in ("id", "root", "cells"):
        del data["sweep"][name]
    return data


def test_unknown_rows_are_an_error_and_not_an_empty_answer(sealed: Sweep) -> None:
    with pytest.raises(LookupError, match="0 rows"):
        sweep_results(sealed).row("figures", arm="no such arm")

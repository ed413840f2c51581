"""Regression fixtures: what a sweep recorded, taken away with the few sources it needs, and replayed without a
database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import TestCase

from annotate.domain import archive
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.permissions import OPERATOR, NotAllowed
from evaluation.domain.outcomes import STAGES
from evaluation.domain.plan_toml import parse_plan
from evaluation.domain.regression import REPLAY, changes, must_keep, read_flags, written
from evaluation.services.export_pack import export_pack, lost_questions, regression_fixture
from evaluation.services.outcome_table import table_of_results
from evaluation.services.problems import NotSealed
from evaluation.services.replay_pack import read_fixture, replay, replay_pack
from ledger.domain.canonical import canonical_bytes, parse_canonical
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_sealed_sweep, make_sweep

HELD, LOST = tuple(True for _ in STAGES), (*(True for _ in STAGES[1:]), False)


def without_database(run: Any) -> Any:
    """Run with every query forbidden."""
    from django.db import connection

    def refuse(*_: Any) -> Any:
        raise AssertionError("a replay asked the database")

    with connection.execute_wrapper(refuse):
        return run()


class TestPacks(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep = make_sealed_sweep()
        cls.lost = lost_questions(table_of_results(cls.sweep), "window-48-0")

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "pack"

    def test_exported_fixtures_replay_to_the_recorded_flags_without_a_database(self) -> None:
        assert self.lost
        asked = [*self.lost, "how-many", "alarm", "insurance"]
        export_pack(OPERATOR, self.sweep, self.folder, asked)
        replayed = without_database(lambda: list(replay_pack(self.folder)))
        assert sorted(one.question for one in replayed) == sorted(set(asked))
        for one in replayed:
            assert (one.regressed, one.recovered, one.notes) == ((), (), ()), one
            assert one.compared == 2 * 4 * 2 * len(STAGES)

    def test_lost_question_is_expected_lost_by_the_candidate_and_held_by_the_baseline(self) -> None:
        made = regression_fixture(OPERATOR, self.sweep, self.lost[0])
        fixture = read_fixture(made.data, "fixture")
        view = "budget:130"
        ours, theirs = (fixture.expected[name] for name in ("window-48-16", "window-48-0"))
        assert any(ours[label][view][-1] and not theirs[label][view][-1] for label in ours)
        assert made.documents <= made.of_documents

    def test_equal_sweeps_give_equal_bytes(self) -> None:
        first, second = (regression_fixture(OPERATOR, self.sweep, self.lost[0]).data for _ in range(2))
        assert first == second

    def test_changed_splitter_that_loses_the_evidence_ends_with_1_and_says_where(self) -> None:
        export_pack(OPERATOR, self.sweep, self.folder, ["how-long"])
        plan = self.folder.parent / "plan.toml"
        plan.write_text(
            PLAN.replace("capacity = 48\noverlap = 0", "capacity = 12\noverlap = 0")
            .replace('"overlap"', '"combined"')
            .replace("[130]", "[40]")
            .replace("primary_evidence_tokens = 130", "primary_evidence_tokens = 40"),
            encoding="utf-8",
        )
        out = self.folder.parent / "out.json"
        with pytest.raises(CommandError, match="Regressed: how-long") as caught:
            call_command("sweep", str(plan), "--pack", str(self.folder), "--json", str(out))
        assert caught.value.returncode == 1
        told = json.loads(out.read_text(encoding="utf-8"))
        assert told["regressed"] == ["how-long"]
        assert {one["arm"] for one in told["fixtures"][0]["regressed"]} >= {"window-48-0"}

    def test_flag_that_was_recorded_and_is_not_kept_ends_with_1(self) -> None:
        files = archive.unpack(regression_fixture(OPERATOR, self.sweep, "how-many").data, "fixture")
        told = parse_canonical(files[REPLAY])
        arm = next(one for one in told["plan"]["arms"] if one["role"] == "candidate")
        arm |= {"capacity": 3, "factor": "combined"}
        files[REPLAY] = canonical_bytes(told)
        self.folder.mkdir()
        (self.folder / "how-many.tar.gz").write_bytes(archive.pack(files))
        with pytest.raises(CommandError) as caught:
            call_command("sweep", "--pack", str(self.folder))
        assert caught.value.returncode == 1

    def test_command_writes_the_lost_ones_and_its_replay_ends_with_0(self) -> None:
        call_command("export_pack", str(self.sweep.pk), "--lost", "--out", str(self.folder))
        assert sorted(path.name for path in self.folder.iterdir()) == [f"{name}.tar.gz" for name in self.lost]
        call_command("sweep", "--pack", str(self.folder))
        with pytest.raises(CommandError, match="there already") as caught:
            call_command("export_pack", str(self.sweep.pk), "--lost", "--out", str(self.folder))
        assert caught.value.returncode == 2

    def test_what_cannot_be_used_ends_with_2(self) -> None:
        self.folder.mkdir()
        (self.folder / "a.tar.gz").write_bytes(b"no archive")
        for arguments in (
            ["--pack", str(self.folder)],
            ["--pack", str(self.folder / "nowhere")],
            ["--pack", str(self.folder), "--wait"],
            [],
        ):
            with pytest.raises(CommandError) as caught:
                call_command("sweep", *arguments)
            assert caught.value.returncode == 2, arguments
        with pytest.raises(CommandError, match="asked no question") as caught:
            call_command("export_pack", str(self.sweep.pk), "--question", "nobody", "--out", str(self.folder))
        assert caught.value.returncode == 2

    def test_damaged_fixture_is_refused_by_its_place(self) -> None:
        files = archive.unpack(regression_fixture(OPERATOR, self.sweep, "how-many").data, "fixture")
        told = parse_canonical(files[REPLAY])
        for broken in (
            {**told, "format": "other/1"},
            {**told, "question": "saw"},
            {**told, "expected": {"window-48-0": {"1/4": {"budget:130": "11"}}}},
            {name: value for name, value in told.items() if name != "plan"},
        ):
            with pytest.raises(BadInput, match="fixture"):
                read_fixture(archive.pack({**files, REPLAY: canonical_bytes(broken)}), "fixture")
        without = {name: data for name, data in files.items() if not name.startswith("sources/")}
        with pytest.raises(BadInput, match="lacks"):
            read_fixture(archive.pack(without), "fixture")

    def test_only_who_may_export_and_read_the_sources_gets_a_fixture(self) -> None:
        study = self.sweep.plan.study
        with pytest.raises(NotAllowed):
            regression_fixture(make_member(study, Role.OBSERVER), self.sweep, "how-many")
        with pytest.raises(BadInput, match="labels"):
            regression_fixture(make_member(study, Role.LEAD), self.sweep, "alarm")
        cleared = make_member(study, Role.LEAD, clearance=["staff", "keys"])
        assert read_fixture(regression_fixture(cleared, self.sweep, "alarm").data, "fixture")

    def test_replay_under_its_own_plan_loses_nothing_and_notes_nothing(self) -> None:
        fixture = read_fixture(regression_fixture(OPERATOR, self.sweep, "saw").data, "fixture")
        assert replay(fixture).holds
        self.folder.mkdir()
        (self.folder / "saw.tar.gz").write_bytes(regression_fixture(OPERATOR, self.sweep, "saw").data)
        (found,) = replay_pack(self.folder, parse_plan(PLAN))
        assert {one.arm for one in found.regressed} <= {"window-48-0"}


@pytest.mark.django_db
def test_sweep_that_is_not_sealed_gives_no_fixture() -> None:
    with pytest.raises(NotSealed):
        regression_fixture(OPERATOR, make_sweep(), "how-many")


def test_flags_survive_writing_and_the_first_lost_stage_is_named() -> None:
    flags = {"arm": {"1/2": {"budget:10": HELD}, "1/1": {"budget:10": LOST}}}
    assert read_flags(written(flags)) == flags
    early = tuple(number < 2 for number in range(len(STAGES)))
    lost, recovered, count = changes(flags, {"arm": {"1/2": {"budget:10": early}, "1/1": {"budget:10": HELD}}})
    assert [(one.phase, one.stage) for one in lost] == [("1/2", "packed")]
    assert [(one.phase, one.complete) for one in recovered] == [("1/1", True)]
    assert count == 2 * len(STAGES)
    gone, _, _ = changes(flags, {})
    assert {one.phase for one in gone} == {"1/2", "1/1"}


def test_label_the_baseline_never_had_must_hold_only_where_it_held_everywhere() -> None:
    kept = {"1/2": {"v": HELD}, "1/1": {"v": LOST}}
    assert must_keep(kept, "v", ["1/2", "1/1", "1/4"]) == {"1/2": True, "1/1": False, "1/4": False}
    assert must_keep({"1/2": {"v": HELD}}, "v", ["1/4"]) == {"1/4": True}

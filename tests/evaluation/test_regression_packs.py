"""Regression fixtures: what a sweep recorded, taken away with the few sources it needs, and replayed without a
database."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import TestCase

from annotate.domain import archive
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.permissions import OPERATOR, NotAllowed
from evaluation.domain.outcomes import STAGES, AnswerClass
from evaluation.domain.plan_pipeline import Retrieval
from evaluation.domain.plan_toml import parse_plan
from evaluation.domain.regression import REPLAY, WITHOUT_ANSWERS, changes, must_keep, read_flags, written
from evaluation.domain.regression_answers import (
    AnswerSeen,
    AnswersReplayed,
    compare_answers,
    read_answers,
    right_class,
    written_answers,
)
from evaluation.plugins.registry import Kind, Plugin, Registry
from evaluation.services.export_pack import export_pack, lost_questions, regression_fixture
from evaluation.services.observe_question import unreplayable
from evaluation.services.outcome_table import table_of_results
from evaluation.services.problems import NotSealed
from evaluation.services.replay_pack import read_fixture, replay, replay_pack
from ledger.domain.canonical import canonical_bytes, parse_canonical
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_sealed_sweep, make_sweep

HELD, LOST = tuple(True for _ in STAGES), (*(True for _ in STAGES[1:]), False)


def _with_first(answers: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Copy the table with its first answer changed."""
    copy = parse_canonical(canonical_bytes(answers))
    first = next(iter(next(iter(next(iter(copy.values())).values())).values()))
    first.update(values)
    return copy


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
            assert one.answers == AnswersReplayed(compared=2 * 4 * 2), one

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

    def _pack(self, question: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Write a pack of one fixture whose replay.json was changed."""
        files = archive.unpack(regression_fixture(OPERATOR, self.sweep, question).data, "fixture")
        told = parse_canonical(files[REPLAY])
        change(told)
        self.folder.mkdir()
        (self.folder / f"{question}.tar.gz").write_bytes(archive.pack({**files, REPLAY: canonical_bytes(told)}))

    def test_answer_of_another_class_ends_with_1_although_no_support_was_lost(self) -> None:
        self._pack("how-many", lambda told: told["plan"]["generation"].update(abstention_threshold="1"))
        printed, out = StringIO(), self.folder.parent / "out.json"
        with pytest.raises(CommandError, match="Regressed: how-many") as caught:
            call_command("sweep", "--pack", str(self.folder), "--json", str(out), stdout=printed)
        assert caught.value.returncode == 1
        (told,) = json.loads(out.read_text(encoding="utf-8"))["fixtures"]
        assert (told["holds"], told["regressed"], told["answers"]["unreplayable"]) == (False, [], "")
        changed = told["answers"]["regressed"]
        assert {one["now"]["answer_class"] for one in changed} == {"abstained"}
        assert "correct" in {one["was"]["answer_class"] for one in changed}
        # Every place that differs is told by arm, phase and view.
        for one in changed:
            assert f"lost: {one['arm']} at phase {one['phase']}, {one['view']}: the answer is" in printed.getvalue()

    def test_answer_that_became_right_is_a_recovery_and_ends_with_0(self) -> None:
        def spoil(told: dict[str, Any]) -> None:
            for phases in told["answers"].values():
                for views in phases.values():
                    for one in views.values():
                        one.update(answer_class="wrong", attributed=False)

        self._pack("how-many", spoil)
        (found,) = replay_pack(self.folder)
        assert found.holds
        assert found.answers
        assert {one.now.answer_class for one in found.answers.recovered} == {AnswerClass.CORRECT}
        call_command("sweep", "--pack", str(self.folder))

    def test_form_without_answers_replays_its_support_as_before_and_says_what_it_lacks(self) -> None:
        def older(told: dict[str, Any]) -> None:
            told["format"] = WITHOUT_ANSWERS
            told["plan"]["generation"]["abstention_threshold"] = "1"
            del told["answers"], told["generator"]

        self._pack("how-many", older)
        (found,) = replay_pack(self.folder)
        assert (found.holds, found.regressed, found.compared) == (True, (), 2 * 4 * 2 * len(STAGES))
        assert found.answers
        assert "holds none; export it again" in found.answers.unreplayable

    def test_generator_that_is_not_here_is_said_and_support_is_still_compared(self) -> None:
        def foreign(told: dict[str, Any]) -> None:
            told["plan"]["generation"]["generator"] = "their-model"

        self._pack("how-many", foreign)
        printed = StringIO()
        call_command("sweep", "--pack", str(self.folder), stdout=printed)
        said = printed.getvalue()
        assert "answers NOT compared" in said
        assert "the generator their-model is not installed here" in said
        assert "only the support of 1 was compared" in said

    def test_another_plan_must_answer_rightly_where_the_baseline_did(self) -> None:
        self._pack("how-many", lambda told: None)
        silent = PLAN.replace('generator = "extractive"', 'generator = "extractive"\nabstention_threshold = "1"')
        (found,) = replay_pack(self.folder, parse_plan(silent))
        assert found.answers
        assert not found.holds
        assert {one.arm for one in found.answers.regressed} == {"window-48-16", "window-48-0"}
        mute = PLAN.replace('generator = "extractive"', 'generator = "none"')
        mute = mute.replace(
            mute[mute.index("metrics") : mute.index("[hypothesis]")], 'metrics = ["complete-support"]\n'
        )
        (found,) = replay_pack(self.folder, parse_plan(mute))
        assert found.holds
        assert found.answers == AnswersReplayed(unreplayable="this plan has no generator")

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
            {**told, "format": WITHOUT_ANSWERS},
            {**told, "answers": {"window-48-0": told["answers"]["window-48-0"]}},
            {**told, "answers": {**told["answers"], "window-48-0": []}},
            {**told, "answers": _with_first(told["answers"], {"answer_class": "good"})},
            {**told, "answers": _with_first(told["answers"], {"unresolved": "1"})},
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


RIGHT, WRONG = AnswerSeen(AnswerClass.CORRECT, attributed=True), AnswerSeen(AnswerClass.WRONG)
SILENT = AnswerSeen(AnswerClass.ABSTAINED)


@pytest.mark.parametrize(
    ("was", "now", "answerable", "regressed", "recovered"),
    [
        (RIGHT, RIGHT, True, 0, 0),
        (RIGHT, SILENT, True, 1, 0),
        (WRONG, RIGHT, True, 0, 1),
        (WRONG, SILENT, True, 1, 0),
        (WRONG, SILENT, False, 0, 1),
        (SILENT, WRONG, False, 1, 0),
        (AnswerSeen(), WRONG, True, 0, 1),
        (WRONG, AnswerSeen(), True, 1, 0),
        (RIGHT, replace(RIGHT, attributed=False), True, 1, 0),
        (replace(RIGHT, attributed=False), RIGHT, True, 0, 1),
        (RIGHT, replace(RIGHT, unresolved=1), True, 1, 0),
        (replace(WRONG, unresolved=2), replace(WRONG, unresolved=1), True, 0, 1),
        (WRONG, replace(RIGHT, unresolved=1), True, 1, 0),
    ],
)
def test_changed_answer_is_a_regression_unless_it_became_right_or_cites_better(
    was: AnswerSeen, now: AnswerSeen, answerable: bool, regressed: int, recovered: int
) -> None:
    found = compare_answers(
        {"arm": {"1/2": {"v": was}}}, {"arm": {"1/2": {"v": now}}}, right_class(answerable=answerable)
    )
    assert (found.compared, len(found.regressed), len(found.recovered)) == (1, regressed, recovered)


def test_answers_survive_writing_and_a_place_that_is_gone_is_a_regression() -> None:
    answers = {"arm": {"1/2": {"v": RIGHT, "w": replace(WRONG, unresolved=3)}}}
    assert read_answers(parse_canonical(canonical_bytes(written_answers(answers))), answers) == answers
    assert read_answers({}, answers) == {}
    assert len(compare_answers(answers, {}, AnswerClass.CORRECT).regressed) == 2


DECLARED = {
    "sampling": Plugin(Kind.GENERATOR, "sampling", "1", Retrieval, deterministic=False, make=print),
    "frozen-model": Plugin(Kind.GENERATOR, "frozen-model", "1", Retrieval, deterministic=True, make=print),
    "quoting": Plugin(Kind.GENERATOR, "quoting", "1", Retrieval, deterministic=True, make=print, self_contained=True),
}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sampling", "may answer equal input otherwise"),
        ("frozen-model", "needs a model or a service"),
        ("quoting", ""),
        ("absent", "is not installed here"),
    ],
)
def test_only_a_generator_that_repeats_itself_and_needs_nothing_is_replayed(name: str, said: str) -> None:
    registry = Registry({(one.kind, one.name): one for one in DECLARED.values()})
    plan = parse_plan(PLAN)
    found = unreplayable(replace(plan, generation=replace(plan.generation, generator=name)), registry)
    assert said in found
    assert bool(said) is bool(found)


def test_label_the_baseline_never_had_must_hold_only_where_it_held_everywhere() -> None:
    kept = {"1/2": {"v": HELD}, "1/1": {"v": LOST}}
    assert must_keep(kept, "v", ["1/2", "1/1", "1/4"]) == {"1/2": True, "1/1": False, "1/4": False}
    assert must_keep({"1/2": {"v": HELD}}, "v", ["1/4"]) == {"1/4": True}

"""A foreign splitter in a real sweep: results where it keeps the text, a labelled failure where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from annotate.domain.errors import BadInput
from annotate.permissions import OPERATOR
from evaluation.domain.sweep_limits import Prices
from evaluation.models import Attempt, Calibration, Cell, Plan
from evaluation.services.calibrate import calibrate
from evaluation.services.estimate_plan import estimate_text
from evaluation.services.frozen_world import load_world
from evaluation.services.work import drain
from tests.evaluation.sweeps import locked, plan_toml, small_study, started

pytestmark = pytest.mark.django_db

OWN = "tests.evaluation.foreign_splitters"
OURS = 'segmenter = "token-window"\ncapacity = 40\noverlap = 0\nfactor = "overlap"'
THEIRS = 'segmenter = "langchain"\nsplitter = "{}"\nfactor = "segmenter"'


def toml(splitter: str) -> str:
    return plan_toml({OURS: THEIRS.format(splitter)}, grid=2)


@pytest.fixture(autouse=True)
def _own(settings: Any) -> None:
    settings.FOREIGN_SPLITTERS_ALLOWED = [f"{OWN}:{name}" for name in ("Faithful", "Dropping", "Raising", "NoSplitter")]


def test_sound_splitter_runs_as_a_control_without_phases() -> None:
    sweep = started(toml=toml(f"{OWN}:Faithful"))
    drain("w", sweep_id=sweep.pk)
    cells = Cell.objects.filter(sweep=sweep, arm="plain")
    assert {(cell.phase, cell.state) for cell in cells} == {(0, Cell.State.DONE)}


@pytest.mark.parametrize(
    ("name", "said"),
    [("Dropping", "bytes that are not white space alone are in no chunk"), ("Raising", "it raised KeyError")],
)
def test_splitter_that_loses_text_or_raises_leaves_a_labelled_failure_after_one_attempt(name: str, said: str) -> None:
    sweep = started(toml=toml(f"{OWN}:{name}"))
    drain("w", sweep_id=sweep.pk)
    failed = Cell.objects.filter(sweep=sweep, arm="plain")
    assert {cell.state for cell in failed} == {Cell.State.FAILED}
    for cell in failed:
        (attempt,) = Attempt.objects.filter(cell=cell)
        assert f"Arm plain: langchain {OWN}:{name}: document" in attempt.problem
        assert said in attempt.problem
    assert set(Cell.objects.filter(sweep=sweep, arm="overlap").values_list("state", flat=True)) == {Cell.State.DONE}


@pytest.mark.parametrize(
    ("splitter", "said"), [("os:system", "not allow-listed"), (f"{OWN}:NoSplitter", "this adapter runs only those")]
)
def test_plan_whose_arm_cannot_be_built_here_is_not_locked(splitter: str, said: str) -> None:
    with pytest.raises(BadInput, match=rf"arms\[1\] “plain”: it cannot run here\. .*{said}"):
        locked(small_study(), toml(splitter))
    assert not Plan.objects.exclude(locked_at=None).exists()


@pytest.mark.parametrize("name", ["Dropping", "Raising"])
def test_estimate_refuses_chunks_that_are_not_the_text_before_anything_is_kept(name: str) -> None:
    fixture_set, text = small_study(), toml(f"{OWN}:{name}")
    with pytest.raises(BadInput, match="arm plain: its chunks are not the sources' text"):
        estimate_text(OPERATOR, fixture_set, text, Prices())
    with pytest.raises(BadInput, match="arm plain: its chunks are not the sources' text"):
        calibrate(load_world(locked(fixture_set, text)))
    assert not Calibration.objects.exists()

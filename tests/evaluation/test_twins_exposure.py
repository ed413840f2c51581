"""What a cell's records expose is read for the guarded questions alone, and for the block where it belongs to none."""

from __future__ import annotations

import hashlib

import pytest

from evaluation.domain.rendering import prompt_head
from evaluation.models import Plan
from evaluation.services.cell_exposure import Exposure, UnreadablePrompt, exposures
from evaluation.services.frozen_world import World, load_world
from evaluation.services.pipeline_of import pipeline_settings
from tests.evaluation.guarded_study import guarded_study, guarded_toml
from tests.evaluation.sweeps import locked

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    plan: Plan = locked(guarded_study(), guarded_toml())
    return load_world(plan)


def test_columns_belong_to_their_questions_and_everything_else_to_the_block(world: World) -> None:
    asked = world.asked[:3]
    record = {
        "view": "budget:90",
        "generator": {"generator": "extractive", "note": "shared words"},
        "text": ["answer of the first", "answer of the second", "answer of the third"],
        "extracts": [[[1, 0, 3, 9]], [[1, 1, 4, 8], [2, 0, 1, 2]], []],
        "prompts": [],
    }
    found = list(exposures(world, asked, [1], None, {"answer/budget:90": record}))
    assert Exposure(1, "extracts of budget:90", places=((1, 4, 8), (0, 1, 2))) in found
    assert Exposure(1, "answer/budget:90, text", texts=(b"answer of the second",)) in found
    assert (
        Exposure(-1, "answer/budget:90, generator", texts=(b"generator", b"extractive", b"note", b"shared words"))
        in found
    )
    assert {one.index for one in found} == {1, -1}
    assert list(exposures(world, asked, [0], None, {"answer/v": {"view": "v", "extracts": [], "text": []}})) == [
        Exposure(-1, "answer/v, view", texts=(b"v",))
    ]


def test_failed_cell_exposes_its_label_alone(world: World) -> None:
    record = {"label": "infrastructure failure", "questions": [one.question_id for one in world.asked[:2]]}
    found = list(exposures(world, world.asked[:2], [0, 1], None, {"failure": record}))
    assert [one.texts for one in found if one.index == -1] == [(b"infrastructure failure",)]


def test_oracle_prompt_is_rebuilt_and_compared_with_the_one_that_was_sent(world: World) -> None:
    asked = world.asked[:2]
    record = {
        "view": "oracle:90",
        "units": [2, 1],
        "intervals": [0, 0, 5, 1, 2, 9, 0, 3, 12],
        "prompts": ["", ""],
    }
    shown = [one for one in exposures(world, asked, [1], None, {"oracle/oracle:90": record}) if one.places]
    head = prompt_head(pipeline_settings(world.plan), asked[1])
    prompt = head + b"[1] " + world.prepared.documents[0].content[3:12] + b"\n\n"
    assert shown == [Exposure(1, "prompt of oracle:90", ((0, 3, 12),), (prompt,))]
    sent = {**record, "prompts": ["", hashlib.sha256(prompt).hexdigest()]}
    assert any(one.places for one in exposures(world, asked, [1], None, {"oracle/oracle:90": sent}))
    other = {**record, "prompts": ["", hashlib.sha256(prompt + b" ").hexdigest()]}
    with pytest.raises(UnreadablePrompt, match=asked[1].question_id):
        list(exposures(world, asked, [1], None, {"oracle/oracle:90": other}))

"""A configuration that cannot give chunks is refused, naming the field and the mend; plans build every segmenter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evaluation.domain.chunk_id import transformation_version
from evaluation.domain.chunks import Segmenter
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.plan_words import ArmRole, Tails
from evaluation.domain.segmenters.characters import CharacterWindow
from evaluation.domain.segmenters.code import CodeAware
from evaluation.domain.segmenters.config import SegmenterConfigError
from evaluation.domain.segmenters.headings import HeadingAware
from evaluation.domain.segmenters.recursive import Recursive
from evaluation.domain.segmenters.sentences import SentencePacking
from evaluation.domain.segmenters.tables import TableAware
from evaluation.domain.segmenters.words import WordWindow
from evaluation.plugins import shipped_segmenters
from evaluation.plugins.registry import SHIPPED, Kind, Plugin

PLUGINS = {
    one.name: one for one in vars(shipped_segmenters).values() if isinstance(one, Plugin) and one.kind is Kind.SEGMENTER
}
CLASSES: dict[str, Any] = {
    "characters": CharacterWindow,
    "words": WordWindow,
    "sentences": SentencePacking,
    "recursive": Recursive,
    "headings": HeadingAware,
    "tables": TableAware,
    "code": CodeAware,
}


def arm(segmenter: str, **settings: Any) -> Arm:
    unit = segmenter if segmenter in ("characters", "words") else "tokens"
    return Arm("a", ArmRole.BASELINE, segmenter, **{"capacity": 64, "overlap": 16, "unit": unit, **settings})


@pytest.mark.parametrize("name", sorted(CLASSES))
@pytest.mark.parametrize(
    ("capacity", "overlap", "tails", "named"),
    [
        (5, 5, "keep", "overlap must be smaller than capacity"),
        (10, 11, "keep", "overlap must be smaller than capacity"),
        (0, 0, "keep", "capacity must be at least 1"),
        (10, -1, "keep", "overlap must not be negative"),
        (True, 0, "keep", "capacity must be a whole number"),
        (10, False, "keep", "overlap must be a whole number"),
        (10.0, 0, "keep", "capacity must be a whole number"),
        (10, 0, "maybe", "tails must be 'keep' or 'drop'"),
    ],
)
def test_sizes_that_cannot_cut_are_refused(name: str, capacity: Any, overlap: Any, tails: str, named: str) -> None:
    with pytest.raises(SegmenterConfigError, match=f"^{name}: {named}"):
        CLASSES[name](capacity, overlap, tails)


@pytest.mark.parametrize(
    ("segmenter", "settings", "named"),
    [
        ("characters", {"unit": "tokens"}, "unit must be 'characters'"),
        ("words", {"unit": "sentences"}, "unit must be 'words'"),
        ("sentences", {"unit": "characters"}, "unit must be 'tokens' or 'sentences'"),
        ("recursive", {"unit": "words"}, "unit must be 'tokens' or 'characters'"),
        ("headings", {"unit": "words"}, "unit must be 'tokens'"),
        ("tables", {"unit": "sentences"}, "unit must be 'tokens'"),
        ("code", {"unit": "characters"}, "unit must be 'tokens'"),
        ("sentences", {"language": "tlh"}, "language 'tlh' has no sentence rules; use one of ar, de"),
        ("code", {"language": "cobol"}, "language 'cobol' has no symbol rules; use one of c, cpp"),
        ("recursive", {"separators": ("\n", "")}, "separators must be a list of texts, none of them empty"),
        ("recursive", {"separators": ("\n", "\n")}, "separators repeat one"),
        ("headings", {"options": '{"secondary": "words"}'}, "secondary must be 'recursive' or 'tokens'"),
        ("headings", {"options": '{"second": "tokens"}'}, "options name the unknown setting 'second'; it knows second"),
        ("headings", {"options": '{"secondary": 1}'}, "secondary must be 'recursive' or 'tokens', got 1"),
        ("sentences", {"options": '{"shift_every": 1}'}, "shift_every must be a whole number from 2 on, got 1"),
        ("code", {"options": '{"shift_every": true}'}, "shift_every must be a whole number from 2 on, got True"),
        ("recursive", {"options": '{"shift_every": -4}'}, "shift_every must be a whole number from 2 on, got -4"),
        ("tables", {"options": '{"shift_every": "4"}'}, "shift_every must be a whole number from 2 on, got '4'"),
        ("sentences", {"unit": "sentences", "options": '{"shift_every": 4}'}, "shift_every belongs to unit 'tokens'"),
        ("code", {"options": '{"x": "y"}'}, "options name the unknown setting 'x'; it knows shift_every"),
        ("words", {"options": '{"x": "y"}'}, "options name the unknown setting 'x'; it has none; drop them"),
        ("tables", {"options": "[]"}, "options must be a JSON object"),
        ("words", {"options": "{"}, "options must be a JSON object"),
        ("sentences", {"overlap": 64}, "overlap must be smaller than capacity"),
    ],
)
def test_arm_a_segmenter_cannot_follow_is_refused(segmenter: str, settings: dict[str, Any], named: str) -> None:
    with pytest.raises(SegmenterConfigError, match=f"^{segmenter}: {named}"):
        PLUGINS[segmenter].make(arm(segmenter, **settings))


@pytest.mark.parametrize("separators", [(), "\n", [1]])
def test_recursive_without_separators_is_refused(separators: Any) -> None:
    with pytest.raises(SegmenterConfigError, match="separators must be a list of texts"):
        Recursive(10, separators=separators)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_plan_builds_every_segmenter_that_ships(name: str) -> None:
    assert SHIPPED[Kind.SEGMENTER, name].startswith("evaluation.plugins.shipped_segmenters.")
    built: Segmenter = PLUGINS[name].make(arm(name, tails=Tails.DROP))
    assert isinstance(built, CLASSES[name])
    assert (built.name, built.version, built.stride) == (name, PLUGINS[name].version, 48)
    described = built.describe()
    assert described["rule"] == built.rule
    assert (described["capacity"], described["overlap"], described["tails"]) == (64, 16, "drop")
    assert all(isinstance(value, str | int) and not isinstance(value, bool) for value in described.values())


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_setting_changes_the_identity_of_a_transformation(name: str) -> None:
    changes: dict[str, Any] = {"capacity": 65, "overlap": 15, "tails": "drop"}
    changes |= {"sentences": {"unit": "sentences", "language": "hi"}, "code": {"language": "rust"}}.get(name, {})
    changes |= {"headings": {"secondary": "tokens", "language": "de"}, "tables": {"language": "de"}}.get(name, {})
    if name == "recursive":
        changes |= {"unit": "characters", "separators": ("lines", "paragraphs"), "language": "zh"}
    base = CLASSES[name](64, 16)
    if name not in ("characters", "words"):
        changes["shift_every"] = 4
        assert PLUGINS[name].make(arm(name, options='{"shift_every": 4}')).shift_every == 4
    identities = {transformation_version(base.describe(), "0" * 64)}
    for field, value in changes.items():
        identities.add(transformation_version(replace(base, **{field: value}).describe(), "0" * 64))
    assert len(identities) == len(changes) + 1

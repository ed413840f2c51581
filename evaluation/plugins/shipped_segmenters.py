"""Declarations of the segmenters that ship beside the token window."""

from __future__ import annotations

import json
from typing import Any

from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.plan_schema import SettingUse
from evaluation.domain.segmenters.characters import CharacterWindow
from evaluation.domain.segmenters.code import CodeAware
from evaluation.domain.segmenters.config import SegmenterConfigError, check_unit
from evaluation.domain.segmenters.headings import HeadingAware
from evaluation.domain.segmenters.recursive import Recursive
from evaluation.domain.segmenters.sentences import SentencePacking
from evaluation.domain.segmenters.separators import NAMED
from evaluation.domain.segmenters.tables import TableAware
from evaluation.domain.segmenters.words import WordWindow
from evaluation.plugins.registry import Kind, Plugin


def _characters(arm: Arm) -> CharacterWindow:
    check_unit("characters", arm.unit, ("characters",))
    _options(arm)
    return CharacterWindow(arm.capacity, arm.overlap, str(arm.tails))


def _words(arm: Arm) -> WordWindow:
    check_unit("words", arm.unit, ("words",))
    _options(arm)
    return WordWindow(arm.capacity, arm.overlap, str(arm.tails))


def _sentences(arm: Arm) -> SentencePacking:
    every = _shift(_options(arm, "shift_every"))
    return SentencePacking(arm.capacity, arm.overlap, str(arm.tails), arm.unit, arm.language, every)


def _recursive(arm: Arm) -> Recursive:
    every = _shift(_options(arm, "shift_every"))
    separators = arm.separators or NAMED
    return Recursive(arm.capacity, arm.overlap, str(arm.tails), arm.unit, separators, arm.language, every)


def _headings(arm: Arm) -> HeadingAware:
    check_unit("headings", arm.unit, ("tokens",))
    options = _options(arm, "secondary", "shift_every")
    secondary = options.get("secondary", "recursive")
    return HeadingAware(arm.capacity, arm.overlap, str(arm.tails), arm.language, _shift(options), secondary)


def _tables(arm: Arm) -> TableAware:
    check_unit("tables", arm.unit, ("tokens",))
    every = _shift(_options(arm, "shift_every"))
    return TableAware(arm.capacity, arm.overlap, str(arm.tails), arm.language, every)


def _code(arm: Arm) -> CodeAware:
    check_unit("code", arm.unit, ("tokens",))
    every = _shift(_options(arm, "shift_every"))
    return CodeAware(arm.capacity, arm.overlap, str(arm.tails), arm.language, every)


def _shift(options: dict[str, Any]) -> int:
    """The period of the shift; what is no whole number is left for the segmenter to refuse."""
    every: int = options.get("shift_every", 0)
    return every


def _options(arm: Arm, *known: str) -> dict[str, Any]:
    """The arm's own settings, which must be among `known`. Raises `SegmenterConfigError` for anything else."""
    try:
        given = json.loads(arm.options or "{}")
    except (ValueError, RecursionError) as error:
        raise SegmenterConfigError(f"{arm.segmenter}: options must be a JSON object such as {{}}: {error}") from error
    if not isinstance(given, dict):
        raise SegmenterConfigError(f"{arm.segmenter}: options must be a JSON object, got {arm.options!r}")
    unknown = sorted(set(given) - set(known))
    if unknown:
        knows = f"it knows {', '.join(known)}" if known else "it has none; drop them"
        raise SegmenterConfigError(f"{arm.segmenter}: options name the unknown setting {unknown[0]!r}; {knows}")
    return given


_SIZES = frozenset({"capacity", "overlap", "tails"})
_STRUCTURAL = SettingUse(_SIZES | {"language", "options"}, units=frozenset({"tokens"}))

CHARACTERS = Plugin(
    Kind.SEGMENTER,
    "characters",
    "1",
    CharacterWindow,
    deterministic=True,
    make=_characters,
    use=SettingUse(_SIZES, units=frozenset({"characters"})),
)
WORDS = Plugin(
    Kind.SEGMENTER,
    "words",
    "1",
    WordWindow,
    deterministic=True,
    make=_words,
    use=SettingUse(_SIZES, units=frozenset({"words"})),
)
SENTENCES = Plugin(
    Kind.SEGMENTER,
    "sentences",
    "1",
    SentencePacking,
    deterministic=True,
    make=_sentences,
    use=SettingUse(_SIZES | {"language", "options"}, units=frozenset({"tokens", "sentences"})),
)
RECURSIVE = Plugin(
    Kind.SEGMENTER,
    "recursive",
    "1",
    Recursive,
    deterministic=True,
    make=_recursive,
    use=SettingUse(_SIZES | {"separators", "language", "options"}, units=frozenset({"tokens", "characters"})),
)
HEADINGS = Plugin(
    Kind.SEGMENTER,
    "headings",
    "1",
    HeadingAware,
    deterministic=True,
    make=_headings,
    use=_STRUCTURAL,
)
TABLES = Plugin(Kind.SEGMENTER, "tables", "1", TableAware, deterministic=True, make=_tables, use=_STRUCTURAL)
CODE = Plugin(Kind.SEGMENTER, "code", "1", CodeAware, deterministic=True, make=_code, use=_STRUCTURAL)

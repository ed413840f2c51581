"""One table of plug-ins; third parties only when allow-listed."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from evaluation.domain.bm25 import Bm25
from evaluation.domain.plan_pipeline import Arm, Generation, Retrieval
from evaluation.domain.plan_words import ArmRole, Tails
from evaluation.domain.retrieval.lexical import Bm25Retriever
from evaluation.domain.segmenters.token_window import SegmenterConfigError, TokenWindow
from evaluation.plugins.registry import GROUP, SHIPPED, Kind, Plugin, PluginError, build_registry
from tests.evaluation.engine_world import Analyser

FOREIGN = Plugin(
    Kind.SEGMENTER, "foreign", "3", TokenWindow, deterministic=True, make=lambda arm: TokenWindow(arm.capacity)
)
TAKEN = Plugin(Kind.SEGMENTER, "token-window", "9", TokenWindow, deterministic=True, make=lambda arm: None)
NO_PLUGIN = "just text"


def point(name: str, attribute: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{attribute}", GROUP)


def test_everything_that_ships_loads_and_declares_itself() -> None:
    registry = build_registry(offered=())
    for kind, name in SHIPPED:
        plugin = registry.get(kind, name)
        assert (plugin.kind, plugin.name) == (kind, name)
        assert plugin.version
    assert registry.get(Kind.RETRIEVER, "bm25").top_k_unit == "raw-candidates"


def test_shipped_plugins_build_from_the_parts_of_a_plan() -> None:
    registry = build_registry(offered=())
    arm = Arm("a", ArmRole.BASELINE, "token-window", 256, 64, Tails.DROP)
    assert registry.get(Kind.SEGMENTER, "token-window").make(arm) == TokenWindow(256, 64, "drop")
    assert registry.get(Kind.RETRIEVER, "bm25").make(
        Retrieval("bm25", 50, k1="0.9", b="0.4"), Analyser()
    ) == Bm25Retriever(Bm25(0.9, 0.4))
    generator = registry.get(Kind.GENERATOR, "extractive").make(Generation("extractive", "0.25"), Analyser())
    assert (generator.name, generator.threshold) == ("extractive", "0.25")
    assert registry.get(Kind.GENERATOR, "none").make(Generation("none"), Analyser()) is None
    with pytest.raises(SegmenterConfigError):
        registry.get(Kind.SEGMENTER, "token-window").make(Arm("a", ArmRole.BASELINE, "token-window", 5, 5))


def test_entry_point_is_loaded_only_when_allow_listed() -> None:
    offered = [point("foreign", "FOREIGN"), point("broken", "DOES_NOT_EXIST")]
    assert "foreign" not in build_registry(offered=offered).names(Kind.SEGMENTER)
    allowed = build_registry(["foreign"], offered)
    assert allowed.get(Kind.SEGMENTER, "foreign").version == "3"
    assert "foreign" in (allowed.known_names().segmenters or ())


@pytest.mark.parametrize(
    ("allowed", "offered", "said"),
    [
        (["absent"], [], "no installed package offers it"),
        (["text"], [point("text", "NO_PLUGIN")], "not a Plugin"),
        (["taken"], [point("taken", "TAKEN")], "takes the name"),
        (["twice"], [point("twice", "FOREIGN"), point("twice", "FOREIGN")], "two installed packages"),
    ],
)
def test_allow_listed_plugin_that_cannot_be_used_is_refused(
    allowed: list[str], offered: list[EntryPoint], said: str
) -> None:
    with pytest.raises(PluginError, match=said):
        build_registry(allowed, offered)


def test_unknown_plugin_names_what_there_is_and_the_table_is_frozen() -> None:
    registry = build_registry(offered=())
    with pytest.raises(PluginError, match=r"no generator named 'gpt'; known are: extractive, none"):
        registry.get(Kind.GENERATOR, "gpt")
    with pytest.raises(TypeError):
        registry.plugins[Kind.SEGMENTER, "x"] = FOREIGN  # type: ignore[index]


def test_plugin_without_name_version_or_config_is_refused() -> None:
    with pytest.raises(PluginError, match="name and a version"):
        Plugin(Kind.SEGMENTER, "x", "", TokenWindow, deterministic=True, make=print)
    with pytest.raises(PluginError, match="config must be a dataclass"):
        Plugin(Kind.SEGMENTER, "x", "1", int, deterministic=True, make=print)

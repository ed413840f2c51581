"""The plug-ins a plan may name: one explicit table of what ships, and entry points that are allow-listed.

`build_registry` is called once when the process starts; the result cannot be changed. A third party offers a `Plugin`
under the entry-point group `cutline.plugins`; its entry-point name must be in the allow-list (the setting
`PLUGINS_ALLOWED`), else it is not even imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from evaluation.domain.plan_schema import INSTALL, KnownNames, SettingUse

GROUP = "cutline.plugins"


class Kind(StrEnum):
    """What a plug-in can be."""

    SEGMENTER = "segmenter"
    RETRIEVER = "retriever"
    RERANKER = "reranker"
    EXPANSION = "expansion"
    PACKER = "packer"
    GENERATOR = "generator"
    JUDGE = "judge"


class PluginError(ValueError):
    """A plug-in that is unknown, not allowed, or does not declare what it must."""


@dataclass(frozen=True)
class Plugin:
    """A declared plug-in. `make` builds the implementation: a segmenter from the plan's `Arm`, a retriever from its
    `Retrieval` and the analyser, a reranker from its `Reranking`, an expansion from its `Recovery`, a generator from
    its `Generation` and the analyser.

    `config` is its configuration dataclass; `top_k_unit` is what its k counts ("" where it has none). `use` says which
    settings of a plan it reads and needs; a plan that sets another one is refused (None: any setting may be given).
    `self_contained` says that it needs nothing that is not installed with it, no model and no service: only then a
    replayed regression fixture asks it.
    """

    kind: Kind
    name: str
    version: str
    config: type
    deterministic: bool
    make: Callable[..., Any]
    top_k_unit: str = ""
    use: SettingUse | None = None
    self_contained: bool = False

    def __post_init__(self) -> None:
        if not self.name or not self.version:
            raise PluginError(f"plug-in {self.name!r} of kind {self.kind} must declare a name and a version")
        if not is_dataclass(self.config):
            raise PluginError(f"plug-in {self.name!r}: config must be a dataclass, got {self.config!r}")


#: Everything that ships: (kind, name) → dotted path of its `Plugin`.
SHIPPED: Mapping[tuple[Kind, str], str] = MappingProxyType(
    {
        (Kind.SEGMENTER, "token-window"): "evaluation.plugins.shipped.TOKEN_WINDOW",
        (Kind.SEGMENTER, "characters"): "evaluation.plugins.shipped_segmenters.CHARACTERS",
        (Kind.SEGMENTER, "words"): "evaluation.plugins.shipped_segmenters.WORDS",
        (Kind.SEGMENTER, "sentences"): "evaluation.plugins.shipped_segmenters.SENTENCES",
        (Kind.SEGMENTER, "recursive"): "evaluation.plugins.shipped_segmenters.RECURSIVE",
        (Kind.SEGMENTER, "headings"): "evaluation.plugins.shipped_segmenters.HEADINGS",
        (Kind.SEGMENTER, "tables"): "evaluation.plugins.shipped_segmenters.TABLES",
        (Kind.SEGMENTER, "code"): "evaluation.plugins.shipped_segmenters.CODE",
        (Kind.SEGMENTER, "langchain"): "evaluation.plugins.shipped_foreign.LANGCHAIN",
        (Kind.SEGMENTER, "llama-index"): "evaluation.plugins.shipped_foreign.LLAMA_INDEX",
        (Kind.SEGMENTER, "chonkie"): "evaluation.plugins.shipped_foreign.CHONKIE",
        (Kind.SEGMENTER, "chunk-dump"): "evaluation.plugins.shipped_foreign.CHUNK_DUMP",
        (Kind.RETRIEVER, "bm25"): "evaluation.plugins.shipped.BM25",
        (Kind.RETRIEVER, "lsa"): "evaluation.plugins.shipped_retrieval.LSA",
        (Kind.RETRIEVER, "hybrid"): "evaluation.plugins.shipped_retrieval.HYBRID",
        (Kind.RETRIEVER, "http"): "evaluation.plugins.shipped_retrieval.HTTP",
        (Kind.RERANKER, "mmr"): "evaluation.plugins.shipped_retrieval.MMR",
        (Kind.RERANKER, "none"): "evaluation.plugins.shipped.NO_RERANKER",
        (Kind.EXPANSION, "none"): "evaluation.plugins.shipped_recovery.NO_RECOVERY",
        (Kind.EXPANSION, "sentence-window"): "evaluation.plugins.shipped_recovery.SENTENCE_WINDOW",
        (Kind.EXPANSION, "neighbours"): "evaluation.plugins.shipped_recovery.NEIGHBOURS",
        (Kind.EXPANSION, "parent"): "evaluation.plugins.shipped_recovery.PARENT",
        (Kind.EXPANSION, "auto-merge"): "evaluation.plugins.shipped_recovery.AUTO_MERGE",
        (Kind.GENERATOR, "none"): "evaluation.plugins.shipped.NO_GENERATOR",
        (Kind.GENERATOR, "extractive"): "evaluation.plugins.shipped.EXTRACTIVE",
    }
)


@dataclass(frozen=True)
class Registry:
    """Frozen table of plug-ins."""

    plugins: Mapping[tuple[Kind, str], Plugin]

    def get(self, kind: Kind, name: str) -> Plugin:
        """The plug-in of that kind and name. Raises `PluginError` with the names there are."""
        found = self.plugins.get((kind, name))
        if found is None:
            known = ", ".join(self.names(kind)) or "none"
            raise PluginError(f"there is no {kind} named {name!r}; known are: {known}. {INSTALL}")
        return found

    def names(self, kind: Kind) -> tuple[str, ...]:
        """Names of a kind, sorted."""
        return tuple(sorted(name for known, name in self.plugins if known is kind))

    def known_names(self) -> KnownNames:
        """The names a plan is checked against."""
        return KnownNames(
            segmenters=frozenset(self.names(Kind.SEGMENTER)),
            retrievers=frozenset(self.names(Kind.RETRIEVER)),
            rerankers=frozenset(self.names(Kind.RERANKER)),
            generators=frozenset(self.names(Kind.GENERATOR)),
            uses={f"{kind}s": self._uses(kind) for kind in (Kind.SEGMENTER, Kind.RETRIEVER, Kind.RERANKER)},
        )

    def _uses(self, kind: Kind) -> dict[str, SettingUse]:
        return {name: one.use for (known, name), one in self.plugins.items() if known is kind and one.use is not None}


def build_registry(allowed: Iterable[str] = (), offered: Iterable[EntryPoint] | None = None) -> Registry:
    """Everything that ships plus the allow-listed entry points among `offered` (default: those installed).

    Raises `PluginError` for an allow-listed name nobody offers, one offered twice, an entry point that is no
    `Plugin`, or one that takes the name of another plug-in.
    """
    plugins = {key: _load_shipped(key, path) for key, path in SHIPPED.items()}
    wanted = sorted(set(allowed))
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP) if offered is None else offered:
        if point.name in wanted and point.name in points:
            raise PluginError(f"two installed packages offer the plug-in {point.name!r}; remove one")
        points[point.name] = point
    for name in wanted:
        if name not in points:
            raise PluginError(f"the allow-list names the plug-in {name!r}, but no installed package offers it")
        plugin = points[name].load()
        if not isinstance(plugin, Plugin):
            raise PluginError(
                f"entry point {name!r} ({points[name].value}) is not a Plugin but {type(plugin).__name__}"
            )
        if (plugin.kind, plugin.name) in plugins:
            raise PluginError(f"entry point {name!r} takes the name of the {plugin.kind} {plugin.name!r}; rename it")
        plugins[plugin.kind, plugin.name] = plugin
    return Registry(MappingProxyType(plugins))


def _load_shipped(key: tuple[Kind, str], path: str) -> Plugin:
    module, _, attribute = path.rpartition(".")
    plugin = getattr(import_module(module), attribute)
    if not isinstance(plugin, Plugin) or (plugin.kind, plugin.name) != key:
        raise PluginError(f"{path} is not the {key[0]} {key[1]!r} the table says it is")
    return plugin

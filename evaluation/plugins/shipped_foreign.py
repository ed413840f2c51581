"""Declarations of the adapters for chunks that others make."""

from __future__ import annotations

from collections.abc import Callable

from evaluation.domain.chunks import Segmenter
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.plan_schema import SettingUse
from evaluation.plugins.foreign import chonkie, chunk_dump, langchain, llama_index
from evaluation.plugins.foreign.deferred import Deferred
from evaluation.plugins.foreign.dump_reading import DumpOptions
from evaluation.plugins.foreign.loading import ForeignOptions
from evaluation.plugins.registry import Kind, Plugin

_SPLITTER = SettingUse(frozenset({"splitter", "options", "uncovered"}), needs=frozenset({"splitter"}))
_DUMP = SettingUse(
    frozenset({"chunks", "chunks_digest", "options", "uncovered"}), needs=frozenset({"chunks", "chunks_digest"})
)


def _deferred(build: Callable[[Arm], Segmenter]) -> Callable[[Arm], Deferred]:
    return lambda arm: Deferred(arm, build)


LANGCHAIN = Plugin(
    Kind.SEGMENTER, "langchain", "1", ForeignOptions, deterministic=True, make=_deferred(langchain.make), use=_SPLITTER
)
LLAMA_INDEX = Plugin(
    Kind.SEGMENTER,
    "llama-index",
    "1",
    ForeignOptions,
    deterministic=True,
    make=_deferred(llama_index.make),
    use=_SPLITTER,
)
CHONKIE = Plugin(
    Kind.SEGMENTER, "chonkie", "1", ForeignOptions, deterministic=True, make=_deferred(chonkie.make), use=_SPLITTER
)
CHUNK_DUMP = Plugin(
    Kind.SEGMENTER, "chunk-dump", "1", DumpOptions, deterministic=True, make=_deferred(chunk_dump.make), use=_DUMP
)

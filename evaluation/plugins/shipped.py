"""Declarations of the plug-ins that ship; the implementations stand in the domain and beside this file."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.domain.analysis import Analyser
from evaluation.domain.bm25 import Bm25
from evaluation.domain.generation import Generator
from evaluation.domain.plan_pipeline import Arm, Generation, Reranking, Retrieval
from evaluation.domain.plan_schema import SettingUse
from evaluation.domain.retrieval.lexical import Bm25Retriever
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.plugins.extractive import Extractive
from evaluation.plugins.registry import Kind, Plugin


@dataclass(frozen=True)
class NoConfig:
    """A plug-in without settings."""


def _token_window(arm: Arm) -> TokenWindow:
    return TokenWindow(arm.capacity, arm.overlap, str(arm.tails))


def _bm25(retrieval: Retrieval, analyser: Analyser) -> Bm25Retriever:
    # Words are read with the corpus' own analyser, which is this one.
    del analyser
    return Bm25Retriever(Bm25(float(retrieval.k1), float(retrieval.b)))


def _extractive(generation: Generation, analyser: Analyser) -> Generator:
    return Extractive(analyser, threshold=generation.abstention_threshold)


def _none(generation: Generation, analyser: Analyser) -> None:
    del generation, analyser


def _no_reranker(reranking: Reranking) -> None:
    del reranking


_SIZES = frozenset({"capacity", "overlap", "tails"})

TOKEN_WINDOW = Plugin(
    Kind.SEGMENTER,
    "token-window",
    "1",
    TokenWindow,
    deterministic=True,
    make=_token_window,
    use=SettingUse(_SIZES, units=frozenset({"tokens"})),
)
BM25 = Plugin(
    Kind.RETRIEVER,
    "bm25",
    "1",
    Bm25,
    deterministic=True,
    make=_bm25,
    top_k_unit="raw-candidates",
    use=SettingUse(frozenset({"k1", "b"})),
)
NO_RERANKER = Plugin(
    Kind.RERANKER, "none", "1", NoConfig, deterministic=True, make=_no_reranker, use=SettingUse(frozenset())
)
EXTRACTIVE = Plugin(
    Kind.GENERATOR, "extractive", "1", Extractive, deterministic=True, make=_extractive, self_contained=True
)
NO_GENERATOR = Plugin(Kind.GENERATOR, "none", "1", NoConfig, deterministic=True, make=_none)

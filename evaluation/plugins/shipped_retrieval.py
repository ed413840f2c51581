"""Declarations of the retrievers beside BM25, and of the reranker for novelty."""

from __future__ import annotations

from django.conf import settings

from evaluation.domain.analysis import Analyser
from evaluation.domain.plan_pipeline import Reranking, Retrieval
from evaluation.domain.plan_schema import SettingUse
from evaluation.domain.reranking.mmr import MaximalMarginalRelevance
from evaluation.domain.retrieval.fusion import HybridRetriever
from evaluation.domain.retrieval.latent import LatentRetriever
from evaluation.plugins.http_retriever import HttpRetriever
from evaluation.plugins.http_transport import Patience, endpoint
from evaluation.plugins.registry import Kind, Plugin


def _lsa(retrieval: Retrieval, analyser: Analyser) -> LatentRetriever:
    del analyser  # words are read with the corpus' own analyser, which is this one
    return LatentRetriever(retrieval.dimensions)


def _hybrid(retrieval: Retrieval, analyser: Analyser) -> HybridRetriever:
    # Imported here: the frozen registry is made of this very module, and may hold third parties' retrievers too.
    from evaluation.services.plugins import installed_plugins

    plugins = installed_plugins()
    inputs = tuple(plugins.get(Kind.RETRIEVER, name).make(retrieval, analyser) for name in retrieval.fuse)
    return HybridRetriever(inputs, retrieval.rrf_k)


def _http(retrieval: Retrieval, analyser: Analyser) -> HttpRetriever:
    del analyser  # the system has its own
    allowed, tokens = settings.RETRIEVAL_HOSTS_ALLOWED, settings.RETRIEVAL_TOKENS
    return HttpRetriever(
        search=endpoint(retrieval.endpoint, allowed, tokens),
        reindex=endpoint(retrieval.reindex_hook, allowed, tokens) if retrieval.reindex_hook else None,
        patience=Patience(retrieval.timeout_ms, retrieval.attempts),
        full_lists=retrieval.full_lists,
    )


def _mmr(reranking: Reranking) -> MaximalMarginalRelevance:
    return MaximalMarginalRelevance(reranking.relevance)


LSA = Plugin(
    Kind.RETRIEVER,
    "lsa",
    "1",
    LatentRetriever,
    deterministic=True,
    make=_lsa,
    top_k_unit="raw-candidates",
    use=SettingUse(frozenset({"dimensions"})),
)
HYBRID = Plugin(
    Kind.RETRIEVER,
    "hybrid",
    "1",
    HybridRetriever,
    deterministic=True,
    make=_hybrid,
    top_k_unit="raw-candidates",
    use=SettingUse(frozenset({"fuse", "rrf_k"}), needs=frozenset({"fuse"})),
)
HTTP = Plugin(
    Kind.RETRIEVER,
    "http",
    "1",
    HttpRetriever,
    deterministic=False,
    make=_http,
    top_k_unit="raw-candidates",
    use=SettingUse(
        frozenset({"endpoint", "reindex_hook", "timeout_ms", "attempts", "full_lists"}), needs=frozenset({"endpoint"})
    ),
)
MMR = Plugin(
    Kind.RERANKER,
    "mmr",
    "1",
    MaximalMarginalRelevance,
    deterministic=True,
    make=_mmr,
    use=SettingUse(frozenset({"relevance"})),
)

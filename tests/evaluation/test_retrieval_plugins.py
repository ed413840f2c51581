"""What ships is made from the parts of a plan, and the page about retrievers says what is really sent."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.domain.analysis import Analyser
from evaluation.domain.plan_pipeline import Reranking, Retrieval
from evaluation.domain.reranking.mmr import MaximalMarginalRelevance
from evaluation.domain.retrieval.latent import LatentRetriever
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.plugins.http_retriever import HttpRetriever
from evaluation.plugins.http_transport import EndpointRefused, Patience, endpoint
from evaluation.plugins.registry import Kind
from evaluation.services.plugins import installed_plugins
from tests.evaluation.engine_world import corpus, document
from tests.evaluation.retrieval_server import Reply, serving
from tests.evaluation.retrieval_world import build, everything, listed, queries

PAGE = Path(__file__).resolve().parents[2] / "docs" / "retrievers.md"


def made(retrieval: Retrieval) -> Any:
    return installed_plugins().get(Kind.RETRIEVER, retrieval.retriever).make(retrieval, Analyser())


def test_lsa_and_mmr_take_their_settings() -> None:
    assert made(Retrieval("lsa", 50, dimensions=64)) == LatentRetriever(64)
    reranker = installed_plugins().get(Kind.RERANKER, "mmr").make(Reranking("mmr", "0.4"))
    assert reranker == MaximalMarginalRelevance("0.4")


def test_hybrid_makes_its_inputs_from_the_same_settings() -> None:
    hybrid = made(Retrieval("hybrid", 50, k1="0.9", dimensions=32, fuse=("lsa", "bm25"), rrf_k=10))
    described = hybrid.describe()
    assert (described["fuse"], described["rrf_k"]) == ("lsa bm25", 10)
    assert (described["bm25.k1"], described["lsa.dimensions"]) == ("0.9", 32)


def test_http_calls_listed_hosts_only(settings: Any) -> None:
    settings.RETRIEVAL_HOSTS_ALLOWED = []
    plan = Retrieval("http", 50, endpoint="http://127.0.0.1:9/s", timeout_ms=70, attempts=2)
    with pytest.raises(EndpointRefused, match="CUTLINE_RETRIEVAL_HOSTS"):
        made(plan)
    settings.RETRIEVAL_HOSTS_ALLOWED = ["127.0.0.1:9"]
    retriever = made(plan)
    assert (retriever.patience, retriever.reindex, retriever.deterministic) == (Patience(70, 2), None, False)
    assert (retriever.full_lists, made(replace(plan, full_lists=True)).full_lists) == (False, True)
    settings.RETRIEVAL_TOKENS = {"127.0.0.1:9": "s3cret"}
    assert made(replace(plan, reindex_hook="http://127.0.0.1:9/r")).reindex.authorization == "Bearer s3cret"
    with pytest.raises(EndpointRefused, match=r"127\.0\.0\.2"):
        made(Retrieval("http", 50, endpoint="http://127.0.0.1:9/s", reindex_hook="http://127.0.0.2:9/r"))


def shape(value: Any) -> Any:
    """Keys and types of a message, lists by their first item."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value)


def test_examples_of_the_page_are_what_is_sent_and_read() -> None:
    asked, answer, reindexed = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
    first, second = answer["results"][0]["hits"]
    prepared = corpus(document("handbook.md", "# Staff handbook\n\nfee"), document("other.md", "late fee"))
    index = build(prepared, TokenWindow(4096), 4096)
    kept: list[str] = []

    def system(path: str, request: dict[str, Any]) -> Reply:
        if path == "/reindex":
            kept.extend(chunk["id"] for chunk in request["chunks"])
            return Reply({})
        place = {"document": "other.md", "version": prepared.documents[1].digest, "start": 0, "end": 8}
        results = [{"id": request["queries"][0]["id"], "hits": [first | {"id": kept[0]}, second | place]}]
        return Reply({"results": results})

    with serving(system) as server:
        search, hook = (endpoint(server.address(path), ["127.0.0.1"]) for path in ("/search", "/reindex"))
        found = HttpRetriever(search, hook).index(prepared, index).search(queries(["fee"], [everything(2)]), 5)
    assert (listed(found), found.failed) == ([0, 1], ("",))
    (hook_path, hook_request), (search_path, search_request) = server.requests
    assert (hook_path, search_path) == ("/reindex", "/search")
    assert shape(search_request) == shape(asked)
    labels = {"labels": [str]}
    assert shape(hook_request) | {"chunks": [shape(hook_request["chunks"])[0] | labels]} == shape(reindexed)

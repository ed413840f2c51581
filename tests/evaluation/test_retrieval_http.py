"""The HTTP retriever against a real server: every bad behaviour becomes a labelled failure of the questions it hit."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from threading import Thread
from typing import Any

import numpy as np
import pytest

from evaluation.domain.bm25 import Bm25
from evaluation.domain.chunk_id import chunk_ids
from evaluation.domain.frozen import RestrictedRange
from evaluation.domain.hits import Ranked
from evaluation.domain.pipeline import IndexBuild, PreparedCorpus
from evaluation.domain.retrieval.lexical import Bm25Retriever
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.stage_protocols import ReaderMask
from evaluation.plugins import http_retriever, http_transport
from evaluation.plugins.http_retriever import HttpRetriever
from evaluation.plugins.http_transport import Call, EndpointRefused, Patience, endpoint, listening
from tests.evaluation.engine_world import corpus, document
from tests.evaluation.retrieval_server import Reply, RetrievalServer, serving
from tests.evaluation.retrieval_world import build, everything, listed, queries

QUICK = Patience(timeout_ms=2_000, attempts=3, backoff_ms=1)
TEXTS = ("late fee of an item", "deposit kept a week", "return of the item", "fee")


@pytest.fixture(scope="module")
def world() -> tuple[PreparedCorpus, IndexBuild]:
    prepared = corpus(*(document(f"d{i}", text) for i, text in enumerate(TEXTS)))
    return prepared, build(prepared, TokenWindow(4096), 4096)


def ids(world: tuple[PreparedCorpus, IndexBuild]) -> list[str]:
    prepared, index = world
    return chunk_ids(prepared.digest, prepared.documents, index.chunks, index.manifest["transformation"])


def retriever(server: RetrievalServer, patience: Patience = QUICK, **fields: Any) -> HttpRetriever:
    return HttpRetriever(endpoint(server.address(), ["127.0.0.1"]), patience=patience, **fields)


def hits(question: str, *given: Any) -> dict[str, Any]:
    return {"results": [{"id": question, "hits": list(given)}]}


def ask(
    world: tuple[PreparedCorpus, IndexBuild],
    answer: Callable[[str, dict[str, Any]], Reply],
    depth: int = 10,
    **fields: Any,
) -> tuple[Ranked, RetrievalServer, list[Call]]:
    """One question, q0, to a server that answers so; and the tries that were made."""
    calls: list[Call] = []
    with serving(answer) as server, listening(calls):
        asked = retriever(server, **fields)
        found = asked.index(*world).search(queries(["the fee"], [everything(len(TEXTS))]), depth)
    return found, server, calls


def test_hits_by_id_and_by_place_are_ranked_by_score_then_source(world: tuple[PreparedCorpus, IndexBuild]) -> None:
    names = ids(world)
    place = {"document": "d0", "start": 0, "end": len(TEXTS[0])}
    answer = hits("q0", {"id": names[2], "score": 1}, {"id": names[3], "score": 2.5}, {**place, "score": 1.0})
    found, server, calls = ask(world, lambda path, request: Reply(answer))
    assert listed(found) == [3, 0, 2]
    assert found.score[0].tolist() == [2_500_000, 1_000_000, 1_000_000, 0]
    assert (found.candidates.tolist(), found.failed) == ([3], ("",))
    path, request = server.requests[0]
    assert path == "/search"
    assert request == {
        "protocol": "cutline-retrieval/1",
        "build": world[1].digest,
        "k": 10,
        "attempt": 1,
        "queries": [
            {
                "id": "q0",
                "text": "the fee",
                "filters": {"labels": ["staff"], "as_of": "2026-06-01", "locale": "en"},
            }
        ],
    }
    assert [(one.purpose, one.number, one.status, one.outcome) for one in calls] == [("search", 1, 200, "ok")]
    assert not retriever(server).deterministic


PLACE = {"document": "d0", "start": 0, "end": len(TEXTS[0]), "score": 1}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([{"id": "no-such-chunk", "score": 1}], "unknown-id at hit 1"),
        ([{**PLACE, "end": 3}], "unknown-id at hit 1"),
        ([{**PLACE, "document": "d9"}], "unknown-version at hit 1"),
        ([{**PLACE, "version": "0" * 64}], "unknown-id at hit 1"),
        ([{**PLACE, "version": 7}], "unknown-version at hit 1"),
        ([{**PLACE, "start": False}], "wrong-shape at hit 1"),
        ([PLACE, PLACE], "duplicate-id at hit 2"),
        ([{**PLACE, "score": float("nan")}], "score-not-finite at hit 1"),
        ([{**PLACE, "score": float("-inf")}], "score-not-finite at hit 1"),
        ([{**PLACE, "score": 10**400}], "score-too-large at hit 1"),
        ([{**PLACE, "score": 1e12}], "score-too-large at hit 1"),
        ([{**PLACE, "score": True}], "wrong-shape at hit 1"),
        ([{**PLACE, "score": "0.9"}], "wrong-shape at hit 1"),
        ([{"id": 7, "score": 1}], "wrong-shape at hit 1"),
        (["d0"], "wrong-shape at hit 1"),
        ({"d0": 1}, "wrong-shape"),
        (None, "wrong-shape"),
    ],
)
def test_unusable_hits_fail_their_question_and_no_other(
    world: tuple[PreparedCorpus, IndexBuild], given: Any, reason: str
) -> None:
    fine = {"id": ids(world)[1], "score": 3}

    def answer(path: str, request: dict[str, Any]) -> Reply:
        return Reply({"results": [{"id": "q1", "hits": [fine]}, {"id": "q0", "hits": given}]})

    with serving(answer) as server:
        found = retriever(server).index(*world).search(queries(["bad", "good"], [everything(4)]), 10)
    assert found.failed == (reason, "")
    assert (listed(found, 0), listed(found, 1)) == ([], [1])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>busy</html>", "not-json after 1 attempt"),
        (b"", "not-json after 1 attempt"),
        (b"\xff\xfe", "not-json after 1 attempt"),
        (b"[" * 100_000, "not-json after 1 attempt"),
        (b"[]", "wrong-shape"),
        (b'{"results": {"q0": []}}', "wrong-shape"),
        (b'{"results": [[]]}', "wrong-shape"),
        (b'{"results": [{"id": 3, "hits": []}]}', "wrong-shape"),
        (b'{"results": [{"id": "q0", "hits": []}, {"id": "q0", "hits": []}]}', "wrong-shape"),
        (b'{"results": []}', "missing-question"),
    ],
)
def test_answer_of_another_shape_fails_the_questions_it_was_for(
    world: tuple[PreparedCorpus, IndexBuild], body: bytes, reason: str
) -> None:
    found, server, _ = ask(world, lambda path, request: Reply(body))
    assert found.failed == (reason,)
    assert found.count.tolist() == [0]
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_system_is_tried_again_with_a_number_on_each_attempt(
    world: tuple[PreparedCorpus, IndexBuild], status: int
) -> None:
    good = hits("q0", {"id": ids(world)[0], "score": 1})
    found, server, calls = ask(
        world, lambda path, request: Reply(good) if request["attempt"] == 3 else Reply(b"", status)
    )
    assert (listed(found), found.failed) == ([0], ("",))
    assert [request["attempt"] for _, request in server.requests] == [1, 2, 3]
    assert [one.outcome for one in calls] == [f"http-{status}", f"http-{status}", "ok"]


@pytest.mark.parametrize(
    ("status", "reason", "attempts"),
    [(429, "http-429", 3), (500, "http-500", 3), (404, "http-404", 1), (401, "http-401", 1), (302, "redirect", 1)],
)
def test_system_that_stays_away_fails_after_bounded_attempts(
    world: tuple[PreparedCorpus, IndexBuild], status: int, reason: str, attempts: int
) -> None:
    elsewhere = {"Location": "http://127.0.0.2:9/elsewhere"}
    found, server, _ = ask(world, lambda path, request: Reply(b"", status, elsewhere))
    assert found.failed == (f"{reason} after {attempts} attempt{'s' if attempts > 1 else ''}",)
    assert len(server.requests) == attempts
    assert {path for path, _ in server.requests} == {"/search"}


def test_retry_after_is_honoured_and_a_long_one_is_not_waited_for(
    world: tuple[PreparedCorpus, IndexBuild], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = hits("q0", {"id": ids(world)[0], "score": 1})
    _, _, calls = ask(
        world, lambda path, request: Reply(good) if request["attempt"] == 2 else Reply(b"", 429, {"Retry-After": "1"})
    )
    assert [one.outcome for one in calls] == ["http-429", "ok"]
    later = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    for asks in ("3600", later):
        found, server, _ = ask(world, lambda path, request, asks=asks: Reply(b"", 503, {"Retry-After": asks}))
        assert found.failed == ("http-503 after 1 attempt",)
        assert len(server.requests) == 1
    monkeypatch.setattr(http_transport, "MOST_WAIT", 0.001)
    far = f"Mon, 01 Jan {'9' * 30} 00:00:00 GMT"
    for unreadable in ("soon", far, f"Mon, 01 Jan 2030 {'9' * 30}:00:00 GMT"):
        found, server, _ = ask(world, lambda path, request, asks=unreadable: Reply(b"", 503, {"Retry-After": asks}))
        assert found.failed == ("http-503 after 3 attempts",)


@pytest.mark.parametrize("reply", [Reply(b"{}", wait=30), Reply(b"{}" * 400, drip=0.02)])
def test_silent_and_dripping_systems_time_out(world: tuple[PreparedCorpus, IndexBuild], reply: Reply) -> None:
    patience = Patience(timeout_ms=150, attempts=2, backoff_ms=1)
    found, _, calls = ask(world, lambda path, request: reply, patience=patience)
    assert found.failed == ("timeout after 2 attempts",)
    assert [one.outcome for one in calls] == ["timeout", "timeout"]
    assert all(one.status == 0 for one in calls)


def test_system_that_is_not_there_is_unreachable(world: tuple[PreparedCorpus, IndexBuild]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        asked = HttpRetriever(endpoint(f"http://127.0.0.1:{port}/", ["127.0.0.1"]), patience=QUICK)
        found = asked.index(*world).search(queries(["the fee"], [everything(4)]), 10)
    assert found.failed == ("unreachable after 3 attempts",)


def test_answer_larger_than_the_bound_is_not_read(
    world: tuple[PreparedCorpus, IndexBuild], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_transport, "MOST_BYTES", 1000)
    found, _, _ = ask(world, lambda path, request: Reply(b'{"results": []}' + b" " * 2000))
    assert found.failed == ("too-large after 1 attempt",)


def test_too_few_hits_are_a_failure_only_where_full_lists_are_demanded(
    world: tuple[PreparedCorpus, IndexBuild],
) -> None:
    answer = hits("q0", {"id": ids(world)[0], "score": 1})
    found, _, _ = ask(world, lambda path, request: Reply(answer), depth=3)
    assert (found.failed, found.candidates.tolist()) == (("",), [1])
    found, _, _ = ask(world, lambda path, request: Reply(answer), depth=3, full_lists=True)
    assert found.failed == ("too-few-hits: 1 of 3",)
    whole = hits("q0", *({"id": name, "score": 1} for name in ids(world)))
    found, _, _ = ask(world, lambda path, request: Reply(whole), depth=99, full_lists=True)
    assert (found.failed, listed(found)) == (("",), [0, 1, 2, 3])
    found, _, _ = ask(world, lambda path, request: Reply(whole), depth=2)
    assert (listed(found), found.candidates.tolist()) == ([0, 1], [4])


def test_hits_the_reader_may_not_use_are_dropped_and_counted(world: tuple[PreparedCorpus, IndexBuild]) -> None:
    ones = np.ones(4, dtype=np.bool_)
    readable, current, local = ones.copy(), ones.copy(), ones.copy()
    readable[0] = current[1] = local[2] = False
    mask = ReaderMask(readable, current, local, readable & current & local)
    answer = hits("q0", *({"id": name, "score": 9 - i} for i, name in enumerate(ids(world))))
    with serving(lambda path, request: Reply(answer)) as server:
        found = retriever(server).index(*world).search(queries(["fee"], [mask]), 10)
    assert listed(found) == [3]
    counts = (found.candidates, found.denied, found.outdated, found.foreign)
    assert [one.tolist() for one in counts] == [[1], [1], [1], [1]]


def test_questions_go_out_in_bounded_calls(
    world: tuple[PreparedCorpus, IndexBuild], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_retriever, "QUERIES_PER_CALL", 2)
    name = ids(world)[3]

    def answer(path: str, request: dict[str, Any]) -> Reply:
        if request["queries"][0]["id"] == "q2":
            return Reply(b"", 400)
        return Reply({"results": [{"id": one["id"], "hits": [{"id": name, "score": 1}]} for one in request["queries"]]})

    with serving(answer) as server:
        found = retriever(server).index(*world).search(queries(["x"] * 5, [everything(4)]), 10)
    assert found.failed == ("", "", "http-400 after 1 attempt", "http-400 after 1 attempt", "")
    assert found.count.tolist() == [1, 1, 0, 0, 1]
    assert [len(request["queries"]) for _, request in server.requests] == [2, 2, 1]


def test_reindex_hook_gets_every_chunk_of_the_build_with_what_protects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_retriever, "CHUNKS_PER_CALL", 3)
    text = "Open part one. " * 3 + "Zürich: secret part two. " * 3
    secret = text.encode().index(b"Z")
    doc = replace(
        document("d", text, effective_from=date(2026, 1, 1), locale="de"),
        access_labels=frozenset({"staff"}),
        access_ranges=(RestrictedRange(secret, len(text.encode()), frozenset({"board"})),),
    )
    prepared = corpus(doc)
    index = build(prepared, TokenWindow(8, 2), 3)
    kept: dict[str, dict[str, Any]] = {}

    def answer(path: str, request: dict[str, Any]) -> Reply:
        if path == "/reindex":
            kept.update({one["id"]: one for one in request["chunks"]})
            return Reply({})
        found = [{"id": name, "score": 1} for name, one in kept.items() if "secret" in one["text"]]
        return Reply(hits("q0", *found))

    with serving(answer) as server:
        asked = retriever(server, reindex=endpoint(server.address("/reindex"), ["127.0.0.1"]))
        found = asked.index(prepared, index).search(queries(["secret"], [everything(len(index.chunks))]), 50)
    assert list(kept) == chunk_ids(prepared.digest, prepared.documents, index.chunks, index.manifest["transformation"])
    parts = [(request["part"], request["parts"]) for path, request in server.requests if path == "/reindex"]
    assert parts == [(i + 1, len(parts)) for i in range(len(parts))]
    for one in kept.values():
        assert one["text"].encode() == doc.content[one["start"] : one["end"]]
        assert one["labels"] == (["board", "staff"] if one["end"] > secret else ["staff"])
        assert (one["effective_from"], one["effective_to"], one["locale"]) == ("2026-01-01", "", "de")
    assert listed(found)
    searches = json.dumps([request for path, request in server.requests if path == "/search"], ensure_ascii=False)
    assert "Zürich" not in searches


def test_failed_reindex_fails_every_question_and_asks_none(world: tuple[PreparedCorpus, IndexBuild]) -> None:
    with serving(lambda path, request: Reply(b"", 507)) as server:
        asked = retriever(server, reindex=endpoint(server.address("/reindex"), ["127.0.0.1"]))
        found = asked.index(*world).search(queries(["a", "b"], [everything(4)]), 10)
    assert found.failed == ("re-index: http-507 after 3 attempts",) * 2
    assert {path for path, _ in server.requests} == {"/reindex"}


def test_system_that_passes_bm25_through_gives_its_ranks(world: tuple[PreparedCorpus, IndexBuild]) -> None:
    asked = queries(["late fee", "deposit of a week", "zzz"], [everything(4)])
    own = Bm25Retriever(Bm25()).index(*world).search(asked, 10)
    names = ids(world)

    def answer(path: str, request: dict[str, Any]) -> Reply:
        results = []
        for q, one in enumerate(request["queries"]):
            scores = own.score[q, : own.count[q]] / 1e6
            found = [{"id": names[c], "score": float(s)} for c, s in zip(listed(own, q), scores, strict=True)]
            results.append({"id": one["id"], "hits": found[::-1]})
        return Reply({"results": results})

    with serving(answer) as server:
        found = retriever(server).index(*world).search(asked, 10)
    assert found.chunk.tolist() == own.chunk.tolist()
    assert found.score.tolist() == own.score.tolist()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://127.0.0.1:8000/x", "add 127.0.0.1 or 127.0.0.1:8000 to CUTLINE_RETRIEVAL_HOSTS"),
        ("ftp://search.example/x", "write http:// or https://"),
        ("search.example/x", "write http:// or https://"),
        ("http://search.example:70000/", "is no address"),
        ("http://me:secret@search.example/", "user name"),
        ("http://search.example.evil/", "not on the list"),
        ("http://search.example:8443/", "not on the list"),
        ("http://[::1/", "is no address"),
        ("http://search.example:0/", "port 0 is no port"),
        ("http://search.example/a b", "percent-encoded"),
        ("http://search.example/a\r\nX-More: b", "percent-encoded"),
        ("http://search.example/sök", "percent-encoded"),
    ],
)
def test_only_listed_hosts_are_called(address: str, said: str) -> None:
    with pytest.raises(EndpointRefused, match=said) as caught:
        endpoint(address, ["search.example:443", "search.example:80"])
    assert "secret" not in str(caught.value)


def test_listed_host_may_be_named_with_or_without_its_port() -> None:
    assert endpoint("https://search.example/q?x=1", ["search.example"]).path == "/q?x=1"
    assert endpoint("https://search.example", ["search.example:443"]).port == 443
    with pytest.raises(EndpointRefused):
        endpoint("https://search.example", [])


def test_token_goes_to_its_host_alone_and_into_no_description(world: tuple[PreparedCorpus, IndexBuild]) -> None:
    answer = Reply(hits("q0", {"id": ids(world)[0], "score": 1}))
    with serving(lambda path, request: answer) as server:
        here = f"127.0.0.1:{server.port}"
        for tokens in ({here: "s3cret", "127.0.0.1": "other"}, {"127.0.0.1": "Basic czNjcmV0"}, {"localhost": "x"}):
            asked = HttpRetriever(endpoint(server.address(), ["127.0.0.1"], tokens), patience=QUICK)
            found = asked.index(*world).search(queries(["the fee"], [everything(4)]), 10)
            assert found.failed == ("",)
            said = f"{asked!r} {asked.describe()} {found!r}"
            assert "s3cret" not in said
            assert "czNjcmV0" not in said
    assert [one.get("Authorization") for one in server.headers] == ["Bearer s3cret", "Basic czNjcmV0", None]


def test_calls_are_heard_in_their_own_block_and_thread_alone(world: tuple[PreparedCorpus, IndexBuild]) -> None:
    outer: list[Call] = []
    inner: list[Call] = []
    with serving(lambda path, request: Reply(b"", 404)) as server:
        index = retriever(server).index(*world)
        asked = queries(["the fee"], [everything(4)])
        with listening(outer):
            other = Thread(target=index.search, args=(asked, 10))
            other.start()
            other.join()
            with listening(inner):
                index.search(asked, 10)
            index.search(asked, 10)
        index.search(asked, 10)
    assert (len(outer), len(inner), len(server.requests)) == (1, 1, 4)

"""A retriever we do not own, asked over HTTP. `docs/retrievers.md` describes what is sent and what must come back.

The system sees question texts and filters, never a chunk's text, unless the plan names a re-index hook: that one is
sent the chunks of each build with the labels and dates that protect them, so that every phase is really indexed.
Whatever comes back is checked: hits must name chunks of this build, and those the question's reader may not use are
dropped and counted. What cannot be used fails its question with a stable reason; nothing becomes an empty list.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evaluation.domain.chunk_id import chunk_ids
from evaluation.domain.hits import Ranked
from evaluation.domain.stage_protocols import Queries, ReaderMask
from evaluation.plugins.http_transport import CallFailed, Endpoint, Patience, post_json

if TYPE_CHECKING:
    from evaluation.domain.frozen import Document
    from evaluation.domain.pipeline import IndexBuild, PreparedCorpus

PROTOCOL = "cutline-retrieval/1"

#: Questions in one request, and chunks in one part of a re-index.
QUERIES_PER_CALL = 64
CHUNKS_PER_CALL = 500

#: Scores are kept in units of 1e-6; a larger one than this does not fit beside others.
MOST_SCORE = 1e9


class UnusableAnswer(Exception):
    """An answer to one question that cannot be used; the text is a stable reason without a word of the answer."""


@dataclass(frozen=True)
class HttpRetriever:
    """Asks `search` for hits; `reindex`, where given, is sent the chunks of every build first.

    `full_lists` makes a list shorter than both k and the index a failure; else it is only recorded. Every try of a
    request is told to whoever listens (`http_transport.listening`), for the operations records.
    """

    name: ClassVar[str] = "http"
    """Name in the registry."""
    version: ClassVar[str] = "1"
    """Version of the adapter; that of the system behind it is not known."""
    deterministic: ClassVar[bool] = False
    """Nobody knows what stands behind an address."""

    search: Endpoint
    reindex: Endpoint | None = None
    patience: Patience = field(default_factory=Patience)
    full_lists: bool = False

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values, score precision included."""
        return {
            "retriever": self.name,
            "version": self.version,
            "endpoint": f"{self.search.scheme}://{self.search.host}:{self.search.port}{self.search.path}",
            "reindexed": int(self.reindex is not None),
            "timeout_ms": self.patience.timeout_ms,
            "attempts": self.patience.attempts,
            "full_lists": int(self.full_lists),
            "score": "as the system gives it, in units of 1e-6, quantised before ranking",
        }

    def index(self, prepared: PreparedCorpus, build: IndexBuild) -> HttpIndex:
        """Have the chunks of `build` indexed, if there is a hook. A refusal fails every question asked afterwards."""
        names = chunk_ids(prepared.digest, prepared.documents, build.chunks, str(build.manifest["transformation"]))
        broken = ""
        if self.reindex is not None:
            try:
                for part in _parts(prepared, build, names):
                    post_json(self.reindex, part, self.patience, "reindex")
            except CallFailed as error:
                broken = f"re-index: {error}"
        chunks = build.chunks
        spans = zip(chunks.document.tolist(), chunks.start.tolist(), chunks.end.tolist(), strict=True)
        places: dict[tuple[str, str, int, int], int] = {}
        for chunk, (number, start, end) in enumerate(spans):
            document = prepared.documents[number]
            places[document.document_id, document.digest, start, end] = chunk
        versions: dict[str, tuple[str, ...]] = {}
        for document in prepared.documents:
            versions[document.document_id] = (*versions.get(document.document_id, ()), document.digest)
        return HttpIndex(self, build.digest, {name: i for i, name in enumerate(names)}, places, versions, broken)


@dataclass(frozen=True)
class HttpIndex:
    """One build as the system may name its chunks: by id, or by document, version and bytes.

    `versions` are the digests of each document, of which a hit need not name the only one. `broken` says why the system
    has no index of this build.
    """

    retriever: HttpRetriever
    build: str
    by_id: Mapping[str, int]
    by_place: Mapping[tuple[str, str, int, int], int]
    versions: Mapping[str, tuple[str, ...]]
    broken: str = ""

    def search(self, queries: Queries, depth: int) -> Ranked:
        """The first `depth` chunks of each question under its mask; ties by source, then start."""
        total, width = len(queries.texts), min(depth, len(self.by_id))
        chunk = np.full((total, width), -1, dtype=np.int64)
        score = np.zeros((total, width), dtype=np.int64)
        counts = np.zeros((5, total), dtype=np.int64)
        failed = [self.broken] * total
        for begin in range(0, 0 if self.broken else total, QUERIES_PER_CALL):
            asked = range(begin, min(begin + QUERIES_PER_CALL, total))
            try:
                answers = self._ask(queries, asked, depth)
            except CallFailed as error:
                for q in asked:
                    failed[q] = str(error)
                continue
            for q in asked:
                try:
                    hits = self._hits(answers, queries.question_ids[q], depth)
                except UnusableAnswer as error:
                    failed[q] = str(error)
                    continue
                kept, counts[:, q] = _under(queries.masks[int(queries.group[q])], hits, depth)
                chunk[q, : len(kept)] = [found for found, _ in kept]
                score[q, : len(kept)] = [value for _, value in kept]
        count, candidates, denied, outdated, foreign = counts
        return Ranked(chunk, score, count, candidates, denied, outdated, foreign, tuple(failed))

    def _ask(self, queries: Queries, asked: range, depth: int) -> dict[str, Any]:
        """Answers by question id; raises `CallFailed`, also for an answer that is none."""
        body = {
            "protocol": PROTOCOL,
            "build": self.build,
            "k": depth,
            "queries": [
                {
                    "id": queries.question_ids[q],
                    "text": queries.texts[q],
                    "filters": {
                        "labels": sorted(queries.labels[q]),
                        "as_of": queries.as_of[q],
                        "locale": queries.locale[q],
                    },
                }
                for q in asked
            ],
        }
        retriever = self.retriever
        answer = post_json(retriever.search, body, retriever.patience, "search")
        results = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
            raise CallFailed("wrong-shape")
        answers: dict[str, Any] = {}
        for one in results:
            if not isinstance(one.get("id"), str) or one["id"] in answers:
                raise CallFailed("wrong-shape")
            answers[one["id"]] = one.get("hits")
        return answers

    def _hits(self, answers: Mapping[str, Any], question: str, depth: int) -> list[tuple[int, int]]:
        """(chunk, score) of one question in rank order. Raises `UnusableAnswer`."""
        if question not in answers:
            raise UnusableAnswer("missing-question")
        given = answers[question]
        if not isinstance(given, list):
            raise UnusableAnswer("wrong-shape")
        hits: dict[int, int] = {}
        for number, hit in enumerate(given, 1):
            if not isinstance(hit, dict):
                raise UnusableAnswer(f"wrong-shape at hit {number}")
            found = self._chunk(hit, number)
            if found in hits:
                raise UnusableAnswer(f"duplicate-id at hit {number}")
            hits[found] = _score(hit.get("score"), number)
        if self.retriever.full_lists and len(hits) < min(depth, len(self.by_id)):
            raise UnusableAnswer(f"too-few-hits: {len(hits)} of {min(depth, len(self.by_id))}")
        return sorted(hits.items(), key=lambda item: (-item[1], item[0]))

    def _chunk(self, hit: Mapping[str, Any], number: int) -> int:
        if "id" in hit:
            if not isinstance(hit["id"], str):
                raise UnusableAnswer(f"wrong-shape at hit {number}")
            if hit["id"] not in self.by_id:
                raise UnusableAnswer(f"unknown-id at hit {number}")
            return self.by_id[hit["id"]]
        document, start, end = hit.get("document"), hit.get("start"), hit.get("end")
        booleans = isinstance(start, bool) or isinstance(end, bool)
        if not isinstance(document, str) or not isinstance(start, int) or not isinstance(end, int) or booleans:
            raise UnusableAnswer(f"wrong-shape at hit {number}")
        version = hit.get("version")
        if version is None and len(self.versions.get(document, ())) == 1:
            version = self.versions[document][0]
        if not isinstance(version, str):
            raise UnusableAnswer(f"unknown-version at hit {number}")
        place = (document, version, start, end)
        if place not in self.by_place:
            raise UnusableAnswer(f"unknown-id at hit {number}")
        return self.by_place[place]


def _score(given: Any, number: int) -> int:
    """A score in units of 1e-6; JSON's NaN and Infinity arrive as floats, and 1e999 as infinity."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise UnusableAnswer(f"wrong-shape at hit {number}")
    if isinstance(given, float) and not math.isfinite(given):
        raise UnusableAnswer(f"score-not-finite at hit {number}")
    if abs(given) > MOST_SCORE:
        raise UnusableAnswer(f"score-too-large at hit {number}")
    return round(given * 1_000_000)


def _under(
    mask: ReaderMask, hits: list[tuple[int, int]], depth: int
) -> tuple[list[tuple[int, int]], tuple[int, int, int, int, int]]:
    """The hits a reader may use, at most `depth`, and count, candidates, denied, outdated, foreign."""
    kept: list[tuple[int, int]] = []
    candidates = denied = outdated = foreign = 0
    for found, value in hits:
        if mask.allowed[found]:
            candidates += 1
            if len(kept) < depth:
                kept.append((found, value))
        elif len(kept) < depth:
            denied += int(not mask.readable[found])
            outdated += int(mask.readable[found] and not mask.current[found])
            foreign += int(mask.readable[found] and mask.current[found])
    return kept, (len(kept), candidates, denied, outdated, foreign)


def _parts(prepared: PreparedCorpus, build: IndexBuild, names: list[str]) -> Iterator[dict[str, Any]]:
    """The chunks of a build in requests of `CHUNKS_PER_CALL`, numbered so that the hook knows when it has them all."""
    chunks = build.chunks
    spans = zip(chunks.document.tolist(), chunks.start.tolist(), chunks.end.tolist(), names, strict=True)
    described = (_described(prepared.documents[number], start, end, name) for number, start, end, name in spans)
    parts = max(1, -(-len(chunks) // CHUNKS_PER_CALL))
    for part in range(1, parts + 1):
        yield {
            "protocol": PROTOCOL,
            "build": build.digest,
            "part": part,
            "parts": parts,
            "chunks": list(islice(described, CHUNKS_PER_CALL)),
        }


def _described(document: Document, start: int, end: int, name: str) -> dict[str, Any]:
    labels = set(document.access_labels)
    for item in document.access_ranges:
        if item.start < end and start < item.end:
            labels |= item.labels
    return {
        "id": name,
        "document": document.document_id,
        "version": document.digest,
        "start": start,
        "end": end,
        "text": document.content[start:end].decode("utf-8"),
        "labels": sorted(labels),
        "effective_from": str(document.effective_from or ""),
        "effective_to": str(document.effective_to or ""),
        "locale": document.locale,
    }

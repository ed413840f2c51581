"""Readers, ranges, dates; a twin without labels never meets a restricted byte."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from evaluation.domain.asking import Readers
from evaluation.domain.authorise import TWIN_SUFFIX, access, denied_ranges, local, needs_twin, superseding, twin
from evaluation.domain.cell import build_index, run_block
from evaluation.domain.frozen import Document, FrozenQuestion, RestrictedRange
from evaluation.domain.hits import Hits, StageError
from evaluation.domain.outcomes import QuestionOutcome, Stage
from evaluation.domain.pipeline import ArmSettings, BlockResult, IndexBuild, PreparedCorpus
from evaluation.domain.plan_words import RecoveryMoment
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.treatments import deduplicated
from evaluation.plugins.extractive import Extractive
from tests.evaluation.engine_world import DAY, Analyser, corpus, document, policies, question, settings, span

STAFF, BOARD = frozenset({"staff"}), frozenset({"board"})
OPEN = "Deposits are released within ten working days. " * 3
SECRET = "Stewards may waive the deposit penalty up to 25 euros. Nobody may tell members about the penalty waiver. "


def policy(**fields: object) -> Document:
    text = (OPEN + SECRET + OPEN).encode()
    start = len(OPEN.encode())
    ranges = (RestrictedRange(start, start + len(SECRET.encode()), STAFF | BOARD),)
    return document("policy", text, access_ranges=ranges, **fields)


def test_range_needs_all_of_its_labels_and_those_of_the_version() -> None:
    doc = policy(access_labels=frozenset({"member"}))
    everything, (item,) = [(0, len(doc.content))], doc.access_ranges
    assert denied_ranges(doc, frozenset()) == everything
    assert denied_ranges(doc, STAFF | BOARD) == everything
    assert denied_ranges(doc, frozenset({"member"})) == [(item.start, item.end)]
    assert denied_ranges(doc, frozenset({"member", "staff"})) == [(item.start, item.end)]
    assert denied_ranges(doc, frozenset({"member", "staff", "board"})) == []


def test_unit_sharing_one_byte_with_a_restricted_range_is_denied_whole() -> None:
    doc = policy()
    rights = access([doc], frozenset(), DAY)
    (item,) = doc.access_ranges
    assert rights.readable(0, 0, item.start)
    assert not rights.readable(0, 0, item.start + 1)
    assert not rights.readable(0, item.end - 1, item.end + 5)
    assert rights.readable(0, item.end, len(doc.content))


def test_mask_over_chunks_equals_the_check_of_each_chunk() -> None:
    prepared = corpus(policy(), document("other", OPEN, access_labels=STAFF), document("free", OPEN + "x"))
    for labels in (frozenset(), STAFF, STAFF | BOARD):
        rights = access(prepared.documents, labels, DAY)
        chunks = build_index(prepared, ArmSettings("a", TokenWindow(9, 4)), 3).chunks
        single = [rights.readable(d, s, e) for d, s, e in zip(chunks.document, chunks.start, chunks.end, strict=True)]
        assert rights.readable_chunks(chunks).tolist() == single


def versions() -> tuple[Document, Document, Document]:
    old = document("p", "old rule", version_label="1", effective_to=date(2026, 3, 1))
    new = document("p", "new rule", version_label="2", effective_from=date(2026, 3, 1), supersedes=old.digest)
    undated = document("q", "undated rule", version_label="1")
    return old, new, undated


def test_version_counts_from_its_first_day_and_not_on_its_last() -> None:
    docs = versions()
    for day, current in [(date(2026, 2, 28), [True, False, True]), (date(2026, 3, 1), [False, True, True])]:
        assert access(docs, frozenset(), day).current.tolist() == current


def test_version_without_an_end_is_superseded_once_its_successor_is_in_force() -> None:
    old = document("p", "old", version_label="2025")
    new = document("p", "new", version_label="2026", effective_from=date(2026, 3, 1), supersedes="2025")
    stranger = document("z", "else", version_label="2025")
    docs = [old, new, stranger]
    assert superseding(docs) == {0: (1,)}
    assert access(docs, frozenset(), date(2026, 2, 1)).current.tolist() == [True, False, True]
    assert access(docs, frozenset(), date(2026, 4, 1)).current.tolist() == [False, True, True]


def test_twin_lacks_the_labels_and_keeps_only_sets_it_may_read() -> None:
    doc = policy()
    free = document("free", "Deposits are released late.")
    documents = {d.digest: d for d in (doc, free)}
    secret, public = [span(doc, "Stewards may waive")], [span(free, "released late")]
    asked = question("?", secret, public, reader_labels=STAFF | BOARD)
    other = twin(asked, documents)
    assert other.question_id == asked.question_id + TWIN_SUFFIX
    assert other.reader_labels == frozenset()
    assert other.support_sets == (tuple(public),)
    assert other.answerable
    alone = twin(question("?", secret, reader_labels=STAFF | BOARD), documents)
    assert not alone.answerable
    assert not needs_twin(question("?", public), documents)
    with pytest.raises(ValueError, match="needs no twin"):
        twin(question("?", public), documents)


def run(
    prepared: PreparedCorpus, asked: FrozenQuestion, window: TokenWindow, phase: int, **fields: Any
) -> tuple[IndexBuild, BlockResult]:
    build = build_index(prepared, ArmSettings("a", window), phase)
    steps = fields.pop("steps", policies(generator=Extractive(prepared.analyser, threshold="0")))
    return build, run_block(prepared, build, [asked], settings(**fields), steps)


@pytest.mark.parametrize("phase", range(1, 17))
def test_uncleared_twin_meets_no_restricted_byte_at_any_phase(phase: int) -> None:
    doc = policy()
    prepared = corpus(doc, document("free", OPEN + " penalty waiver"))
    asked = question("Who may waive the deposit penalty?", [span(doc, SECRET.strip())], reader_labels=STAFF | BOARD)
    unclear = twin(asked, {d.digest: d for d in prepared.documents})
    build, result = run(prepared, unclear, TokenWindow(20, 4), phase)
    (item,) = doc.access_ranges
    index = prepared.by_version[doc.digest]
    for view, (outcome,) in result.outcomes.items():
        assert outcome.leaks == {}
        assert outcome.denials > 0
        for unit in result.evidence[view][0].units:
            assert unit.document != index or unit.end <= item.start or unit.start >= item.end
        assert b"Stewards" not in result.evidence[view][0].context
    hits = dict(result.payloads)["retrieval"]["hits"]
    readable = access(prepared.documents, frozenset(), DAY).readable_chunks(build.chunks)
    assert np.all(readable[hits])
    assert "Stewards" not in str(result.payloads)
    _, cleared = run(prepared, asked, TokenWindow(20, 4), phase)
    seen = dict(cleared.payloads)["retrieval"]["hits"]
    assert not np.all(readable[seen])


def test_leak_and_superseded_text_are_counted_at_every_stage_that_saw_them() -> None:
    doc = policy()
    old = document("old", "An old penalty rule: deposit penalty 99.", effective_to=date(2026, 1, 1))
    prepared = corpus(doc, old)
    asked = question("deposit penalty", question_id="q")
    _, result = run(prepared, asked, TokenWindow(20, 4), 5, filters=(), steps=policies())
    (outcome,) = result.outcomes["budget:120"]
    assert outcome.leaks[Stage.CANDIDATES] > 0
    assert outcome.leaks[Stage.RERANKED] > 0
    assert outcome.superseded[Stage.CANDIDATES] > 0
    # The second check stops both before anything is packed.
    assert Stage.AUTHORISED not in outcome.leaks
    assert Stage.PACKED not in outcome.superseded
    assert outcome.denials > 0


class WholeDocument:
    """An expansion to the parent document, which may hold what its reader may not read."""

    def describe(self) -> dict[str, str | int]:
        return {"expansion": "whole-document"}

    def expand(self, hits: Hits, prepared: PreparedCorpus, build: IndexBuild) -> Hits:
        valid = hits.valid
        sizes = np.array([len(doc.content) for doc in prepared.documents])
        tokens = np.array([text.n for text in prepared.tokenized])
        return replace(
            hits,
            start=np.zeros_like(hits.start),
            end=np.where(valid, sizes[hits.document], 0),
            token_start=np.zeros_like(hits.start),
            token_end=np.where(valid, tokens[hits.document], 0),
            into=np.where(valid, np.arange(valid.shape[1])[None, :], -1),
        )


class FirstInto(WholeDocument):
    """All hits of a document go into one unit, the whole document, at the place of the first."""

    def expand(self, hits: Hits, prepared: PreparedCorpus, build: IndexBuild) -> Hits:
        return deduplicated(replace(super().expand(hits, prepared, build), into=None), prepared.words.base)


class ElsewhereInstead(WholeDocument):
    """A broken expansion that leads to another document than its hit's."""

    def expand(self, hits: Hits, prepared: PreparedCorpus, build: IndexBuild) -> Hits:
        widened = super().expand(hits, prepared, build)
        return replace(widened, document=np.where(hits.valid, 0, -1), end=np.where(hits.valid, 1, 0))


def opened(**fields: Any) -> tuple[IndexBuild, BlockResult, Document, QuestionOutcome]:
    doc = policy()
    prepared = corpus(doc, document("free", "Deposits are free."))
    asked = question("When are deposits released?", [span(doc, "within ten working days")])
    build, result = run(prepared, asked, TokenWindow(12), 3, **fields)
    return build, result, doc, result.outcomes["budget:120"][0]


@pytest.mark.parametrize("moment", list(RecoveryMoment))
@pytest.mark.parametrize("expansion", [WholeDocument(), FirstInto()])
def test_expansion_into_a_restricted_range_falls_back_to_its_readable_hits(
    expansion: WholeDocument, moment: RecoveryMoment
) -> None:
    _, result, doc, outcome = opened(steps=policies(expansion=expansion, moment=moment))
    _, plain, _, before = opened(steps=policies())
    assert outcome.leaks == {}
    assert outcome.complete[Stage.AUTHORISED]
    assert outcome.denials - before.denials == outcome.fallbacks > 0
    (item,) = doc.access_ranges
    units = result.evidence["budget:120"][0].units
    for unit in units:
        assert unit.document == 0 or unit.end <= item.start or unit.start >= item.end
    # What stands in the place of a denied unit are the very hits retrieval found.
    hits = {(u.document, u.start, u.end) for u in plain.evidence["budget:120"][0].units}
    assert {(u.document, u.start, u.end) for u in units if u.document == 1} <= hits
    record = dict(result.payloads)["retrieval"]
    assert record["expansion"] == {"expansion": "whole-document"}
    assert record["refused"][0] == record["fallbacks"][0] == outcome.fallbacks
    assert outcome.lost_after is None


def test_denied_unit_without_a_readable_hit_is_dropped() -> None:
    _, result, doc, outcome = opened(filters=(), steps=policies(expansion=WholeDocument()))
    (item,) = doc.access_ranges
    assert outcome.leaks[Stage.CANDIDATES] > 0
    assert outcome.denials > outcome.fallbacks > 0
    assert Stage.AUTHORISED not in outcome.leaks
    assert all(
        u.document == 0 or u.end <= item.start or u.start >= item.end for u in result.evidence["budget:120"][0].units
    )


def test_expansion_that_leads_to_another_version_is_denied() -> None:
    _, result, _, outcome = opened(steps=policies(expansion=ElsewhereInstead()))
    _, plain, _, _ = opened(steps=policies())
    assert outcome.fallbacks > 0
    shown, found = ({u.document for u in one.evidence["budget:120"][0].units} for one in (result, plain))
    assert shown == found == {0, 1}
    assert [u for u in result.evidence["budget:120"][0].units if u.document == 1] == [
        u for u in plain.evidence["budget:120"][0].units if u.document == 1
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"end": 10**6}, "beyond its document"), ({"end": 0}, "empty"), ({"into": np.array([[5]])}, "where the units")],
)
def test_expansion_that_breaks_its_protocol_is_an_error(changes: dict[str, Any], said: str) -> None:
    class Broken(WholeDocument):
        def expand(self, hits: Hits, prepared: PreparedCorpus, build: IndexBuild) -> Hits:
            widened = super().expand(hits, prepared, build)
            made = {k: v if k == "into" else np.where(hits.valid, v, 0) for k, v in changes.items()}
            return replace(widened, **made)

    with pytest.raises(StageError, match=said):
        opened(steps=policies(expansion=Broken()))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("de", [True, True, False, False]), ("de-CH", [True, True, False, False]), ("EN_us", [False, False, True, False])],
)
def test_document_is_local_when_the_languages_are_equal(asked: str, expected: list[bool]) -> None:
    docs = [document(f"d{i}", "x", locale=name) for i, name in enumerate(("de", "de-AT", "en", "ar"))]
    assert local(docs, asked).tolist() == expected


def test_locale_filter_keeps_other_languages_out_and_counts_them() -> None:
    german = document("german", "Die Kaution verfällt nach zehn Tagen. deposit " * 3, locale="de-AT")
    prepared = corpus(german, document("english", "The deposit is released after ten days. " * 3))
    asked = question("deposit", [span(german, "Die Kaution")], locale="de")
    filters = ("labels", "dates", "locale")
    _, result = run(prepared, asked, TokenWindow(12), 3, filters=filters, steps=policies())
    (outcome,) = result.outcomes["budget:120"]
    home = prepared.by_version[german.digest]
    assert {u.document for u in result.evidence["budget:120"][0].units} == {home}
    assert outcome.foreign > 0
    assert outcome.denials == 0
    _, everywhere = run(prepared, asked, TokenWindow(12), 3, steps=policies())
    assert {u.document for u in everywhere.evidence["budget:120"][0].units} == {0, 1}
    assert everywhere.outcomes["budget:120"][0].foreign == 0


def test_forbidden_evidence_in_the_prompt_is_counted_apart() -> None:
    doc = document("d", "The draft says thirty days. The policy says seven days.")
    prepared = corpus(doc)
    bad = span(doc, "thirty days").interval
    asked = question("How many days?", [span(doc, "seven days")], forbidden=(bad,))
    _, result = run(prepared, asked, TokenWindow(40), 40)
    (outcome,) = result.outcomes["budget:120"]
    assert outcome.forbidden[Stage.PACKED] == 1
    assert outcome.superseded == {}


def test_access_is_worked_out_once_per_reader_and_date() -> None:
    prepared = corpus(policy())
    readers = Readers(prepared)
    asked = question("?")
    assert readers.access(asked) is readers.access(question("other"))
    assert Analyser() == prepared.analyser

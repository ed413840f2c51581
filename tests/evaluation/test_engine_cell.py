"""A cell is a pure function: independent of its block, canonical, reconstructible, honest about every loss."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from annotate.domain.vocabulary import DependencyType, SpanLabel
from evaluation.domain.boundary import recorded_cuts
from evaluation.domain.cell import build_index, preflight, prepare_corpus, run_block
from evaluation.domain.chunk_id import chunk_id, chunk_ids, chunks_digest, corpus_digest
from evaluation.domain.index_build import CorpusError, Preflight
from evaluation.domain.oracle import run_oracle
from evaluation.domain.outcomes import AnswerClass, Stage
from evaluation.domain.packing import Packer
from evaluation.domain.payloads import boundary_payload
from evaluation.domain.phases import PhaseError
from evaluation.domain.pipeline import ArmSettings, IndexBuild, Policies, PreparedCorpus
from evaluation.domain.plan_words import Counting, Overflow, TopKUnit
from evaluation.domain.recorded import RecordedChunks, budget_view, recorded_hits, recorded_refusals, recorded_units
from evaluation.domain.rendering import prompt_head
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.study_payloads import query_payload, source_payload, support_payload
from evaluation.plugins.extractive import Extractive
from evaluation.plugins.tokenizers import load_tokenizer
from ledger.domain.canonical import canonical_bytes
from tests.evaluation.engine_world import Analyser, corpus, document, policies, question, settings, span

RULE = "Requests may be retained for 30 days."
QUALIFIER = "This limit is 7 days for requests marked temporary."
FILLER = "The office is open on weekdays and closed on public holidays. " * 3
POLICY = document("policy", f"{FILLER}{RULE} {QUALIFIER} {FILLER}")
OTHER = document("other", "Temporary passes are marked in red. Requests for passes go to the desk. " * 4)
ASKED = [
    question(
        "What retention limit applies to requests marked temporary?",
        [span(POLICY, RULE, SpanLabel.RULE), span(POLICY, QUALIFIER, SpanLabel.QUALIFIER)],
        question_id="q1",
        dependency=DependencyType.EXCEPTION,
    ),
    question("How are temporary passes marked?", [span(OTHER, "marked in red")], question_id="q2"),
    question("Who was the first director?", question_id="q3"),
    question("zzzunknown", [span(POLICY, RULE)], question_id="q4"),
]


@pytest.fixture(scope="module")
def prepared() -> PreparedCorpus:
    return corpus(POLICY, OTHER)


def arm(capacity: int = 24, overlap: int = 0) -> ArmSettings:
    return ArmSettings("windows", TokenWindow(capacity, overlap))


def extractive(threshold: str = "0.3") -> Policies:
    return policies(generator=Extractive(Analyser(), threshold=threshold))


def test_result_of_a_question_does_not_depend_on_its_block(prepared: PreparedCorpus) -> None:
    build = build_index(prepared, arm(), 7)
    together = run_block(prepared, build, ASKED, settings(), extractive())
    shared = Packer(prepared, settings().budget)
    for i, one in enumerate(ASKED):
        alone = run_block(prepared, build, [one], settings(), extractive(), shared)
        for view, outcomes in together.outcomes.items():
            assert alone.outcomes[view] == (outcomes[i],)
            assert tuple(alone.evidence[view]) == (together.evidence[view][i],)
    backwards = run_block(prepared, build, ASKED[::-1], settings(), extractive())
    assert {v: o[::-1] for v, o in backwards.outcomes.items()} == dict(together.outcomes)


def test_payloads_are_canonical_and_equal_from_a_fresh_corpus(prepared: PreparedCorpus) -> None:
    def sealed(world: PreparedCorpus) -> bytes:
        build = build_index(world, arm(24, 8), 5)
        result = run_block(world, build, ASKED, settings(), extractive())
        oracle = run_oracle(world, ASKED, settings(), extractive(), 400)
        rows = [*result.payloads, *oracle.payloads, ("boundary", boundary_payload(world, build))]
        rows += [("query", query_payload(q)) for q in ASKED] + [("support", support_payload(q)) for q in ASKED]
        rows += [("source", source_payload(d)) for d in world.documents]
        return canonical_bytes([[kind, payload] for kind, payload in rows])

    first = sealed(prepared)
    assert first == sealed(corpus(OTHER, POLICY))
    assert hashlib.sha256(first).hexdigest() == hashlib.sha256(sealed(prepared)).hexdigest()


def test_records_come_in_one_order_for_every_view(prepared: PreparedCorpus) -> None:
    result = run_block(
        prepared, build_index(prepared, arm(), 1), ASKED, settings(evidence_tokens=(60, 120)), extractive()
    )
    views = ("budget:60", "budget:120", "top-k:3")
    assert [(kind, payload.get("view", "")) for kind, payload in result.payloads] == [
        ("retrieval", ""),
        ("budget", ""),
        *((kind, view) for view in views for kind in ("answer", "citation")),
    ]
    assert tuple(result.columns.views) == views
    without = run_block(prepared, build_index(prepared, arm(), 1), ASKED, settings(), policies())
    assert [kind for kind, _ in without.payloads] == ["retrieval", "budget"]
    assert without.outcomes["budget:120"][0].answer_class is AnswerClass.NONE


@pytest.mark.parametrize("counting", list(Counting))
@pytest.mark.parametrize("overflow", list(Overflow))
def test_literal_evidence_is_rebuilt_from_the_records(
    prepared: PreparedCorpus, overflow: Overflow, counting: Counting
) -> None:
    build = build_index(prepared, arm(30, 10), 3)
    config = settings(overflow=overflow, counting=counting, evidence_tokens=(70, 120), record_depth=2)
    result = run_block(prepared, build, ASKED, config, extractive())
    rows = dict(result.payloads)
    chunks = RecordedChunks(boundary_payload(prepared, build))
    rendering = Packer(prepared, config.budget).rendering
    for view, evidence in result.evidence.items():
        shown = budget_view(rows["budget"], view)
        answers = next(row for kind, row in result.payloads if kind == "answer" and row["view"] == view)
        for i, packed in enumerate(evidence):
            units = recorded_units(chunks, rows["retrieval"], shown, i)
            assert [(u.document, u.start, u.end, u.rank) for u in units] == [
                (u.document, u.start, u.end, u.rank) for u in packed.units
            ]
            texts = [
                rendering.label(u.document, u.number)
                + prepared.documents[u.document].content[u.start : u.end]
                + config.budget.separator.encode()
                for u in units
            ]
            prompt = prompt_head(config, ASKED[i]) + b"".join(texts)
            assert hashlib.sha256(prompt).hexdigest() == answers["prompts"][i]
            assert prepared.tokenizer.count(prompt) == answers["rendered_tokens"][i]
            assert recorded_refusals(rows["retrieval"], shown, i) == dict(packed.refused)


def test_recorded_hits_are_the_first_ranks_with_their_scores(prepared: PreparedCorpus) -> None:
    build = build_index(prepared, arm(30, 10), 3)
    config = settings(record_depth=3)
    rows = dict(run_block(prepared, build, ASKED, config, policies()).payloads)
    chunks = RecordedChunks(boundary_payload(prepared, build))
    block = Packer(prepared, config.budget).ready(ASKED, config).block
    queries = block.queries(prepared, build.chunks, config.retrieval.filters)
    ranked = policies().retriever.index(prepared, build).search(queries, config.retrieval.candidates)
    for i in range(len(ASKED)):
        hits = recorded_hits(chunks, rows["retrieval"], i)
        assert [hit.score for hit in hits] == ranked.score[i, : len(hits)].tolist()
        places = [(int(build.chunks.document[c]), int(build.chunks.start[c])) for c in ranked.chunk[i, : len(hits)]]
        assert [(hit.document, hit.start) for hit in hits] == places
        assert len(hits) == min(3, int(ranked.count[i]))


def test_cut_between_rule_and_qualifier_turns_the_answer_into_a_condition_error(prepared: PreparedCorpus) -> None:
    tokens = prepared.tokenized[prepared.by_version[POLICY.digest]]
    between = tokens.first_token_from(POLICY.content.index(QUALIFIER.encode()) - 1)
    classes: set[AnswerClass] = set()
    severed: set[bool] = set()
    for phase in range(1, 33):
        build = build_index(prepared, arm(32), phase)
        (one,) = run_block(prepared, build, ASKED[:1], settings(evidence_tokens=(44,)), extractive("0.1")).outcomes[
            "budget:44"
        ]
        classes.add(one.answer_class)
        severed.add(one.single_unit[Stage.CHUNKED])
        assert one.complete[Stage.CHUNKED]
        assert one.complete[Stage.PACKED] or one.lost_after is not None
        assert one.evidence_tokens <= 44
    assert AnswerClass.CORRECT in classes
    assert len(classes) > 1
    assert severed == {True, False}
    assert between > 0


def test_question_of_unknown_words_is_a_miss_and_never_an_error(prepared: PreparedCorpus) -> None:
    (one,) = run_block(prepared, build_index(prepared, arm(), 2), ASKED[3:], settings(), extractive()).outcomes[
        "budget:120"
    ]
    assert not one.complete[Stage.CANDIDATES]
    assert one.lost_after is Stage.CHUNKED
    assert one.evidence_tokens == 0
    assert one.answer_class is AnswerClass.ABSTAINED
    assert one.rank_of_completion == 0


def test_unanswerable_question_has_no_support_and_no_stage_of_loss(prepared: PreparedCorpus) -> None:
    (one,) = run_block(prepared, build_index(prepared, arm(), 2), ASKED[2:3], settings(), extractive()).outcomes[
        "budget:120"
    ]
    assert not any(one.complete.values())
    assert one.lost_after is None
    assert one.feasible


def test_set_too_large_for_the_ceiling_is_infeasible_and_stays_a_miss(prepared: PreparedCorpus) -> None:
    config = settings(evidence_tokens=(12, 200), top_k=99)
    result = run_block(prepared, build_index(prepared, arm(), 2), ASKED[:1], config, policies())
    tight, wide, top = (result.outcomes[view][0] for view in ("budget:12", "budget:200", "top-k:99"))
    assert (tight.feasible, tight.complete[Stage.PACKED]) == (False, False)
    assert wide.feasible
    assert top.feasible


@pytest.mark.parametrize("unit", list(TopKUnit))
def test_k_counts_the_declared_unit(prepared: PreparedCorpus, unit: TopKUnit) -> None:
    config = settings(top_k=2, top_k_unit=unit)
    result = run_block(prepared, build_index(prepared, arm(), 2), ASKED[:1], config, policies())
    assert len(result.evidence["top-k:2"][0].units) == 2
    record = dict(result.payloads)["budget"]["views"][-1]
    assert (record["k"], record["k_unit"], record["ceiling"]) == (2, str(unit), 0)
    # The budget view of the same run is not cut at k.
    assert (
        result.outcomes["budget:120"][0]
        == run_block(prepared, build_index(prepared, arm(), 2), ASKED[:1], settings(), policies()).outcomes[
            "budget:120"
        ][0]
    )


def test_oracle_answers_from_the_smallest_set_alone() -> None:
    longer = document("longer", f"{RULE} {FILLER * 3} {QUALIFIER}")
    prepared = corpus(POLICY, longer)
    start = longer.content.index(RULE.encode())
    whole = span(longer, longer.content.decode()[start:])
    asked = replace(ASKED[0], support_sets=((whole,), ASKED[0].support_sets[0]))
    config = settings(primary_evidence_tokens=60)
    result = run_oracle(prepared, [asked, ASKED[2]], config, extractive("0.2"), 400)
    (given, unanswerable) = result.outcomes["oracle:60"]
    assert given.complete[Stage.PACKED]
    assert given.feasible
    assert unanswerable.answer_class is AnswerClass.ABSTAINED
    record = result.payloads[0][1]
    assert (record["set"], record["room"]) == ([1, -1], "production")
    assert result.payloads[1][1]["room"] == "diagnostic"
    assert "oracle-roomy:400" in result.outcomes
    with pytest.raises(ValueError, match="more room"):
        run_oracle(prepared, [asked], config, extractive(), 60)


def test_oracle_that_does_not_fit_the_production_budget_is_infeasible(prepared: PreparedCorpus) -> None:
    result = run_oracle(prepared, ASKED[:1], settings(primary_evidence_tokens=12), extractive(), 200)
    assert not result.outcomes["oracle:12"][0].feasible
    assert not result.outcomes["oracle:12"][0].complete[Stage.PACKED]
    assert result.outcomes["oracle-roomy:200"][0].complete[Stage.PACKED]


def test_manifest_pins_and_names_what_the_build_depends_on(prepared: PreparedCorpus) -> None:
    build = build_index(prepared, arm(24, 8), 5)
    manifest = build.manifest
    assert manifest["tokenizer"]["digest"] == load_tokenizer().digest
    assert set(manifest["packages"]) == {"markdown-it-py", "numpy", "scipy", "tokenizers"}
    assert manifest["floating"] == []
    assert manifest["segmenter"]["tails"] == "keep"
    documents = boundary_payload(prepared, build)["documents"]
    assert manifest["source_tokens"] == sum(d["tokens"] for d in documents)
    assert documents[0]["cut_tokens"][0] == 5
    assert manifest["chunk_count"] == sum(len(d["starts"]) for d in documents)
    assert manifest["cuts"] == sum(len(d["cuts"]) for d in documents)
    for entry, table in zip(documents, build.chunks.tables, strict=True):
        assert recorded_cuts(entry).tolist() == table.cut_bytes.tolist()


def test_chunk_ids_hash_place_and_version_never_text_alone() -> None:
    twice = document("d", "Same clause. " * 8)
    again = document("e", "Same clause. " * 8 + ".")
    world = corpus(twice, again)
    build = build_index(world, arm(8), 8)
    ids = chunk_ids(world.digest, world.documents, build.chunks, "t1")
    assert len(set(ids)) == len(ids)
    assert not set(ids) & set(chunk_ids(world.digest, world.documents, build.chunks, "t2"))
    # The digest of all chunks is equal exactly when every id is.
    assert chunks_digest(world.digest, world.documents, build.chunks, "t1") != chunks_digest(
        world.digest, world.documents, build.chunks, "t2"
    )
    # A phase that gives the same chunk gives the same id, so caches may share it.
    assert build.digest == build_index(world, arm(8), 8).digest
    assert build.digest != build_index(world, arm(8), 7).digest


def test_corpus_digest_sees_labels_and_dates_and_not_the_order() -> None:
    assert corpus_digest([POLICY, OTHER]) == corpus_digest([OTHER, POLICY])
    assert corpus_digest([POLICY, replace(OTHER, access_labels=frozenset({"x"}))]) != corpus_digest([POLICY, OTHER])


def test_preflight_finds_missing_extra_and_uncovered_documents(prepared: PreparedCorpus) -> None:
    whole = build_index(prepared, arm(), 3)
    assert preflight([whole, build_index(prepared, arm(24, 8), 2)]) == Preflight(())
    fewer = build_index(corpus(POLICY), arm(), 3)
    assert any("is missing" in problem for problem in preflight([whole, fewer]).problems)
    assert any("is extra" in problem for problem in preflight([fewer, whole]).problems)
    assert preflight([]).problems
    broken = without_first_chunk(whole)
    assert any("are in no chunk" in problem for problem in preflight([whole, broken]).problems)
    # A foreign arm whose plan says that gaps are only reported declares them.
    table = broken.chunks.tables[0]
    declaring = replace(table, uncovered=np.array([[0, int(table.starts[0])]]))
    tables = (declaring, *broken.chunks.tables[1:])
    reported = preflight([whole, replace(broken, chunks=replace(broken.chunks, tables=tables))])
    assert not reported.problems
    assert any("are in no chunk" in note for note in reported.notes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"access_labels": frozenset({"x"})}, "access “x” stands on 1 documents, in arm windows on 0"),
        ({"locale": "de"}, "locale “de” stands on 1 documents"),
        ({"effective_to": date(2027, 1, 1)}, "validity “… to 2027-01-01” stands on 1 documents"),
    ],
)
def test_preflight_names_metadata_that_is_distributed_otherwise(
    prepared: PreparedCorpus, changes: dict[str, Any], said: str
) -> None:
    whole, changed = (build_index(world, arm(), 3) for world in (prepared, corpus(POLICY, replace(OTHER, **changes))))
    problems = preflight([whole, changed]).problems
    assert any(said in problem for problem in problems)
    assert any("dates or labels differ" in problem for problem in problems)


def test_preflight_only_reports_white_space_in_no_chunk() -> None:
    world = corpus(document("d", "   \n\n" + "Some words follow the blanks. " * 3))
    whole = build_index(world, arm(2), 1)
    bare = without_first_chunk(whole)
    start, end = 0, int(bare.chunks.tables[0].starts[0])
    assert not world.documents[0].content[start:end].strip()
    found = preflight([whole, bare])
    assert (found.problems, len(found.notes)) == ((), 1)


def without_first_chunk(build: IndexBuild) -> IndexBuild:
    table = build.chunks.tables[0]
    holed = replace(table, core_start=table.core_start[1:], end=table.end[1:])
    return replace(build, chunks=replace(build.chunks, tables=(holed, *build.chunks.tables[1:])))


def test_documents_that_cannot_be_a_corpus_are_refused() -> None:
    tokenizer = load_tokenizer()
    with pytest.raises(CorpusError, match="at least one"):
        prepare_corpus([], tokenizer, Analyser())
    with pytest.raises(CorpusError, match="2 times"):
        prepare_corpus([POLICY, replace(POLICY, document_id="again")], tokenizer, Analyser())
    with pytest.raises(CorpusError, match="is empty"):
        prepare_corpus([document("void", b"")], tokenizer, Analyser())
    with pytest.raises(CorpusError, match="damaged"):
        prepare_corpus([replace(POLICY, content=b"changed")], tokenizer, Analyser())


def test_phase_outside_the_stride_fails_the_build(prepared: PreparedCorpus) -> None:
    with pytest.raises(PhaseError, match="outside 1…24"):
        build_index(prepared, arm(), 25)


def test_many_chunk_ids_equal_one_at_a_time(prepared: PreparedCorpus) -> None:
    build = build_index(prepared, arm(8, 3), 2)
    chunks = build.chunks
    single = [
        chunk_id(prepared.digest, prepared.documents[doc], (int(start), int(end)), "t")
        for doc, start, end in zip(chunks.document, chunks.start, chunks.end, strict=True)
    ]
    assert chunk_ids(prepared.digest, prepared.documents, chunks, "t") == single

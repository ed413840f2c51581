"""Splitters of LangChain, LlamaIndex and chonkie: exact bytes or a reason, and only classes that are allow-listed."""

from __future__ import annotations

import builtins
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers

from evaluation.domain.boundary import boundary_documents
from evaluation.domain.chunks import ChunkingRefused, ChunkTable
from evaluation.domain.index_build import build_index, preflight
from evaluation.domain.phases import PhaseError
from evaluation.domain.pipeline import ArmSettings
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.plan_words import UNSHIFTED_SEGMENTERS, ArmRole, Uncovered
from evaluation.domain.segmenters.token_window import SegmenterConfigError, TokenWindow
from evaluation.plugins.foreign.loading import WELL_KNOWN
from evaluation.plugins.registry import Kind, build_registry
from evaluation.plugins.tokenizers import load_tokenizer
from tests.evaluation.engine_world import byte_tokenizer, corpus, demo_documents, document

REGISTRY = build_registry(offered=())
TOKENIZER = load_tokenizer()
OWN = "tests.evaluation.foreign_splitters"
TEXT = "The fee is waived.\nUnless the unit  is late.\nThen it is due.\nSee Sec. 4 on waived fees.\n"

LANGCHAIN = "langchain_text_splitters"
LLAMA_INDEX = "llama_index.core.node_parser"
MEASURED = {"cutline": {"tokenizer": "cutline-bpe-4k"}}
CONFIGURED = [
    ("langchain", f"{LANGCHAIN}:RecursiveCharacterTextSplitter", {"chunk_size": 120, "chunk_overlap": 30}),
    ("langchain", f"{LANGCHAIN}:RecursiveCharacterTextSplitter", {"chunk_size": 40, "chunk_overlap": 10, **MEASURED}),
    ("langchain", f"{LANGCHAIN}:MarkdownTextSplitter", {"chunk_size": 200, "chunk_overlap": 0}),
    ("langchain", f"{LANGCHAIN}:CharacterTextSplitter", {"chunk_size": 200, "chunk_overlap": 0}),
    ("llama-index", f"{LLAMA_INDEX}:TokenTextSplitter", {"chunk_size": 60, "chunk_overlap": 20, **MEASURED}),
    ("llama-index", f"{LLAMA_INDEX}:SentenceSplitter", {"chunk_size": 60, "chunk_overlap": 20, **MEASURED}),
    ("llama-index", f"{LLAMA_INDEX}:MarkdownNodeParser", {}),
    ("chonkie", "chonkie:TokenChunker", {"chunk_size": 60, "chunk_overlap": 20, **MEASURED}),
    ("chonkie", "chonkie:TokenChunker", {"chunk_size": 160, "chunk_overlap": 40}),
    ("chonkie", "chonkie:SentenceChunker", {"chunk_size": 300, "chunk_overlap": 0}),
    ("chonkie", "chonkie:RecursiveChunker", {"chunk_size": 300}),
]


def arm(segmenter: str, splitter: str, options: Any = "{}", uncovered: Uncovered = Uncovered.REFUSE) -> Arm:
    written = options if isinstance(options, str) else json.dumps(options)
    return Arm("a", ArmRole.CANDIDATE, segmenter, splitter=splitter, options=written, uncovered=uncovered)


def make(*given: Any) -> Any:
    one = arm(*given)
    return REGISTRY.get(Kind.SEGMENTER, one.segmenter).make(one).made


def chunks(segmenter: Any, text: str = TEXT) -> ChunkTable:
    doc = document("d", text)
    return segmenter.chunks(doc, TOKENIZER.encode(doc.content), None)


@pytest.fixture
def own(settings: Any) -> None:
    names = "Faithful Dropping Rewriting Collapsing Duplicating Reordering Raising Silent Mumbling NoSplitter Absent"
    settings.FOREIGN_SPLITTERS_ALLOWED = [f"{OWN}:{name}" for name in names.split()] + ["no.such.module:Splitter"]


@pytest.mark.parametrize(("segmenter", "splitter", "options"), CONFIGURED)
def test_well_known_splitters_give_exact_intervals_of_every_demo_source(
    segmenter: str, splitter: str, options: dict[str, Any]
) -> None:
    made = make(segmenter, splitter, options, Uncovered.REPORT)
    assert (made.stride, made.rule) == (0, "unshifted control")
    for doc in demo_documents():
        tokens = TOKENIZER.encode(doc.content)
        table = made.chunks(doc, tokens, None)
        assert len(table) >= 1
        assert not [remark for remark in table.remarks if remark.startswith("not placed")], (
            doc.document_id,
            table.remarks,
        )
        assert np.all(np.diff(table.starts) >= 0)
        assert np.all(np.diff(table.end) >= 0)
        assert np.all(table.core_end <= table.end)
        assert np.all(table.token_end >= table.token_start)
        for start, end in zip(table.starts.tolist(), table.end.tolist(), strict=True):
            assert doc.content[start:end].decode()


def test_a_foreign_arm_is_built_compared_and_recorded_like_any_other() -> None:
    prepared = corpus(*demo_documents())
    options = {"chunk_size": 40, "chunk_overlap": 10, **MEASURED}
    one = arm("langchain", f"{LANGCHAIN}:RecursiveCharacterTextSplitter", options)
    made = REGISTRY.get(Kind.SEGMENTER, "langchain").make(one)
    foreign = build_index(prepared, ArmSettings("foreign", made), None)
    assert preflight([build_index(prepared, ArmSettings("ours", TokenWindow(40)), 40), foreign]).problems == ()
    described = foreign.manifest["segmenter"]
    assert described["package"].startswith("langchain-text-splitters 1.")
    assert len(described["class_digest"]) == 64
    assert described["measure_digest"] == TOKENIZER.digest
    assert json.loads(described["options"]) == {"chunk_size": 40, "chunk_overlap": 10}
    gaps = [tuple(gap) for entry in boundary_documents(prepared, foreign.chunks) for gap in entry["uncovered"]]
    assert gaps
    assert foreign.words.length.sum() > 0


def test_undeclared_gap_still_fails_the_preflight() -> None:
    prepared = corpus(document("d", TEXT))
    made = make(
        "langchain", f"{LANGCHAIN}:CharacterTextSplitter", {"chunk_size": 20, "chunk_overlap": 0, "separator": "\n"}
    )
    build = build_index(prepared, ArmSettings("foreign", made), None)
    (table,) = build.chunks.tables
    assert table.uncovered is not None
    assert preflight([build]).problems == ()
    holed = replace(table, uncovered=None, core_start=table.core_start[1:], start=table.starts[1:], end=table.end[1:])
    silent = replace(build, chunks=replace(build.chunks, tables=(holed,)))
    assert "are in no chunk" in preflight([silent]).problems[0]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Dropping", r"16 bytes that are not white space alone are in no chunk \(bytes 45–61\)"),
        ("Rewriting", r"4 of 4 chunks are not the source's text .*text-rewritten.*'Context: policy"),
        ("Collapsing", "white-space-changed|text-rewritten"),
        ("Duplicating", r"4 of 8 chunks .*4 duplicated"),
        ("Reordering", "out-of-order"),
        ("Raising", r"it raised KeyError: 'no tokenizer for this language'"),
        ("Silent", r"88 bytes .* in no chunk"),
        ("Mumbling", "chunk 0 is no text but bytes"),
    ],
)
def test_splitter_that_loses_or_changes_text_is_refused_with_the_reason(name: str, said: str) -> None:
    with pytest.raises(ChunkingRefused, match=said) as refused:
        chunks(make("langchain", f"{OWN}:{name}"))
    assert f"langchain {OWN}:{name}: document 'd'" in str(refused.value)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "remarks"),
    [
        ("Faithful", {}),
        ("Dropping", {"bytes in no chunk": 16}),
        ("Duplicating", {"not placed: duplicated": 4}),
        ("Silent", {"bytes in no chunk": 88}),
    ],
)
def test_plan_that_only_reports_losses_keeps_what_is_source_text_and_counts_the_rest(
    name: str, remarks: dict[str, int]
) -> None:
    table = chunks(make("langchain", f"{OWN}:{name}", "{}", Uncovered.REPORT))
    assert table.remarks == remarks
    assert len(table) == {"Faithful": 4, "Dropping": 3, "Duplicating": 4, "Silent": 0}[name]


def test_splitter_that_cuts_characters_gets_whole_ones_and_says_so() -> None:
    text = "返却は三日以内に検査します。" * 3
    source = document("d", text)
    splitter = make("chonkie", "chonkie:TokenChunker", {"chunk_size": 4, **MEASURED})
    table = splitter.chunks(source, byte_tokenizer().encode(source.content), None)
    assert table.remarks["edges moved back to a character"] > 0
    assert "".join(source.content[a:b].decode() for a, b in zip(table.starts, table.core_end, strict=True)) == text


def test_lower_casing_tokenizer_leaves_no_chunk_that_is_source_text(tmp_path: Path) -> None:
    lowering = tmp_path / "tokenizer.json"
    backend = Backend(models.WordLevel(vocab={"[UNK]": 0, "apple": 1, "'": 2, "s": 3, "patent": 4}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.save(str(lowering))
    made = make("chonkie", "chonkie:TokenChunker", {"chunk_size": 2, "cutline": {"tokenizer": str(lowering)}})
    with pytest.raises(ChunkingRefused, match="chunks are not the source's text"):
        chunks(made, "Apple's Patent")


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("splitter", "said"),
    [
        ("os:system", "not allow-listed"),
        ("langchain_text_splitters:SpacyTextSplitter", "not allow-listed"),
        (f"{OWN}:Faithful ", "not allow-listed"),
        ("", "not allow-listed"),
        (f"{OWN}:NoSplitter", r"is no langchain_text_splitters\.base\.TextSplitter"),
        (f"{OWN}:Absent", "cannot be imported"),
        ("no.such.module:Splitter", "cannot be imported"),
        ("chonkie:TokenChunker", r"is no langchain_text_splitters\.base\.TextSplitter"),
    ],
)
def test_class_a_plan_may_not_name_is_refused(splitter: str, said: str) -> None:
    with pytest.raises(SegmenterConfigError, match=said):
        make("langchain", splitter)


def test_module_that_is_not_allow_listed_is_never_imported() -> None:
    before = set(sys.modules)
    with pytest.raises(SegmenterConfigError, match="Write one of langchain_text_splitters:CharacterTextSplitter"):
        make("langchain", "this:Splitter")
    assert "this" not in set(sys.modules) - before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{", "no JSON object"),
        ("[]", "must be a JSON object"),
        ('{"chunk_size": 5, "chunk_size": 6}', "stands twice"),
        ({"chunk_size": True}, "chunk_size must be a whole number, got True"),
        ({"chunk_size": "400"}, "chunk_size must be a whole number, got '400'"),
        ({"chunk_size": 5, "chunk_overlap": 5}, "overlap 5 must be smaller than the size 5"),
        ({"chunk_size": 200}, "overlap 200 must be smaller than the size 200"),
        ({"chunk_size": 0, "chunk_overlap": 0}, "overlap 0 must be smaller than the size 0"),
        ({"colour": "red"}, "cannot be built from its options: TypeError"),
        ({"cutline": {"tokeniser": "x"}}, r"options\.cutline may hold newlines, tokenizer"),
        ({"cutline": {"tokenizer": "absent.json"}}, "cannot be loaded"),
        ({"cutline": {"newlines": "any"}}, "newlines must be one of exact, normalised"),
    ],
)
def test_options_that_give_no_chunks_are_refused(options: Any, said: str) -> None:
    with pytest.raises(SegmenterConfigError, match=said):
        make("langchain", f"{LANGCHAIN}:CharacterTextSplitter", options)


def test_chonkie_fetches_no_tokenizer() -> None:
    with pytest.raises(SegmenterConfigError, match="would be fetched from a hub; use one of byte, character"):
        make("chonkie", "chonkie:TokenChunker", {"tokenizer": "gpt2"})


@pytest.mark.parametrize(
    ("segmenter", "module", "package"),
    [
        ("langchain", "langchain_text_splitters", "langchain-text-splitters"),
        ("llama-index", "llama_index.core.node_parser", "llama-index-core"),
        ("chonkie", "chonkie", "chonkie"),
    ],
)
def test_missing_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, segmenter: str, module: str, package: str
) -> None:
    # None in sys.modules is how Python itself marks a module that must not be found.
    monkeypatch.setitem(sys.modules, module, None)  # type: ignore[arg-type]
    with pytest.raises(SegmenterConfigError, match=f"the package {package} is not here .*uv pip install {package}"):
        make(segmenter, "x:Y")


def test_arm_is_named_without_its_package_and_says_why_it_cannot_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chonkie", None)  # type: ignore[arg-type]
    one = arm("chonkie", "chonkie:TokenChunker", {"chunk_size": 5})
    deferred = REGISTRY.get(Kind.SEGMENTER, "chonkie").make(one)
    assert (deferred.name, deferred.stride, deferred.rule) == ("chonkie", 0, "unshifted control")
    with pytest.raises(ChunkingRefused, match="uv pip install chonkie"):
        build_index(corpus(document("d", TEXT)), ArmSettings("a", deferred), None)


def test_foreign_segmenters_are_controls_without_phases() -> None:
    made = make("chonkie", "chonkie:TokenChunker", {"chunk_size": 5})
    with pytest.raises(PhaseError, match="unshifted control"):
        made.chunks(document("d", TEXT), TOKENIZER.encode(TEXT.encode()), 1)
    for name in UNSHIFTED_SEGMENTERS:
        assert name in REGISTRY.names(Kind.SEGMENTER)


def test_well_known_classes_exist_and_compute_from_the_text_alone() -> None:
    for path in sorted(WELL_KNOWN):
        module, _, name = path.partition(":")
        assert isinstance(getattr(sys.modules.get(module) or __import__(module, fromlist=[name]), name), type), path
    assert not any(path.startswith(builtins.__name__) for path in WELL_KNOWN)


@pytest.mark.usefixtures("own")
def test_declared_newlines_let_a_text_mode_splitter_keep_crlf_sources() -> None:
    text = "one\r\ntwo\rthree\n"
    table = chunks(make("langchain", f"{OWN}:Faithful", {"cutline": {"newlines": "normalised"}}), text)
    assert [text[a:b] for a, b in zip(table.starts, table.end, strict=True)] == ["one\r\n", "two\r", "three\n"]

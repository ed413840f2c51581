"""Dumps of an index that exists: re-anchored when sound, described line by line when not."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluation.domain.boundary import boundary_documents
from evaluation.domain.chunks import ChunkingRefused
from evaluation.domain.frozen import Document
from evaluation.domain.index_build import build_index, preflight
from evaluation.domain.phases import PhaseError
from evaluation.domain.pipeline import ArmSettings
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.plan_words import ArmRole, Uncovered
from evaluation.domain.segmenters.token_window import SegmenterConfigError, TokenWindow
from evaluation.plugins.foreign.chunk_dump import ChunkDump
from evaluation.plugins.registry import Kind, build_registry
from evaluation.plugins.tokenizers import load_tokenizer
from tests.evaluation.engine_world import corpus, document

PLUGIN = build_registry(offered=()).get(Kind.SEGMENTER, "chunk-dump")
TOKENIZER = load_tokenizer()

POLICY = "Fees are waived.\nFees are waived.\nUnless the unit 👩‍👩‍👧 is late.\n"
NOTICE = "Late units pay.\n"
DOCUMENTS = [document("policy.md", POLICY), document("notice.md", NOTICE)]
# (document, text, start in code points): a passage that stands twice, an emoji before the last chunk's neighbours.
CUTS = [
    ("policy.md", "Fees are waived.\n", 0),
    ("policy.md", "Fees are waived.\n", 17),
    ("policy.md", "Unless the unit 👩‍👩‍👧 is late.\n", 34),
    ("notice.md", "Late units pay.\n", 0),
]
ROWS = [
    {"id": f"c{i}", "document": name, "text": text, "start": start, "end": start + len(text)}
    for i, (name, text, start) in enumerate(CUTS)
]
POINTS = {"unit": "code-points"}


def dumped(path: Path, rows: Sequence[Any]) -> tuple[str, str]:
    """Write rows as JSON Lines (texts stand as they are) or Parquet; path and digest."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    else:
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path), hashlib.sha256(path.read_bytes()).hexdigest()


def arm(where: tuple[str, str], options: Any, uncovered: Uncovered = Uncovered.REFUSE) -> Arm:
    path, digest = where
    written = options if isinstance(options, str) else json.dumps(options)
    return Arm(
        "a",
        ArmRole.CANDIDATE,
        "chunk-dump",
        chunks=path,
        chunks_digest=digest,
        options=written,
        uncovered=uncovered,
    )


def make(one: Arm) -> ChunkDump:
    made = PLUGIN.make(one).made
    assert isinstance(made, ChunkDump)
    return made


def intervals(made: ChunkDump, doc: Document) -> list[tuple[int, int]]:
    table = made.chunks(doc, TOKENIZER.encode(doc.content), None)
    return list(zip(table.starts.tolist(), table.end.tolist(), strict=True))


def texts(made: ChunkDump, doc: Document) -> list[str]:
    return [doc.content[start:end].decode() for start, end in intervals(made, doc)]


@pytest.mark.parametrize("name", ["dump.jsonl", "dump.parquet"])
def test_sound_dump_is_an_arm_like_any_other(tmp_path: Path, name: str) -> None:
    made = make(arm(dumped(tmp_path / name, ROWS), POINTS))
    prepared = corpus(*DOCUMENTS)
    build = build_index(prepared, ArmSettings("dump", made), None)
    assert preflight([build_index(prepared, ArmSettings("ours", TokenWindow(8)), 8), build]).problems == ()
    assert build.chunks.start.tolist() == [0, 0, 17, 34]
    assert build.manifest["segmenter"]["rows"] == 4
    assert str(tmp_path) not in json.dumps(build.manifest)
    assert all(entry["remarks"] == {} for entry in boundary_documents(prepared, build.chunks))


def nested(row: dict[str, Any], under: str, own_id: str = "id") -> dict[str, Any]:
    return {own_id: row["id"], under: {"text": row["text"], "document": row["document"]}}


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ([nested(row, "payload") for row in ROWS], {"layout": "qdrant"}),
        ([nested(row, "_source", "_id") for row in ROWS], {"layout": "elasticsearch"}),
        (
            [{"id": r["id"], "document": r["text"], "cmetadata": json.dumps({"source": r["document"]})} for r in ROWS],
            {"layout": "pgvector", "fields": {"text": "document", "document": "cmetadata.source"}},
        ),
        (
            [{"payload": {"page_content": r["text"], "metadata": {"source": r["document"]}}} for r in ROWS],
            {"layout": "qdrant", "fields": {"text": "payload.page_content", "document": "payload.metadata.source"}},
        ),
        (
            [
                {"text": r["text"], "document": d.digest}
                for r in ROWS
                for d in DOCUMENTS
                if d.document_id == r["document"]
            ],
            {"documents": "digest"},
        ),
        ([{"meta.doc": r["document"], "text": r["text"]} for r in ROWS], {"fields": {"document": "meta.doc"}}),
    ],
    ids=["qdrant", "elasticsearch", "pgvector-json", "qdrant-langchain", "digest", "dots-in-name"],
)
@pytest.mark.parametrize("name", ["dump.jsonl", "dump.parquet"])
def test_usual_exports_are_read_through_the_declared_mapping(
    tmp_path: Path, rows: list[dict[str, Any]], options: dict[str, Any], name: str
) -> None:
    made = make(arm(dumped(tmp_path / name, rows), options))
    made.check(DOCUMENTS)
    assert "".join(texts(made, DOCUMENTS[0])) == POLICY
    assert texts(made, DOCUMENTS[1]) == [NOTICE]


def test_wrong_offsets_are_corrected_and_counted(tmp_path: Path) -> None:
    first_found = [{**row, "start": POLICY.find(str(row["text"]))} for row in ROWS[:3]]
    made = make(arm(dumped(tmp_path / "d.jsonl", [{**row, "end": None} for row in first_found]), POINTS))
    table = made.chunks(DOCUMENTS[0], TOKENIZER.encode(POLICY.encode()), None)
    assert table.starts.tolist() == [0, 17, 34]
    assert table.remarks == {"wrong offsets corrected": 1}


def test_offsets_in_another_unit_than_declared_are_all_counted_wrong(tmp_path: Path) -> None:
    rows = [{"document": "e.md", "text": text, "start": start} for text, start in [("👩‍👩‍👧", 0), ("a", 5), ("b", 6)]]
    doc = document("e.md", "👩‍👩‍👧ab")
    for unit, wrong in [("code-points", 0), ("utf-16", 2), ("bytes", 2)]:
        made = make(arm(dumped(tmp_path / "d.jsonl", rows), {"unit": unit}))
        remarks = made.chunks(doc, TOKENIZER.encode(doc.content), None).remarks
        assert remarks.get("wrong offsets corrected", 0) == wrong, unit


def test_unordered_export_is_put_in_its_declared_order(tmp_path: Path) -> None:
    shuffled = [{**ROWS[i], "seq": i, "sum": float(i)} for i in (2, 3, 1, 0)]
    where = dumped(tmp_path / "d.jsonl", shuffled)
    for options in [{**POINTS, "order": "offsets"}, {**POINTS, "order": "field", "fields": {"order": "seq"}}]:
        assert "".join(texts(make(arm(where, options)), DOCUMENTS[0])) == POLICY
    with pytest.raises(ChunkingRefused, match=r"out-of-order|duplicated"):
        texts(make(arm(where, POINTS)), DOCUMENTS[0])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "line 2: no JSON"),
        ('"text"', "line 2: no JSON object"),
        ("[1]", "line 2: no JSON object"),
        ({"document": "policy.md"}, "line 2: no text at 'text'"),
        ({"document": "policy.md", "text": 5}, "line 2: no text at 'text'"),
        ({"text": "x"}, "line 2: no document name at 'document'"),
        ({"text": "x", "document": ""}, "line 2: no document name"),
        ({"text": "x", "document": None}, "line 2: no document name"),
        ({"text": "x", "document": "p", "start": True}, "line 2: start is True, no whole number"),
        ({"text": "x", "document": "p", "start": "0"}, "line 2: start is '0', no whole number"),
        ({"text": "x", "document": "p", "start": 1.5}, r"line 2: start is 1\.5, no whole number"),
        ({"text": "x", "document": "p", "start": -1}, "line 2: start is -1, below zero"),
        ({"text": "x", "document": "p", "start": 4, "end": 3}, "line 2: it ends at 3, before its start 4"),
        ({"text": "x", "document": "p", "id": "c0"}, "line 2: its id 'c0' was given at 1 already"),
        ("[" * 100_000, "line 2: no JSON"),
        ('{"text": NaN, "document": "p"}', "line 2: no text"),
    ],
)
def test_damaged_line_is_named_and_nothing_of_the_dump_is_used(tmp_path: Path, row: Any, said: str) -> None:
    with pytest.raises(SegmenterConfigError, match=said) as refused:
        make(arm(dumped(tmp_path / "d.jsonl", [ROWS[0], row, *ROWS[1:]]), POINTS))
    assert "1 of its lines are damaged" in str(refused.value)


@pytest.mark.parametrize("place", ["NaN", "Infinity", "-1e999", "true", "null"])
def test_place_in_the_order_that_orders_nothing_is_damage(tmp_path: Path, place: str) -> None:
    # Sorted among numbers, NaN would leave them as they were in the file.
    rows = [json.dumps({**ROWS[0], "seq": 2}), json.dumps({**ROWS[1], "seq": 0}).replace(": 0}", f": {place}}}")]
    where = dumped(tmp_path / "d.jsonl", [*rows, json.dumps({**ROWS[2], "seq": 1})])
    with pytest.raises(SegmenterConfigError, match="line 2: no place in the order at 'seq'"):
        make(arm(where, {**POINTS, "order": "field", "fields": {"order": "seq"}}))


def test_many_damaged_lines_are_counted_and_some_quoted(tmp_path: Path) -> None:
    with pytest.raises(SegmenterConfigError, match=r"30 of its lines are damaged: line 1: .*; and 20 more"):
        make(arm(dumped(tmp_path / "d.jsonl", ["no"] * 30), {}))


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b'{"text": "caf\xe9", "document": "d"}\n')
    with pytest.raises(SegmenterConfigError, match="line 1: byte 13 of the line is not UTF-8"):
        make(arm((str(path), hashlib.sha256(path.read_bytes()).hexdigest()), {}))


def test_bom_blank_lines_and_missing_last_newline_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n\r\n".join(json.dumps(row).encode() for row in ROWS))
    made = make(arm((str(path), hashlib.sha256(path.read_bytes()).hexdigest()), POINTS))
    assert "".join(texts(made, DOCUMENTS[0])) == POLICY


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    whole = Path(dumped(tmp_path / "d.parquet", ROWS)[0]).read_bytes()
    for content, said in [(b"PAR1", "no readable Parquet"), (whole[:-20], "no readable Parquet"), (b"", "no readable")]:
        path = tmp_path / "cut.parquet"
        path.write_bytes(content)
        with pytest.raises(SegmenterConfigError, match=said):
            make(arm((str(path), hashlib.sha256(content).hexdigest()), {}))
    with pytest.raises(SegmenterConfigError, match="it has no column body; its columns are id, document, text"):
        make(arm(dumped(tmp_path / "e.parquet", ROWS), {"fields": {"text": "body"}}))
    with pytest.raises(SegmenterConfigError, match="row 2: no text"):
        make(arm(dumped(tmp_path / "f.parquet", [ROWS[0], {**ROWS[1], "text": None}]), POINTS))


def test_offsets_without_a_declared_unit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SegmenterConfigError, match="claims offsets at 'start', but the options declare no \"unit\""):
        make(arm(dumped(tmp_path / "d.jsonl", ROWS), {}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("nope", "no JSON object"),
        ({"units": "bytes"}, "hold units; known are"),
        ({"unit": "letters"}, "options.unit .* must be one of bytes, code-points, utf-16"),
        ({"order": "random"}, "options.order"),
        ({"layout": "mongo"}, "options.layout"),
        ({"documents": "title"}, "options.documents"),
        ({"format": "csv"}, "options.format"),
        ({"newlines": "any"}, "newlines must be one of"),
        ({"fields": {"body": "x"}}, "options.fields"),
        ({"fields": {"text": 5}}, "options.fields"),
        ({"fields": []}, "options.fields"),
        ({"unit": ["bytes"]}, "options.unit"),
        ({**POINTS, "order": "field"}, "no place in the order at 'order'"),
    ],
)
def test_options_that_cannot_be_used_are_refused(tmp_path: Path, options: Any, said: str) -> None:
    with pytest.raises(SegmenterConfigError, match=said):
        make(arm(dumped(tmp_path / "d.jsonl", ROWS), options))


def test_order_by_offsets_needs_one_in_every_row(tmp_path: Path) -> None:
    rows = [ROWS[0], {**ROWS[1], "start": None}]
    with pytest.raises(SegmenterConfigError, match="cannot be put in order by offsets"):
        make(arm(dumped(tmp_path / "d.jsonl", rows), {**POINTS, "order": "offsets"}))


def test_file_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    path, digest = dumped(tmp_path / "d.jsonl", ROWS)
    for pinned in ("0" * 64, "", digest[:-1]):
        with pytest.raises(SegmenterConfigError, match="does not have the digest the plan pins"):
            make(arm((path, pinned), POINTS))
    assert make(arm((path, digest.upper()), POINTS)).digest == digest


def test_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, said in [
        (tmp_path / "absent.jsonl", "No such file"),
        (tmp_path, "no regular file"),
        (tmp_path / "pipe", "no regular file"),
        ("nul\x00", "is no path"),
        ("x" * 5000, "cannot be read"),
    ]:
        with pytest.raises(SegmenterConfigError, match=said):
            make(arm((str(path), "0" * 64), {}))


def test_empty_dump_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SegmenterConfigError, match="it holds no chunk"):
        make(arm(dumped(tmp_path / "d.jsonl", []), {}))


def test_unknown_missing_and_doubled_documents_are_named_with_their_line(tmp_path: Path) -> None:
    rows = [*ROWS[:3], {"document": "other.md", "text": "x"}]
    made = make(arm(dumped(tmp_path / "d.jsonl", rows), POINTS))
    with pytest.raises(ChunkingRefused) as refused:
        build_index(corpus(*DOCUMENTS), ArmSettings("dump", made), None)
    assert "1 documents of the dump are not in the corpus: 'other.md' (first at 4)" in str(refused.value)
    assert "1 documents of the corpus have no chunk in the dump: 'notice.md'" in str(refused.value)
    two = [*DOCUMENTS, document("policy.md", POLICY + "v2", version_label="2")]
    with pytest.raises(
        ChunkingRefused, match=r"1 names stand for several versions in the corpus: 'policy\.md' \(first"
    ):
        make(arm(dumped(tmp_path / "e.jsonl", ROWS), POINTS)).check(two)


def test_document_without_chunks_may_be_reported_instead(tmp_path: Path) -> None:
    made = make(arm(dumped(tmp_path / "d.jsonl", ROWS[:3]), POINTS, Uncovered.REPORT))
    prepared = corpus(*DOCUMENTS)
    build = build_index(prepared, ArmSettings("dump", made), None)
    entries = {entry["document"]: entry for entry in boundary_documents(prepared, build.chunks)}
    assert entries["notice.md"]["uncovered"] == [[0, len(NOTICE)]]
    assert entries["notice.md"]["remarks"] == {"bytes in no chunk": len(NOTICE)}
    assert preflight([build]).problems == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[:2], r"33 bytes|bytes 34"),
        (lambda rows: [rows[0], rows[2]], r"bytes 17–34"),
        (lambda rows: [*rows[:2], {**rows[2], "text": "Unless the unit is early."}], "text-rewritten"),
        (lambda rows: [*rows, {**rows[2], "id": "again"}], "duplicated"),
    ],
)
def test_dump_that_lost_or_changed_text_is_refused(tmp_path: Path, change: Any, said: str) -> None:
    made = make(arm(dumped(tmp_path / "d.jsonl", change(ROWS[:3])), POINTS))
    with pytest.raises(ChunkingRefused, match=said):
        texts(made, DOCUMENTS[0])


def test_chunks_of_a_longer_version_are_not_found_in_a_shorter_one(tmp_path: Path) -> None:
    shorter = document("policy.md", "Fees are waived.\n", version_label="2")
    made = make(arm(dumped(tmp_path / "d.jsonl", ROWS[:3]), POINTS))
    with pytest.raises(ChunkingRefused, match="2 of 3 chunks are not the source's text in its order"):
        texts(made, shorter)


def test_dump_has_no_phase_and_equal_dumps_are_equal(tmp_path: Path) -> None:
    where = dumped(tmp_path / "d.jsonl", ROWS)
    made = make(arm(where, POINTS))
    with pytest.raises(PhaseError, match="unshifted control"):
        made.chunks(DOCUMENTS[0], TOKENIZER.encode(POLICY.encode()), 1)
    assert made == make(arm(where, POINTS))
    assert made.describe() == make(arm(where, POINTS)).describe()
    assert (made.stride, made.rule) == (0, "unshifted control")

"""Sections, tables and code blocks of Markdown at exact bytes, in the corners of CommonMark that matter."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from evaluation.domain.segmenters.headings import pieces
from evaluation.domain.structure import MARKDOWN, PLAIN, Structure, kind_of, read_structure, structure_of
from evaluation.domain.structure_parts import line_starts
from tests.evaluation.segmenter_texts import source, texts


def read(text: str) -> tuple[bytes, Structure]:
    content = text.encode()
    return content, read_structure(content, MARKDOWN)


def test_headings_of_both_kinds_nest_and_carry_their_path() -> None:
    content, found = read("intro\n\nTitle é\n=====\ntext\n\n## Sub ##\nmore\n\nThird\n---\n\n# Next\n")
    assert [(h.level, h.title, h.path) for h in found.headings] == [
        (1, "Title é", ("Title é",)),
        (2, "Sub", ("Title é", "Sub")),
        (2, "Third", ("Title é", "Third")),
        (1, "Next", ("Next",)),
    ]
    assert next(content[h.start : h.end] for h in found.headings) == "Title é\n=====\n".encode()
    title = found.headings[0]
    assert content[title.section_end :] == b"# Next\n"
    assert content[title.body_end :].startswith(b"## Sub")
    assert [h.parent for h in found.headings] == [-1, 0, 0, -1]
    assert found.heading_path_at(0) == ()
    assert found.heading_path_at(content.index(b"more")) == ("Title é", "Sub")
    assert next((s.level, s.start, s.end) for s in found.sections) == (0, 0, title.start)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_endings_of_every_kind_keep_bytes_exact(end: str) -> None:
    lines = ["\ufeff# Ti\u0301tle 👩‍👩‍👧", "", "a | b", "--|--", "é | 👍🏽", "", "## Sub", "text"]
    content, found = read(end.join(lines))
    assert [content[h.start : h.end].decode() for h in found.headings] == [lines[0] + end, lines[6] + end]
    assert found.headings[0].title == "Ti\u0301tle 👩‍👩‍👧"
    table = found.tables[0]
    assert [[content[a:b].decode() for a, b in row] for row in table.cells] == [["a", "b"], ["é", "👍🏽"]]
    assert [content[a:b].decode() for a, b in table.rows] == ["é | 👍🏽" + end]
    assert content[slice(*table.header)].decode() == "a | b" + end + "--|--" + end


def test_marks_inside_code_quotes_and_lists_open_no_section() -> None:
    text = "```\n# fenced\n```\n\n    # indented\n\n> # quoted\n\n- # listed\n\n~~~ sh\n# open to the end"
    content, found = read(text)
    assert found.headings == ()
    assert [(b.language, b.fenced) for b in found.code_blocks] == [("", True), ("", False), ("sh", True)]
    assert content[found.code_blocks[2].start : found.code_blocks[2].end] == b"~~~ sh\n# open to the end"
    assert found.code_block_at(content.index(b"# fenced")) == found.code_blocks[0]
    assert found.code_block_at(content.index(b"> #")) is None


def test_front_matter_is_no_heading_but_a_rule_is_no_front_matter() -> None:
    assert [h.title for h in read("---\ntitle: x\n---\n# Real\n")[1].headings] == ["Real"]
    assert [h.title for h in read("\ufeff---\r\na: 1\r\n...\r\n# Real\r\n")[1].headings] == ["Real"]
    assert [h.title for h in read("---\n\nPlain\n---\n")[1].headings] == ["Plain"]
    assert [h.title for h in read("---\nnever closed\n# Real\n")[1].headings] == ["Real"]


def test_cells_end_at_unescaped_pipes_with_or_without_outer_ones() -> None:
    content, found = read("x \\| y | `z`\n:-- | --:\n| 1 | 2 | extra |\nonly\n\nafter | none\n")
    table = found.tables[0]
    assert table.columns == ("x \\| y", "`z`")
    assert [[content[a:b] for a, b in row] for row in table.cells[1:]] == [[b"1", b"2"], [b"only", b""]]
    assert len(found.tables) == 1
    at = content.index(b"2 | extra")
    assert found.table_at(at) == table
    assert (table.row_at(at), table.column_at(at)) == (0, 1)
    assert table.row_at(table.start) == -1
    assert found.table_at(content.index(b"after")) is None


def test_tables_in_quotes_and_lists_have_their_own_cells() -> None:
    content, found = read("> > | a | b |\n> > |---|---|\n> > | 1 | 2 |\n\n1. | c | d |\n   |---|---|\n   | 3 | 4 |\n")
    assert [[content[a:b] for a, b in table.cells[1]] for table in found.tables] == [[b"1", b"2"], [b"3", b"4"]]
    assert [table.columns for table in found.tables] == [("a", "b"), ("c", "d")]
    assert [table.id for table in found.tables] == ["table-1", "table-2"]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "\ufeff", "\x00", "x" * 100_000, "| " * 5_000, "> " * 2_000, "# " * 2_000]
)
def test_odd_sources_have_a_section_and_no_more(text: str) -> None:
    content, found = read(text)
    assert not found.tables
    assert found.sections[-1].end == len(content)


@given(text=texts)
def test_parts_lie_on_lines_and_code_points_and_cover_the_source(text: str) -> None:
    content, found = read(text)
    lines = set(line_starts(content).tolist())
    for part in (*found.headings, *found.tables, *found.code_blocks):
        assert {part.start, part.end} <= lines
        assert part.start < part.end
    for table in found.tables:
        assert [table.header[1], *(end for _, end in table.rows)] == [*(start for start, _ in table.rows), table.end]
        for (start, end), cells in zip([table.header, *table.rows], table.cells, strict=True):
            assert len(cells) == len(table.columns)
            assert all(start <= a <= b <= end for a, b in cells)
            assert all("\n" not in content[a:b].decode() for a, b in cells)
    made = pieces(found, content)
    assert (made[0].start, made[-1].end) == (0, len(content))
    assert all(before.end == after.start for before, after in pairwise(made))
    for offset in range(0, len(content), 7):
        section = found.section_at(offset)
        assert section.start <= offset < section.end
        inner = [h for h in found.headings if h.start <= offset < h.section_end]
        assert section.path == (inner[-1].path if inner else ())


@given(text=texts)
def test_lines_are_those_of_python_source(text: str) -> None:
    content = text.encode()
    edges = line_starts(content).tolist()
    assert [content[a:b] for a, b in pairwise(edges)] == (content.splitlines(keepends=True) or [b""])


@pytest.mark.parametrize(
    ("media_type", "name", "kind"),
    [
        ("text/markdown; charset=utf-8", "x", ("markdown", "")),
        ("text/plain", "a/B.MD", ("markdown", "")),
        ("text/plain", "rules.txt", ("plain", "")),
        ("text/x-python", "rules.txt", ("code", "python")),
        ("text/plain", "src/lend.rs", ("code", "rust")),
        ("text/html", "page.md", ("plain", "")),
    ],
)
def test_media_type_decides_and_the_name_helps_out(media_type: str, name: str, kind: tuple[str, str]) -> None:
    assert kind_of(media_type, name) == kind


def test_structure_is_read_once_per_source_and_kind() -> None:
    doc = source("# Once\n")
    assert structure_of(doc) is structure_of(source("# Once\n"))
    assert structure_of(source("# Once\n", "text/html")).kind == PLAIN
    with pytest.raises(IndexError, match="byte 7 is outside the source of 7 bytes"):
        structure_of(doc).section_at(7)

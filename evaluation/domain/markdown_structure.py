"""Headings, pipe tables and code blocks of Markdown, parsed by markdown-it-py and mapped from its lines to our bytes.

Rules
-----
* CommonMark with GitHub's pipe tables decides what is a heading, a table, a code block: `#` inside a fence is none,
  setext headings are, tables need no outer pipes, an escaped pipe is part of its cell.
* Only headings that stand in no list item and no block quote open a section: the others are quoted or listed text.
* A front matter block (`---` on the first line, a non-empty second line, closed by `---` or `...`) is no Markdown. Read
  as such, its last key would be a setext heading.
* A byte order mark belongs to the first line and hides nothing.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version as package_version
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from evaluation.domain.structure_parts import LINE_END, CodeBlock, Heading, Span, Table, line_starts
from evaluation.domain.tokens import IntArray

_PIPE = re.compile(rb"(?<!\\)\|")
_BLANKS = b" \t\r\n\x0b\x0c"
_BOM = "\ufeff"
_FRONT = re.compile(r"---[ \t]*(?:\r\n|\r|\n)(?=\S)")
_FRONT_END = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n|\r|\n|\Z)")


#: What decides where Markdown has headings and tables; part of the identity of chunks that follow them.
PARSER = f"markdown-it-py {package_version('markdown-it-py')}"


@cache
def _parser() -> MarkdownIt:
    # Inline rules find no block; leaving them out halves the time and every quadratic corner of emphasis.
    return MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])


def read_markdown(content: bytes) -> tuple[tuple[Heading, ...], tuple[Table, ...], tuple[CodeBlock, ...]]:
    """Headings, tables and code blocks of UTF-8 Markdown. Raises `UnicodeDecodeError` on other bytes."""
    text = content.decode("utf-8").removeprefix(_BOM)
    front = _front_matter(text)
    if front:
        # The same number of lines, all empty: line numbers stay what they are.
        text = "\n" * len(LINE_END.findall(text[:front])) + text[front:]
    lines = line_starts(content)
    last = lines.size - 1
    found: list[tuple[int, str, int, int]] = []
    tables: list[Table] = []
    blocks: list[CodeBlock] = []
    tokens = _parser().parse(text)
    containers = 0
    for at, token in enumerate(tokens):
        if token.type in ("blockquote_open", "list_item_open"):
            containers += 1
        elif token.type in ("blockquote_close", "list_item_close"):
            containers -= 1
        if token.map is None:
            continue
        start, end = int(lines[min(token.map[0], last)]), int(lines[min(token.map[1], last)])
        if token.type == "heading_open" and token.level == 0:
            title = " ".join(tokens[at + 1].content.split())
            found.append((int(token.tag[1]), title, start, end))
        elif token.type == "table_open":
            tables.append(_table(content, lines, tokens, at, f"table-{len(tables) + 1}", containers))
        elif token.type in ("fence", "code_block"):
            words = token.info.split(maxsplit=1)
            blocks.append(CodeBlock(start, end, words[0] if words else "", token.type == "fence"))
    return _headings(found, len(content)), tuple(tables), tuple(blocks)


def _front_matter(text: str) -> int:
    """Length in code points of the front matter block, 0 where there is none."""
    opened = _FRONT.match(text)
    closed = _FRONT_END.search(text, opened.end()) if opened else None
    return closed.end() if closed else 0


def _headings(found: list[tuple[int, str, int, int]], size: int) -> tuple[Heading, ...]:
    """Fill in what each heading reaches and stands under; one pass with the stack of open headings."""
    section_end = [size] * len(found)
    parents: list[int] = []
    open_: list[int] = []
    for index, (level, _, start, _) in enumerate(found):
        while open_ and found[open_[-1]][0] >= level:
            section_end[open_.pop()] = start
        parents.append(open_[-1] if open_ else -1)
        open_.append(index)
    made: list[Heading] = []
    for index, (level, title, start, end) in enumerate(found):
        above = made[parents[index]].path if parents[index] >= 0 else ()
        body_end = found[index + 1][2] if index + 1 < len(found) else size
        made.append(Heading(level, title, start, end, body_end, section_end[index], (*above, title), parents[index]))
    return tuple(made)


def _table(content: bytes, lines: IntArray, tokens: list[Token], at: int, name: str, containers: int) -> Table:
    opened = tokens[at]
    first, after = opened.map or [0, 0]
    last = lines.size - 1
    bounds = [int(lines[min(line, last)]) for line in range(first, after + 1)]
    columns = 0
    for token in tokens[at:]:
        columns += token.type == "th_open"
        if token.type == "thead_close":
            break
    rows = tuple(pairwise(bounds[2:]))
    cells = tuple(_cells(content, row, columns, containers) for row in ((bounds[0], bounds[1]), *rows))
    return Table(
        id=name,
        start=bounds[0],
        end=bounds[-1],
        header=(bounds[0], bounds[2]),
        rows=rows,
        columns=tuple(content[start:end].decode("utf-8") for start, end in cells[0]),
        cells=cells,
    )


def _cells(content: bytes, row: Span, columns: int, containers: int) -> tuple[Span, ...]:
    """Cell intervals of one row: cut at unescaped pipes, outer pipes and the marks of lists and quotes left out."""
    start, end = row
    line = content[start:end]
    if line.startswith(_BOM.encode()):
        start, line = start + 3, line[3:]
    if containers:
        marks = re.match(rb"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))){0,%d}" % containers, line)
        start, line = (start + marks.end(), line[marks.end() :]) if marks else (start, line)
    left = len(line) - len(line.lstrip(_BLANKS))
    start, line = start + left, line.strip(_BLANKS)
    edges = [0]
    found: list[Span] = []
    for pipe in _PIPE.finditer(line):
        found.append((edges[-1], pipe.start()))
        edges.append(pipe.end())
    found.append((edges[-1], len(line)))
    if found and found[0][0] == found[0][1]:
        found = found[1:]
    if found and found[-1][0] == found[-1][1]:
        found = found[:-1]
    cells = [_trimmed(line, begin, stop, start) for begin, stop in found[:columns]]
    return (*cells, *((start + len(line),) * 2 for _ in range(columns - len(cells))))


def _trimmed(line: bytes, begin: int, stop: int, offset: int) -> Span:
    part = line[begin:stop]
    left = len(part) - len(part.lstrip(_BLANKS))
    length = len(part.strip(_BLANKS))
    return offset + begin + left, offset + begin + left + length

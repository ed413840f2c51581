"""Where each chunk stands in its source: heading path, table with rows and columns, code file and symbol."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.frozen import Document
from evaluation.domain.structure import CODE, Structure, structure_of
from evaluation.domain.structure_parts import CodeBlock, Symbol, Table


def chunk_place(document: Document, structure: Structure, start: int, end: int) -> dict[str, Any]:
    """The place of bytes `[start, end)` of a document; canonical-ready, parts it has not are left out.

    * `headings`: the path its first byte stands under, outermost first.
    * `table`: id of the first table it touches, with `rows` (first, one past the last; counted below the header, so
      that [0, 0] is the header alone) and `columns` (names; where the bytes lie in one row, those they touch).
    * `code_file` and `symbol`: for code, the document's id and the innermost function or class at its first byte, else
      the first one that starts in it; `code_language` for a code file or the first code block it touches.
    """
    place: dict[str, Any] = {}
    if structure.size == 0 or start >= end:
        return place
    if path := structure.heading_path_at(start):
        place["headings"] = list(path)
    if (table := structure.table_at(start) or _starting(structure.tables, start, end)) is not None:
        place["table"] = table.id
        first = table.row_at(max(start, table.start))
        last = table.row_at(min(end, table.end) - 1)
        place["rows"] = [max(first, 0), last + 1]
        place["columns"] = list(table.columns)
        if first == last >= 0:
            left, right = table.column_at(max(start, table.start)), table.column_at(min(end, table.end) - 1)
            place["columns"] = list(table.columns[max(left, 0) : right + 1])
    if structure.kind == CODE:
        place["code_file"], place["code_language"] = document.document_id, structure.language
        symbol = structure.symbol_at(start) or _starting(structure.symbols, start, end)
        if symbol is not None:
            place["symbol"] = symbol.name
    elif block := structure.code_block_at(start) or _starting(structure.code_blocks, start, end):
        place["code_language"] = block.language
    return place


def chunk_places(documents: Sequence[Document], chunks: CorpusChunks) -> Iterator[dict[str, Any]]:
    """`chunk_place` of every chunk of a corpus, in order."""
    structures = [structure_of(document) for document in documents]
    for at, start, end in zip(chunks.document.tolist(), chunks.start.tolist(), chunks.end.tolist(), strict=True):
        yield chunk_place(documents[at], structures[at], start, end)


def _starting[Part: (Table, CodeBlock, Symbol)](parts: Sequence[Part], start: int, end: int) -> Part | None:
    """The first part that starts in `[start, end)`."""
    index = bisect_left(parts, start, key=lambda part: part.start)
    return parts[index] if index < len(parts) and parts[index].start < end else None

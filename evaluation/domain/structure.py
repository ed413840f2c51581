"""The structure of one source, read from its bytes: sections, tables, code, as byte intervals `[start, end)`.

Kinds
-----
`markdown` has headings, sections, pipe tables and code blocks (`markdown_structure`), `code` has functions and classes
(`code_structure`), `plain` has one section, the whole source. The media type decides; for `text/plain` the ending of
the document's name does, since import formats know few media types.

A source without headings has one section of level 0. Bytes before the first heading are a section of level 0 too, so
that every byte lies in at least one section. All lookups take byte offsets and cost a binary search.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np

from evaluation.domain.code_structure import LANGUAGE_OF_MEDIA_TYPE, LANGUAGE_OF_SUFFIX, read_symbols
from evaluation.domain.document_cache import DocumentCache
from evaluation.domain.frozen import Document
from evaluation.domain.markdown_structure import read_markdown
from evaluation.domain.structure_parts import CodeBlock, Heading, Section, Symbol, Table
from evaluation.domain.tokens import IntArray

MARKDOWN, PLAIN, CODE = "markdown", "plain", "code"

_MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown"})
_MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})


@dataclass(frozen=True)
class Structure:
    """What one source is made of. `sections` nest; `tables` and `code_blocks` do not; all are in source order.

    `language` is a code file's language ("" for the other kinds); `size` the source's bytes.
    """

    kind: str
    size: int
    language: str = ""
    headings: tuple[Heading, ...] = ()
    tables: tuple[Table, ...] = ()
    code_blocks: tuple[CodeBlock, ...] = ()
    symbols: tuple[Symbol, ...] = ()

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Bytes before the first heading (where there are any), then one section per heading, in order of start."""
        first = self.headings[0].start if self.headings else self.size
        preamble = (Section(0, first, first, 0, (), -1),) if first > 0 or not self.headings else ()
        return preamble + tuple(
            Section(h.start, h.section_end, h.body_end, h.level, h.path, i) for i, h in enumerate(self.headings)
        )

    @cached_property
    def section_starts(self) -> IntArray:
        """Start of every section, increasing."""
        return np.array([section.start for section in self.sections], dtype=np.int64)

    @cached_property
    def table_starts(self) -> IntArray:
        """Start of every table, increasing."""
        return np.array([table.start for table in self.tables], dtype=np.int64)

    @cached_property
    def _section_list(self) -> list[int]:
        return [section.start for section in self.sections]

    @cached_property
    def _symbol_list(self) -> list[int]:
        return [symbol.start for symbol in self.symbols]

    def section_at(self, offset: int) -> Section:
        """The innermost section that holds the byte at `offset`. Raises `IndexError` outside the source."""
        self._check(offset)
        return self.sections[bisect_right(self._section_list, offset) - 1]

    def heading_path_at(self, offset: int) -> tuple[str, ...]:
        """Titles of the headings the byte at `offset` stands under, outermost first; a heading's bytes are under it."""
        return self.section_at(offset).path

    def table_at(self, offset: int) -> Table | None:
        """The table that holds the byte at `offset`, None outside of tables."""
        self._check(offset)
        index = int(np.searchsorted(self.table_starts, offset, side="right")) - 1
        return self.tables[index] if index >= 0 and offset < self.tables[index].end else None

    def code_block_at(self, offset: int) -> CodeBlock | None:
        """The fenced or indented code block that holds the byte at `offset`."""
        self._check(offset)
        index = bisect_right(self.code_blocks, offset, key=lambda block: block.start) - 1
        return self.code_blocks[index] if index >= 0 and offset < self.code_blocks[index].end else None

    def symbol_at(self, offset: int) -> Symbol | None:
        """The innermost function or class that holds the byte at `offset`, None between symbols."""
        self._check(offset)
        index = bisect_right(self._symbol_list, offset) - 1
        while index >= 0 and offset >= self.symbols[index].end:
            index = self.symbols[index].parent
        return self.symbols[index] if index >= 0 else None

    def _check(self, offset: int) -> None:
        if not 0 <= offset < max(self.size, 1):
            raise IndexError(f"byte {offset} is outside the source of {self.size} bytes")


def kind_of(media_type: str, name: str = "") -> tuple[str, str]:
    """(kind, language) of a source by its media type, or by the ending of `name` where the type is plain or unknown."""
    essence = media_type.partition(";")[0].strip().lower()
    if essence in _MARKDOWN_TYPES:
        return MARKDOWN, ""
    if essence in LANGUAGE_OF_MEDIA_TYPE:
        return CODE, LANGUAGE_OF_MEDIA_TYPE[essence]
    suffix = PurePosixPath(name).suffix.lower()
    if essence in ("", "text/plain", "application/octet-stream"):
        if suffix in _MARKDOWN_SUFFIXES:
            return MARKDOWN, ""
        if suffix in LANGUAGE_OF_SUFFIX:
            return CODE, LANGUAGE_OF_SUFFIX[suffix]
    return PLAIN, ""


def read_structure(content: bytes, kind: str, language: str = "") -> Structure:
    """The structure of UTF-8 `content` read as `kind`. Raises `UnicodeDecodeError` on other bytes."""
    if kind == MARKDOWN:
        headings, tables, blocks = read_markdown(content)
        return Structure(kind, len(content), headings=headings, tables=tables, code_blocks=blocks)
    if kind == CODE:
        return Structure(kind, len(content), language, symbols=read_symbols(content, language))
    if kind != PLAIN:
        raise ValueError(f"a source is {MARKDOWN}, {PLAIN} or {CODE}, not {kind!r}")
    return Structure(kind, len(content))


_CACHE: DocumentCache[Structure] = DocumentCache()


def structure_of(document: Document, language: str = "") -> Structure:
    """The structure of a document, read once however many builds ask; `language` makes any source code of it."""
    kind, found = (CODE, language) if language else kind_of(document.media_type, document.document_id)
    return _CACHE.get(document.content, (kind, found), lambda: read_structure(document.content, kind, found))

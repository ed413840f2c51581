"""A release as a document: headings with facts, tables and paragraphs, the same whether a page or a PDF draws it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """Names with their values."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Grid:
    """A table: a header and rows of as many cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Words:
    """Paragraphs; `code` sets them as they stand."""

    paragraphs: tuple[str, ...]
    code: bool = False


type Block = Facts | Grid | Words


@dataclass(frozen=True)
class Part:
    """A heading and what stands below it. What is `detail` a screen may fold away; paper shows all."""

    heading: str
    blocks: tuple[Block, ...]
    detail: bool = False


@dataclass(frozen=True)
class ReleaseRecord:
    """The whole document. `title` names the disposition, `lede` the candidate and its plan, `stamp` is the time in UTC
    (ISO 8601) that the document bears: when it was signed, or when its sweep was sealed."""

    title: str
    lede: str
    stamp: str
    parts: tuple[Part, ...]

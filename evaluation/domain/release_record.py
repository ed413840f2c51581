"""A release as a document: headings with facts, tables and paragraphs, the same whether a page or a PDF draws it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


@dataclass(frozen=True)
class Numbers:
    """Named numbers that are read side by side."""

    rows: tuple[tuple[str, str], ...]


type Block = Facts | Grid | Numbers | Words


class Fold(StrEnum):
    """Where a screen folds a part away at first; paper shows all."""

    NEVER = "never"
    NARROW = "narrow"
    ALWAYS = "always"


@dataclass(frozen=True)
class Part:
    """A heading and what stands below it. Parts of one `group` stand together in the list of parts, by its name."""

    heading: str
    blocks: tuple[Block, ...]
    fold: Fold = Fold.NEVER
    group: str = ""


@dataclass(frozen=True)
class ReleaseRecord:
    """The whole document. `title` names the disposition, `lede` the candidate and its plan, `stamp` is the time in UTC
    (ISO 8601) that the document bears: when it was signed, or when its sweep was sealed."""

    title: str
    lede: str
    stamp: str
    parts: tuple[Part, ...]

"""Reads a dump of chunks as exported from pgvector, Qdrant or Elasticsearch: JSON Lines or Parquet, every row checked.

What is damaged is listed by line (Parquet: by row), and nothing of a damaged dump is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evaluation.domain.reanchor import Newlines, Piece
from evaluation.domain.reanchor_text import OffsetUnit

#: A dump is read whole, since its digest is checked before anything in it is believed.
MAX_BYTES = 512 * 1024 * 1024
#: How many faults a refusal quotes; all are counted.
QUOTED = 10


class DumpRefused(ValueError):
    """A dump that cannot be read or is damaged; the message lists where."""


class _Damaged(ValueError):
    """What is wrong with one row."""


class Layout(StrEnum):
    """Under which member a store's export keeps what was stored; `PLAIN` and `PGVECTOR` rows keep it on top."""

    PLAIN = "plain"
    PGVECTOR = "pgvector"
    QDRANT = "qdrant"
    ELASTICSEARCH = "elasticsearch"


class DocumentKey(StrEnum):
    """Whether a row names its document by document id or by the hex SHA-256 of the version."""

    ID = "id"
    DIGEST = "digest"


class Order(StrEnum):
    """In which order a document's chunks stood: as in the file, by claimed start, or by the field `order`."""

    FILE = "file"
    OFFSETS = "offsets"
    FIELD = "field"


_ROOTS = {Layout.PLAIN: "", Layout.PGVECTOR: "", Layout.QDRANT: "payload.", Layout.ELASTICSEARCH: "_source."}
_IDS = {Layout.ELASTICSEARCH: "_id"}
FIELDS = ("text", "document", "start", "end", "id", "order")


def default_fields(layout: Layout) -> dict[str, str]:
    """Where each value stands in a row of `layout`, unless the plan says otherwise: dots lead into members."""
    return {name: _ROOTS[layout] + name for name in FIELDS} | {"id": _IDS.get(layout, "id")}


@dataclass(frozen=True)
class DumpOptions:
    """How a dump is read. `fields`: value → path in a row; `unit` None: rows may claim no offsets."""

    parquet: bool
    fields: tuple[tuple[str, str], ...]
    documents: DocumentKey
    order: Order
    unit: OffsetUnit | None
    newlines: Newlines

    @property
    def paths(self) -> dict[str, str]:
        """`fields` as a dict."""
        return dict(self.fields)


@dataclass(frozen=True)
class Dump:
    """Pieces by document key, in order; `first_line` is where each document is named first."""

    pieces: Mapping[str, tuple[Piece, ...]] = field(repr=False)
    first_line: Mapping[str, int] = field(repr=False)
    rows: int


@dataclass(frozen=True)
class _Row:
    line: int
    document: str
    piece: Piece
    order: int | float | str | None


def read_pinned(path: str, digest: str) -> bytes:
    """The bytes of the dump, which must have the hex SHA-256 `digest`. Raises `DumpRefused`."""
    place = Path(path)
    try:
        # Looked at before it is opened: opening a pipe waits for a writer, and a device has no end.
        found = os.stat(place)
        if not stat.S_ISREG(found.st_mode):
            raise DumpRefused(f"{path!r} is no regular file; name the exported file itself")
        if found.st_size > MAX_BYTES:
            raise DumpRefused(f"{path!r} has {found.st_size:,} bytes; at most {MAX_BYTES:,} are read")
        with place.open("rb") as file:
            # Files of the kernel say they are empty and may have no end.
            content = file.read(found.st_size)
    except OSError as error:
        raise DumpRefused(f"{path!r} cannot be read: {error.strerror}; name the exported file") from error
    except ValueError as error:
        if isinstance(error, DumpRefused):
            raise
        raise DumpRefused(f"{path!r} is no path: {error}") from error
    if hashlib.sha256(content).hexdigest() != digest.lower():
        raise DumpRefused(
            f"{path!r} does not have the digest the plan pins ({digest or 'none'}): it is another file than the plan "
            "was written for. Put the right file there, or write what sha256sum prints as chunks_digest"
        )
    return content


def parse_dump(content: bytes, options: DumpOptions) -> Dump:
    """All rows of a dump, by document. Raises `DumpRefused` listing damaged rows by line, or when there is none."""
    faults: list[str] = []
    rows: list[_Row] = []
    ids: dict[str, int] = {}
    word = "row" if options.parquet else "line"
    for line, value in _parquet(content, options) if options.parquet else _lines(content):
        try:
            rows.append(_row(line, value, options, ids))
        except _Damaged as damage:
            faults.append(f"{word} {line}: {damage}")
    if faults:
        more = f"; and {len(faults) - QUOTED} more" if len(faults) > QUOTED else ""
        raise DumpRefused(f"{len(faults)} of its {word}s are damaged: {'; '.join(faults[:QUOTED])}{more}")
    if not rows:
        raise DumpRefused("it holds no chunk; export the index again")
    return _grouped(rows, options)


def _grouped(rows: list[_Row], options: DumpOptions) -> Dump:
    by_document: dict[str, list[_Row]] = {}
    for row in rows:
        by_document.setdefault(row.document, []).append(row)
    for name, group in by_document.items():
        try:
            if options.order is Order.OFFSETS:
                group.sort(key=lambda row: (row.piece.start, row.piece.end or 0))
            elif options.order is Order.FIELD:
                group.sort(key=lambda row: row.order)  # type: ignore[arg-type, return-value]
        except TypeError as error:
            raise DumpRefused(
                f"the chunks of document {name!r} cannot be put in order by {options.order}: some rows have no value "
                f"or one of another type ({error})"
            ) from error
    return Dump(
        MappingProxyType({name: tuple(row.piece for row in group) for name, group in by_document.items()}),
        MappingProxyType({name: min(row.line for row in group) for name, group in by_document.items()}),
        len(rows),
    )


def _lines(content: bytes) -> Iterator[tuple[int, Any]]:
    """(line, object) of JSON Lines; a text instead of an object says why the line could not be read."""
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            value = json.loads(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            yield number, f"byte {error.start} of the line is not UTF-8"
        except (ValueError, RecursionError) as error:
            yield number, f"no JSON ({error})"
        else:
            yield number, value if isinstance(value, dict) else None


def _parquet(content: bytes, options: DumpOptions) -> Iterator[tuple[int, Any]]:
    """(row, object) of a Parquet file, read batch by batch, needed columns only."""
    from pyarrow import ArrowException, BufferReader
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(BufferReader(content))
        there = file.schema_arrow.names
        wanted = {name: path if path in there else path.partition(".")[0] for name, path in options.fields}
        absent = sorted({wanted[name] for name in ("text", "document")} - set(there))
        if absent:
            raise DumpRefused(f"it has no column {', '.join(absent)}; its columns are {', '.join(there)}")
        number = 0
        for batch in file.iter_batches(columns=sorted(set(wanted.values()) & set(there)), batch_size=4096):
            for value in batch.to_pylist():
                number += 1
                yield number, value
    except (ArrowException, OSError) as error:
        raise DumpRefused(f"it is no readable Parquet file: {error}") from error


def _row(line: int, value: Any, options: DumpOptions, ids: dict[str, int]) -> _Row:
    """One row. `ids` remembers where each id stood. Raises `_Damaged`."""
    if not isinstance(value, Mapping):
        raise _Damaged(value if isinstance(value, str) else "no JSON object")
    paths = options.paths
    text, document = _at(value, paths["text"]), _at(value, paths["document"])
    if not isinstance(text, str):
        raise _Damaged(f"no text at {paths['text']!r}")
    if not isinstance(document, str) or not document:
        raise _Damaged(f"no document name at {paths['document']!r}")
    start, end = (_offset(value, paths[name]) for name in ("start", "end"))
    if start is not None and options.unit is None:
        raise _Damaged(f'it claims offsets at {paths["start"]!r}, but the options declare no "unit"')
    if start is not None and end is not None and end < start:
        raise _Damaged(f"it ends at {end}, before its start {start}")
    own = _at(value, paths["id"])
    if isinstance(own, (str, int)) and not isinstance(own, bool):
        before = ids.setdefault(f"{type(own).__name__}:{own}", line)
        if before != line:
            raise _Damaged(f"its id {own!r} was given at {before} already")
    order = _at(value, paths["order"])
    if options.order is Order.FIELD and not _orders(order):
        raise _Damaged(f"no place in the order at {paths['order']!r}")
    return _Row(line, document, Piece(text, start, end), order)


def _at(value: Any, path: str) -> Any:
    """The member at a dotted path (a member whose own name has the dots comes first); None where there is none.

    A text on the way is read as JSON, which is how jsonb columns are exported.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, Mapping):
        return None
    if path in value:
        return value[path]
    name, dot, rest = path.partition(".")
    return _at(value.get(name), rest) if dot else None


def _orders(value: Any) -> bool:
    """Whether a value has a place among others of its kind; NaN has none, and would leave the rows in any order."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False
    return not isinstance(value, float) or math.isfinite(value)


def _offset(row: Mapping[str, Any], path: str) -> int | None:
    """An offset, None where the row claims none. 12.0 is 12: exports of columns with gaps write it so."""
    value = _at(row, path)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise _Damaged(f"{path} is {value!r:.60}, no whole number")
    if value < 0:
        raise _Damaged(f"{path} is {value}, below zero")
    return value

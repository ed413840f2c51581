"""Reads the ledger's rows as they are stored, whatever somebody did to them.

The verifier may not trust a column's type (SQLite keeps any value anywhere) nor text to be UTF-8, so columns are read
as bytes and checked here; what cannot be read is listed in `problems`. Rows are streamed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connections, transaction

from ledger.domain.chain import timestamp

_CHUNK = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class StoredRecord:
    """A row of the chain; a column that cannot be read is empty and named in `problems`."""

    seq: int | None
    kind: str
    scope: str
    labels: bytes
    labels_bytes: bytes
    payload: bytes
    payload_digest: str
    salt: bytes
    previous: str
    link: str
    recorded_at: str
    problems: tuple[str, ...]


@dataclass(frozen=True)
class StoredResult:
    """A row of results; `problems` as in StoredRecord."""

    scope: str
    key: str
    kind: str
    payload: bytes
    encoding: str
    payload_digest: str
    problems: tuple[str, ...]


@dataclass(frozen=True)
class StoredSeal:
    """A row of seals; `problems` as in StoredRecord."""

    scope: str
    root: str
    leaf_count: int | None
    record_seq: int | None
    problems: tuple[str, ...]


@dataclass(frozen=True)
class StoredHead:
    """The head row; `problems` as in StoredRecord."""

    seq: int | None
    link: str
    problems: tuple[str, ...]


class _Columns:
    """SQL that reads a column in a form which cannot fail, by database."""

    def __init__(self, vendor: str) -> None:
        self.postgresql = vendor == "postgresql"

    def text(self, name: str) -> str:
        if self.postgresql:
            return f"convert_to({name}, 'UTF8')"
        return f"CASE WHEN typeof({name}) = 'text' THEN CAST({name} AS BLOB) END"

    def json(self, name: str) -> str:
        return f"convert_to({name}::text, 'UTF8')" if self.postgresql else self.text(name)

    def binary(self, name: str) -> str:
        return name if self.postgresql else f"CASE WHEN typeof({name}) = 'blob' THEN {name} END"

    def integer(self, name: str) -> str:
        return name if self.postgresql else f"CASE WHEN typeof({name}) = 'integer' THEN {name} END"

    def moment(self, name: str) -> str:
        if self.postgresql:
            return f"convert_to((extract(epoch from {name}) * 1000000)::text, 'UTF8')"
        return self.text(name)

    def order(self, name: str) -> str:
        """Order by UTF-8 bytes: PostgreSQL would follow the locale, SQLite does so anyway (and by its index)."""
        return f'{name} COLLATE "C"' if self.postgresql else name


class _Row:
    """Decodes one row's columns and collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def text(self, name: str, value: Any) -> str:
        if value is None:
            self.problems.append(f"{name} is no text")
            return ""
        try:
            return bytes(value).decode("utf-8")
        except UnicodeDecodeError as error:
            self.problems.append(f"{name} is not UTF-8 at byte {error.start}")
            return ""

    def binary(self, name: str, value: Any) -> bytes:
        if value is None:
            self.problems.append(f"{name} is no byte string")
            return b""
        return bytes(value)

    def integer(self, name: str, value: Any) -> int | None:
        if value is None:
            self.problems.append(f"{name} is no whole number")
            return None
        return int(value)

    def moment(self, name: str, value: Any, *, postgresql: bool) -> str:
        text = self.text(name, value)
        if not text:
            return ""
        try:
            return _moment_postgresql(text) if postgresql else _moment_sqlite(text)
        except (ValueError, OverflowError):
            self.problems.append(f"{name} is no moment the ledger writes: {text!r}")
            return ""


def _moment_postgresql(text: str) -> str:
    whole, _, rest = text.partition(".")
    if rest.strip("0"):
        raise ValueError(text)
    return timestamp(_EPOCH + timedelta(microseconds=int(whole)))


def _moment_sqlite(text: str) -> str:
    has_fraction = "." in text
    moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f" if has_fraction else "%Y-%m-%d %H:%M:%S")
    # Python reads more forms than Django writes; only the written one may stand for this moment.
    if str(moment) != text:
        raise ValueError(text)
    return timestamp(moment.replace(tzinfo=UTC))


def _stream(alias: str, sql: str, params: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    connection = connections[alias]
    if connection.vendor == "postgresql":
        # A server-side cursor lives in a transaction; reading takes no lock there.
        with transaction.atomic(using=alias), connection.chunked_cursor() as cursor:
            cursor.execute(sql, params)
            while rows := cursor.fetchmany(_CHUNK):
                yield from rows
        return
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        while rows := cursor.fetchmany(_CHUNK):
            yield from rows


def head_row(alias: str) -> StoredHead | None:
    """Return the head row, or None where there is none."""
    columns = _Columns(connections[alias].vendor)
    sql = f"SELECT {columns.integer('seq')}, {columns.text('link')} FROM ledger_head WHERE id = 1"  # noqa: S608
    with connections[alias].cursor() as cursor:
        cursor.execute(sql)
        found = cursor.fetchone()
    if found is None:
        return None
    row = _Row()
    return StoredHead(row.integer("seq", found[0]), row.text("link", found[1]), tuple(row.problems))


def records(
    alias: str, *, up_to: int | None = None, scopes: Sequence[str] | None = None
) -> Generator[StoredRecord, None, None]:
    """Yield records in chain order: at most seq `up_to`, and only those of `scopes`, where given."""
    columns = _Columns(connections[alias].vendor)
    postgresql = columns.postgresql
    where, params = _where([("seq <= %s", [up_to] if up_to is not None else None), _among("scope", scopes)])
    sql = f"""SELECT {columns.integer("seq")}, {columns.text("kind")}, {columns.text("scope")},
        {columns.json("labels")}, {columns.binary("labels_bytes")}, {columns.binary("payload")},
        {columns.text("payload_digest")}, {columns.binary("salt")}, {columns.text("previous")},
        {columns.text("link")}, {columns.moment("recorded_at")}
        FROM ledger_record {where} ORDER BY seq"""  # noqa: S608
    for found in _stream(alias, sql, params):
        row = _Row()
        yield StoredRecord(
            seq=row.integer("seq", found[0]),
            kind=row.text("kind", found[1]),
            scope=row.text("scope", found[2]),
            labels=row.binary("labels", found[3]),
            labels_bytes=row.binary("labels_bytes", found[4]),
            payload=row.binary("payload", found[5]),
            payload_digest=row.text("payload_digest", found[6]),
            salt=row.binary("salt", found[7]),
            previous=row.text("previous", found[8]),
            link=row.text("link", found[9]),
            recorded_at=row.moment("recorded_at", found[10], postgresql=postgresql),
            problems=tuple(row.problems),
        )


def results(alias: str, *, scopes: Sequence[str] | None = None) -> Generator[StoredResult, None, None]:
    """Yield results ordered by the UTF-8 bytes of scope, then key; only those of `scopes` where given."""
    columns = _Columns(connections[alias].vendor)
    where, params = _where([_among("scope", scopes)])
    sql = f"""SELECT {columns.text("scope")}, {columns.text("key")}, {columns.text("kind")},
        {columns.binary("payload")}, {columns.text("encoding")}, {columns.text("payload_digest")}
        FROM ledger_result {where} ORDER BY {columns.order("scope")}, {columns.order("key")}"""  # noqa: S608
    for found in _stream(alias, sql, params):
        row = _Row()
        yield StoredResult(
            scope=row.text("scope", found[0]),
            key=row.text("key", found[1]),
            kind=row.text("kind", found[2]),
            payload=row.binary("payload", found[3]),
            encoding=row.text("encoding", found[4]),
            payload_digest=row.text("payload_digest", found[5]),
            problems=tuple(row.problems),
        )


def leaves(alias: str, scope: str) -> Iterator[tuple[str, str, str]]:
    """Yield (key, kind, payload digest) of a scope's results in the UTF-8 order of their keys.

    Raises ValueError for a row whose columns cannot be read.
    """
    columns = _Columns(connections[alias].vendor)
    sql = f"""SELECT {columns.text("key")}, {columns.text("kind")}, {columns.text("payload_digest")}
        FROM ledger_result WHERE scope = %s ORDER BY {columns.order("key")}"""  # noqa: S608
    for found in _stream(alias, sql, [scope]):
        row = _Row()
        leaf = (row.text("key", found[0]), row.text("kind", found[1]), row.text("payload_digest", found[2]))
        if row.problems:
            raise ValueError(f"scope {scope!r}, result {leaf[0]!r}: {'; '.join(row.problems)}; run verify_ledger.")
        yield leaf


def seals(alias: str) -> Iterator[StoredSeal]:
    """Yield seals by chain position."""
    columns = _Columns(connections[alias].vendor)
    sql = f"""SELECT {columns.text("scope")}, {columns.text("root")}, {columns.integer("leaf_count")},
        {columns.integer("record_seq")} FROM ledger_seal ORDER BY record_seq"""  # noqa: S608
    for found in _stream(alias, sql, []):
        row = _Row()
        yield StoredSeal(
            scope=row.text("scope", found[0]),
            root=row.text("root", found[1]),
            leaf_count=row.integer("leaf_count", found[2]),
            record_seq=row.integer("record_seq", found[3]),
            problems=tuple(row.problems),
        )


def beyond_head(alias: str) -> tuple[int, int | None]:
    """Return how many records stand beyond the head and the head's seq now, read in one statement."""
    with connections[alias].cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM ledger_record WHERE seq > (SELECT seq FROM ledger_head WHERE id = 1)),"
            " (SELECT seq FROM ledger_head WHERE id = 1)"
        )
        count, seq = cursor.fetchone()
    return int(count), seq if isinstance(seq, int) else None


def _among(column: str, values: Sequence[str] | None) -> tuple[str, list[Any] | None]:
    if values is None:
        return "", None
    if not values:
        return "1 = 0", []
    return f"{column} IN ({', '.join(['%s'] * len(values))})", list(values)


def _where(conditions: list[tuple[str, list[Any] | None]]) -> tuple[str, list[Any]]:
    kept = [(text, params) for text, params in conditions if params is not None]
    params = [value for _, values in kept for value in values]
    return ("WHERE " + " AND ".join(text for text, _ in kept)) if kept else "", params

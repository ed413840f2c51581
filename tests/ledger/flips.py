"""Changes one byte, or the least unit, of one stored value, in whatever table and column the ledger compares."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from django.apps import apps
from django.db import Error, connection, models, transaction

from tests.architecture.pages import code, rows
from tests.ledger import tampering

LEDGER = Path("docs") / "ledger.md"
OURS = ("annotate", "evaluation", "ledger")
#: What was never submitted is nobody's statement yet, and the page says so.
SUBMITTED: dict[str, dict[str, Any]] = {
    "annotate_pass": {"submissions__isnull": False},
    "annotate_mark": {"work__submissions__isnull": False},
    "annotate_supportsetrevision": {"work__submissions__isnull": False},
    "annotate_contractrevision": {"work__submissions__isnull": False},
}


@dataclass(frozen=True)
class Column:
    """A column that `docs/ledger.md` says is compared."""

    table: str
    field: str

    def __str__(self) -> str:
        return f"{self.table}.{self.field}"


def compared_columns() -> list[Column]:
    """Return every compared column, in the order of the page."""
    return [Column(row[0].strip("`"), name) for row in rows(LEDGER, "columns") for name in code(row[1])]


def model_of(column: Column) -> type[models.Model]:
    """Return the model of a column that is not the ledger's own."""
    return _models()[column.table]


def _models() -> dict[str, type[models.Model]]:
    return {model._meta.db_table: model for label in OURS for model in apps.get_app_config(label).get_models()}


def change(random: Random, column: Column) -> str:
    """Change a random row's value by one byte or unit; return what was done, "" where that said nothing new.

    Nothing new says a value the database refuses, and one that reads as it did: blanks in JSON, padding bits of a
    deflated payload. Draw again then.
    """
    if column.table in tampering.COLUMNS:
        # A scope that is not sealed promises less, and the page says so.
        among = "scope IN (SELECT scope FROM ledger_seal)" if column.table == "ledger_result" else ""
        changed = tampering.change_one_byte(random, column.table, column.field, among)
        return f"a byte of {column}" if changed else ""
    model = _models()[column.table]
    field = model._meta.get_field(column.field)
    there = model._base_manager.filter(**SUBMITTED.get(column.table, {})).order_by("pk")
    key = random.choice(list(there.values_list("pk", flat=True).distinct()))
    row = model._base_manager.filter(pk=key)
    before = _read(row, field)
    ((raw,),) = tampering.run(f'SELECT "{field.column}" FROM {column.table} WHERE id = %s', [key])
    try:
        with transaction.atomic():
            after = _other(random, field, raw) if isinstance(field, models.ForeignKey) else _changed(random, field, raw)
            if after == raw or not _write(column.table, field, key, after):
                return ""
            if connection.vendor == "postgresql":
                connection.check_constraints()
            if _read(row, field) == before:
                return ""
    except Error:
        return ""
    return f"{column} of row {key}: {raw!r} became {after!r}"


def _write(table: str, field: models.Field[Any, Any], key: int, value: Any) -> bool:
    text = connection.vendor == "sqlite" and isinstance(value, bytes) and not isinstance(field, models.BinaryField)
    # CAST keeps the column's type while the bytes need not be UTF-8.
    place = "CAST(%s AS TEXT)" if text else "%s"
    return bool(tampering.run(f'UPDATE {table} SET "{field.column}" = {place} WHERE id = %s', [value, key]))


class _Unreadable:
    """What a damaged value reads as; equal to nothing."""


def _read(row: models.QuerySet[Any], field: models.Field[Any, Any]) -> Any:
    """Return the value as the models read it, inflated where it is deflated."""
    try:
        with transaction.atomic():
            (value,) = row.values_list(field.attname, flat=True)
            value = bytes(value) if isinstance(value, memoryview) else value
            deflated = field.model._meta.db_table == "evaluation_sweepreport" and field.name == "body"
            return zlib.decompress(value) if deflated else value
    except (Error, ValueError, TypeError, zlib.error):
        return _Unreadable()


def _other(random: Random, field: models.ForeignKey[Any, Any], raw: Any) -> Any:
    """Return the key of another row there is, which both databases take; on SQLite sometimes of one there is not."""
    there = [key for key in field.related_model._base_manager.values_list("pk", flat=True) if key != raw]
    steps = [*sorted(there), *([None] if field.null and raw is not None else [])]
    if connection.vendor == "sqlite" and (not steps or random.random() < 0.3):
        return (raw or 0) ^ (1 << random.randrange(6))
    return random.choice(steps) if steps else raw


def _changed(random: Random, field: models.Field[Any, Any], raw: Any) -> Any:
    sqlite = connection.vendor == "sqlite"
    if isinstance(field, models.IntegerField):
        if raw is None:
            return random.choice([0, 1, 2, 3])
        steps = [raw + 1, raw - 1, raw ^ (1 << random.randrange(6)), *([None] if field.null else [])]
        return random.choice(steps)
    if isinstance(field, models.BooleanField):
        return None if field.null and random.random() < 0.3 else not raw
    if isinstance(field, models.BinaryField):
        return tampering.flip(random, bytes(raw))
    if raw is None:
        return "2026-05-04"
    if isinstance(raw, datetime) and not sqlite:
        return raw + timedelta(microseconds=random.choice([-1, 1]))
    if isinstance(raw, date) and not sqlite:
        return raw + timedelta(days=random.choice([-1, 1]))
    if isinstance(field, models.JSONField):
        text = raw if isinstance(raw, str) else json.dumps(raw)
        if not json.loads(text):
            # One byte of [] or {} makes no JSON, which both databases refuse: the least that can be added.
            return '["x"]' if text.startswith("[") else '{"x": 1}'
        after = tampering.flip(random, text.encode())
        return after if sqlite else after.decode("utf-8", "replace")
    data = tampering.flip(random, str(raw).encode())
    return data if sqlite else data.decode("utf-8", "replace")

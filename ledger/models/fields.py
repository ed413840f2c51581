"""Column types of the ledger that read the same on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.lookups import Lookup

if TYPE_CHECKING:
    _AnyLookup = Lookup[Any]
else:
    _AnyLookup = Lookup


class BytesField(models.BinaryField):
    """A binary column that always reads as `bytes` (drivers may hand out memoryview)."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> bytes | None:
        """Return plain bytes."""
        return None if value is None else bytes(value)


class LabelsField(models.JSONField):
    """A JSON array of labels to filter by; the bytes that are hashed stand in their own column."""


class _LabelsLookup(_AnyLookup):
    """Compares the column's array with a given set of labels."""

    prepare_rhs = False

    def _given(self) -> str:
        if isinstance(self.rhs, str):
            raise TypeError(f"{self.lookup_name}={self.rhs!r}: give a collection of labels, not one string.")
        return json.dumps(sorted(self.rhs))


@LabelsField.register_lookup
class LabelsWithin(_LabelsLookup):
    """Every label of the row is among the given ones (a row without labels always is)."""

    lookup_name = "within"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """SQLite: no element of the column is missing from the given array."""
        column, params = self.process_lhs(compiler, connection)
        given = "SELECT value FROM json_each(%s)"
        sql = f"NOT EXISTS (SELECT 1 FROM json_each({column}) AS held WHERE held.value NOT IN ({given}))"  # noqa: S608
        return sql, (*params, self._given())

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """PostgreSQL: jsonb containment."""
        column, params = self.process_lhs(compiler, connection)
        return f"{column} <@ %s::jsonb", (*params, self._given())


@LabelsField.register_lookup
class LabelsHold(_LabelsLookup):
    """The row carries every one of the given labels."""

    lookup_name = "hold"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """SQLite: no given label is missing from the column."""
        column, params = self.process_lhs(compiler, connection)
        held = f"SELECT value FROM json_each({column})"  # noqa: S608
        sql = f"NOT EXISTS (SELECT 1 FROM json_each(%s) AS given WHERE given.value NOT IN ({held}))"  # noqa: S608
        return sql, (self._given(), *params)

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """PostgreSQL: jsonb containment."""
        column, params = self.process_lhs(compiler, connection)
        return f"{column} @> %s::jsonb", (*params, self._given())

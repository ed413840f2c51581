"""Locks a scope of results, so that a seal and a result that arrives at the same moment cannot miss each other."""

from __future__ import annotations

import hashlib

from django.db import connections

_SPACE = b"cutline.ledger.scope\x00"


def lock_scope(alias: str, scope: str, *, exclusive: bool) -> None:
    """Lock `scope` until the transaction ends: shared for writers of results, exclusive for the seal.

    PostgreSQL: a transaction-level advisory lock on 64 bits of the scope's hash (two scopes that share them only wait
    for each other). SQLite needs none: its write transactions run one after another.
    """
    connection = connections[alias]
    if connection.vendor != "postgresql":
        return
    number = int.from_bytes(hashlib.sha256(_SPACE + scope.encode()).digest()[:8], "big", signed=True)
    function = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [number])

"""Put deterministic results under their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import batched
from typing import Any

from django.db import connections, router

from ledger.domain import chain
from ledger.domain.canonical import canonical_bytes, digest
from ledger.domain.encoding import capped, encode
from ledger.models import Result, Seal
from ledger.models.result import MAX_KEY
from ledger.services.append import LedgerError
from ledger.services.scopelock import lock_scope

_BATCH = 200


class ResultConflict(LedgerError):
    """The same key came with other bytes, or twice with different ones: the computation is not deterministic."""


class ScopeSealed(LedgerError):
    """The scope is closed by a seal."""


@dataclass(frozen=True)
class ResultEntry:
    """One result: a key unique in its scope, a kind, and a payload with canonical bytes (at most 8 MiB)."""

    key: str
    kind: str
    payload: Any


@dataclass(frozen=True)
class StoredEntry:
    """One result as it is stored already, its bytes compared with its digest (`stored_entries`)."""

    key: str
    kind: str
    payload: bytes
    encoding: str
    payload_digest: str


def stored_entries(scope: str, leaves: Mapping[str, tuple[str, str]]) -> list[StoredEntry]:
    """Return the results of `scope` under the keys of `leaves` for another scope, without reading their payloads.

    `leaves` gives each key's kind and payload digest, as `sealed_leaves` does. Raises LedgerError for one that is
    missing, damaged or not that leaf.
    """
    found = []
    for batch in batched(sorted(leaves), _BATCH):
        for row in Result.objects.filter(scope=scope, key__in=batch):
            try:
                whole = (row.kind, digest(row.plain)) == leaves[row.key]
            except ValueError as error:
                raise LedgerError(f"result {row.key!r} of scope {scope!r}: {error}") from error
            if not whole:
                raise LedgerError(f"result {row.key!r} of scope {scope!r} is not what was sealed; run verify_ledger.")
            found.append(StoredEntry(row.key, row.kind, bytes(row.payload), row.encoding, leaves[row.key][1]))
    if len(found) != len(leaves):
        raise LedgerError(f"scope {scope!r} holds {len(found)} of {len(leaves)} results; run verify_ledger.")
    return found


def put_results(scope: str, entries: Iterable[ResultEntry | StoredEntry]) -> int:
    """Store results and return how many entries were given; an identical one that is there already is left as it is.

    Call it inside a transaction, before any `append` in the same transaction (locks are taken in that order).
    Raises ResultConflict when a key comes with another kind or other bytes than before, ScopeSealed once `scope` is
    sealed, LedgerError outside a transaction, and what `append` raises for payloads and words. Nothing of the call is
    kept when it raises and the caller's transaction rolls back.
    """
    alias = router.db_for_write(Result)
    if not connections[alias].in_atomic_block:
        raise LedgerError(
            f"put_results({scope!r}) was called outside a transaction: open transaction.atomic() around it."
        )
    chain.check_word("scope", scope, chain.MAX_SCOPE)
    lock_scope(alias, scope, exclusive=False)
    if Seal.objects.using(alias).filter(scope=scope).exists():
        raise ScopeSealed(f"scope {scope!r} is sealed: no result can be added. A new run needs a scope of its own.")
    count = 0
    for batch in batched(entries, _BATCH):
        _put_batch(alias, scope, batch)
        count += len(batch)
    return count


def _put_batch(alias: str, scope: str, batch: tuple[ResultEntry | StoredEntry, ...]) -> None:
    rows: dict[str, Result] = {}
    for entry in batch:
        row = _row(scope, entry)
        same = rows.setdefault(entry.key, row)
        if (same.kind, same.payload_digest) != (row.kind, row.payload_digest):
            raise ResultConflict(_conflict(scope, same, row.kind, row.payload_digest))
    results = Result.objects.using(alias)
    # Insert first and compare afterwards: two workers that bring the same key at once both come through.
    results.bulk_create(rows.values(), ignore_conflicts=True)
    kept = {
        key: (kind, payload_digest)
        for key, kind, payload_digest in results.filter(scope=scope, key__in=list(rows)).values_list(
            "key", "kind", "payload_digest"
        )
    }
    for key, row in rows.items():
        if key not in kept:
            raise LedgerError(f"result {key!r} of scope {scope!r} was not stored: the database refused the row.")
        if kept[key] != (row.kind, row.payload_digest):
            raise ResultConflict(_conflict(scope, row, *kept[key]))


def _row(scope: str, entry: ResultEntry | StoredEntry) -> Result:
    chain.check_word("key", entry.key, MAX_KEY)
    chain.check_word("kind", entry.kind, chain.MAX_KIND)
    if isinstance(entry, StoredEntry):
        return Result(
            scope=scope,
            key=entry.key,
            kind=entry.kind,
            payload=entry.payload,
            encoding=entry.encoding,
            payload_digest=entry.payload_digest,
        )
    data = capped(canonical_bytes(entry.payload), f"result {entry.key!r} ({entry.kind})")
    encoding, stored = encode(data)
    return Result(
        scope=scope, key=entry.key, kind=entry.kind, payload=stored, encoding=encoding, payload_digest=digest(data)
    )


def _conflict(scope: str, row: Result, kind: str, payload_digest: str) -> str:
    return (
        f"result {row.key!r} of scope {scope!r} came as {row.kind} {row.payload_digest[:16]}… and as "
        f"{kind} {payload_digest[:16]}…: results must be the same however often they are computed."
    )

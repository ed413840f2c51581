"""Append one record to the chain."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from django.db import connections, router, transaction
from django.utils import timezone

from ledger.domain import chain
from ledger.domain.canonical import canonical_bytes, digest
from ledger.domain.encoding import capped
from ledger.models import Head, Record


class LedgerError(RuntimeError):
    """The ledger was used wrongly or its chain does not hold together."""


def append(kind: str, payload: Any, scope: str, labels: Sequence[str] = ()) -> Record:
    """Append a record and return it. Call it inside the transaction that makes the change it records.

    `payload` is anything with canonical bytes (ledger.domain.canonical), at most 8 MiB of them
    (`MAX_PAYLOAD_BYTES`); `scope` and `labels` are opaque to the ledger: selectors filter by them. The head row is
    locked until the transaction ends (row lock on PostgreSQL; SQLite's writers queue at BEGIN IMMEDIATE), so append
    last, and put results before appending.

    Raises LedgerError outside a transaction or where the head is missing, CanonicalError, PayloadTooLarge, or
    ValueError for a kind, scope or label that is empty, too long or not printable.
    """
    alias = router.db_for_write(Record)
    if not connections[alias].in_atomic_block:
        raise LedgerError(
            f"append({kind!r}) was called outside a transaction: open transaction.atomic() around the change and "
            "its record, so that neither is kept without the other."
        )
    chain.check_word("kind", kind, chain.MAX_KIND)
    chain.check_word("scope", scope, chain.MAX_SCOPE)
    held = chain.label_set(labels)
    data = capped(canonical_bytes(payload), f"record {kind!r}")
    payload_digest = digest(data)
    salt = os.urandom(chain.SALT_BYTES)
    head = locked_head(alias)
    recorded_at = timezone.now()
    seq, previous = head.seq + 1, head.link
    link = chain.link_hash(
        seq=seq,
        kind=kind,
        scope=scope,
        labels=held,
        recorded_at=chain.timestamp(recorded_at),
        payload=chain.commitment(salt, payload_digest),
        previous=previous,
    )
    record = Record(
        seq=seq,
        kind=kind,
        scope=scope,
        labels=list(held),
        labels_bytes=canonical_bytes(held),
        payload=data,
        payload_digest=payload_digest,
        salt=salt,
        previous=previous,
        link=link,
        recorded_at=recorded_at,
    )
    # Without a savepoint an error here condemns the caller's whole transaction: nobody who catches it can keep a moved
    # head without its record, nor the change without either.
    with transaction.atomic(using=alias, savepoint=False):
        moved = Head.objects.using(alias).filter(pk=Head.THE_ONE, seq=head.seq, link=head.link)
        if moved.update(seq=seq, link=link) != 1:
            raise LedgerError("the ledger's head moved under its lock: on SQLite set transaction_mode to IMMEDIATE.")
        record.save(force_insert=True, using=alias)
    return record


def locked_head(alias: str) -> Head:
    """Return the head, locked until the transaction ends; the first call on an empty ledger makes it.

    Raises LedgerError where records exist and the head is gone: a chain is never silently begun anew.
    """
    heads = Head.objects.using(alias)
    head = heads.select_for_update().filter(pk=Head.THE_ONE).first()
    if head is not None:
        return head
    if Record.objects.using(alias).exists():
        # The very first append of another connection may have been committed since we looked: look again.
        head = heads.select_for_update().filter(pk=Head.THE_ONE).first()
        if head is None:
            raise LedgerError("the ledger has records but no head row: run manage.py verify_ledger before going on.")
        return head
    heads.bulk_create([Head()], ignore_conflicts=True)
    return heads.select_for_update().get(pk=Head.THE_ONE)

"""Seal a scope of results under one Merkle root."""

from __future__ import annotations

from django.db import connections, router

from ledger.domain.encoding import leaf_content
from ledger.domain.merkle import Accumulator
from ledger.models import Seal
from ledger.services.append import LedgerError, append
from ledger.services.scopelock import lock_scope
from ledger.services.stored import leaves

SEALED_KIND = "sweep.sealed"


def seal(scope: str, expected: int | None) -> Seal:
    """Close `scope` and return its seal; a scope that is sealed already returns the seal it has.

    The root covers each result's key, kind and payload digest, in key order, and not the scope's name: the same
    results give the same root whoever computed them. `expected` is the number of results there must be (None: any).
    Also appends the record `sweep.sealed`. Raises LedgerError outside a transaction or when the count differs.
    """
    alias = router.db_for_write(Seal)
    if not connections[alias].in_atomic_block:
        raise LedgerError(f"seal({scope!r}) was called outside a transaction: open transaction.atomic() around it.")
    lock_scope(alias, scope, exclusive=True)
    there = Seal.objects.using(alias).filter(scope=scope).first()
    accumulator = Accumulator()
    if there is None:
        for key, kind, payload_digest in leaves(alias, scope):
            accumulator.add(key, leaf_content(kind, payload_digest))
    count = accumulator.count if there is None else there.leaf_count
    if expected is not None and count != expected:
        raise LedgerError(f"scope {scope!r} holds {count} results, expected {expected}: it cannot be sealed as whole.")
    if there is not None:
        return there
    root = accumulator.root()
    record = append(SEALED_KIND, {"leaf_count": count, "root": root, "scope": scope}, scope)
    return Seal.objects.using(alias).create(scope=scope, root=root, leaf_count=count, record_seq=record.seq)


def sealed_leaves(scope: str, root: str) -> dict[str, tuple[str, str]]:
    """Return kind and payload digest of every result of a sealed scope by key, in key order.

    The root is computed again from what is there: raises LedgerError where it is not that of the seal, or not `root`,
    and where rows cannot be read.
    """
    alias = router.db_for_read(Seal)
    there = Seal.objects.using(alias).filter(scope=scope).first()
    if there is None:
        raise LedgerError(f"scope {scope!r} is not sealed.")
    accumulator, found = Accumulator(), {}
    try:
        for key, kind, payload_digest in leaves(alias, scope):
            accumulator.add(key, leaf_content(kind, payload_digest))
            found[key] = (kind, payload_digest)
    except ValueError as error:
        raise LedgerError(str(error)) from error
    if not there.root == root == accumulator.root():
        raise LedgerError(f"scope {scope!r}: its results are not those of the root {root}; run verify_ledger.")
    return found

"""Verify the ledger in the database: recompute all of it and say what does not hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext, suppress

from django.db import DEFAULT_DB_ALIAS, connections, transaction

from ledger import registry, triggers
from ledger.domain import chain
from ledger.domain.audit import ChainAudit, Link, SealAudit, SealClaim, read_claim
from ledger.domain.canonical import CanonicalError, digest, parse_canonical
from ledger.domain.chain import ExternalHead
from ledger.domain.encoding import decode
from ledger.domain.findings import Finding
from ledger.domain.report import Enough, Notebook, Report
from ledger.models import Record
from ledger.services import stored
from ledger.services.seal import SEALED_KIND

RECORDS, RESULTS, SEALS, HEAD = "ledger_record", "ledger_result", "ledger_seal", "ledger_head"


def verify(
    head: ExternalHead | None = None,
    *,
    using: str = DEFAULT_DB_ALIAS,
    progress: Callable[[int], None] | None = None,
    first: bool = False,
) -> Report:
    """Recompute every digest, link, canonical form and seal, then call the verifiers the apps registered.

    Rows are streamed; records that arrive meanwhile are left for the next time. `head` is one noted earlier outside
    the database: without it, a chain that was cut off or rewritten as a whole cannot be told from an honest one, and
    the report's notes say so. `progress` is called with the number of rows read so far, every 1,000 rows. With `first`
    it stops at the first finding, and the report counts what was read until then.
    """
    notebook, audit = Notebook(first), ChainAudit(RECORDS, head)
    counts = Counter[str]()
    with suppress(Enough):
        _verify(notebook, audit, counts, head, using, _ticker(progress))
    return notebook.report(head=audit.last, records=audit.count, results=counts["results"], seals=counts["seals"])


def _verify(
    notebook: Notebook,
    audit: ChainAudit,
    counts: Counter[str],
    head: ExternalHead | None,
    using: str,
    tick: Callable[[], None],
) -> None:
    now = _head(notebook, using)
    claims: dict[str, SealClaim] = {}
    with closing(stored.records(using, up_to=now.seq if now else None)) as rows:
        for row in rows:
            tick()
            notebook.add(_check_record(row, audit, claims, using))
    notebook.add(audit.finish(now))
    _check_beyond(notebook, using, now)
    seals = _check_seal_rows(notebook, using, now or audit.last)
    sealing = SealAudit(claims, seals, SEALS)
    notebook.add(sealing.rows())
    counts["seals"] = len(seals)
    with closing(stored.results(using)) as found:
        for result in found:
            tick()
            counts["results"] += 1
            notebook.add(_check_result(result))
            notebook.add(sealing.leaf(result.scope, result.key, result.kind, result.payload_digest))
    notebook.add(sealing.finish())
    notebook.add(_dangling(using))
    for name, verifier in registry.tables().items():
        notebook.add(_guarded(f"table {name}", None, verifier, using))
    _write_notes(notebook, head, sealing, using)


def _ticker(progress: Callable[[int], None] | None) -> Callable[[], None]:
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1
        if progress is not None and count % 1000 == 0:
            progress(count)

    return tick


def _head(notebook: Notebook, using: str) -> ExternalHead | None:
    row = stored.head_row(using)
    if row is None:
        return None
    if row.problems or row.seq is None:
        notebook.found("head.unreadable", None, HEAD, "; ".join(row.problems))
        return None
    return ExternalHead(row.seq, row.link)


def _check_record(
    row: stored.StoredRecord, audit: ChainAudit, claims: dict[str, SealClaim], using: str
) -> Iterator[Finding]:
    faults = list(_record_faults(row))
    yield from faults
    if row.seq is None:
        return
    broken = bool(row.problems) or not chain.HEX_DIGEST.fullmatch(row.payload_digest)
    labels = _labels(row.labels_bytes)
    link = Link(
        seq=row.seq,
        kind=row.kind,
        scope=row.scope,
        labels=labels or (),
        recorded_at=row.recorded_at,
        payload="" if broken else chain.commitment(row.salt, row.payload_digest),
        previous=row.previous,
        link=row.link,
        sound=not broken and labels is not None,
    )
    chained = list(audit.add(link))
    yield from chained
    kind = registry.find_kind(row.kind)
    if kind is None:
        yield Finding("kind.unknown", row.seq, RECORDS, f"no app registered the kind {row.kind!r}.")
    if faults:
        return
    if row.kind == SEALED_KIND:
        claim = read_claim(row.seq, parse_canonical(row.payload))
        if claim is None:
            yield Finding("seal.record", row.seq, RECORDS, "the payload is not a seal's.")
        else:
            claims.setdefault(claim.scope, claim)
    if kind is not None and kind.verifier is not None and not chained:
        verifier, record = kind.verifier, _as_record(row.seq, row, using)
        yield from _guarded(f"verifier of {row.kind}", row.seq, lambda: verifier(record), using)


def _record_faults(row: stored.StoredRecord) -> Iterator[Finding]:
    if row.problems:
        yield Finding("record.unreadable", row.seq, RECORDS, "; ".join(row.problems) + ".")
        return
    try:
        parse_canonical(row.payload)
    except CanonicalError as error:
        yield Finding("record.payload", row.seq, RECORDS, f"the payload is not canonical: {error}")
    if digest(row.payload) != row.payload_digest:
        yield Finding("record.digest", row.seq, RECORDS, "the payload does not have the digest recorded with it.")
    if len(row.salt) != chain.SALT_BYTES:
        yield Finding("record.salt", row.seq, RECORDS, f"the salt has {len(row.salt)} bytes.")
    labels = _labels(row.labels_bytes)
    if labels is None:
        yield Finding("record.labels", row.seq, RECORDS, "the labels are not canonical.")
    elif not _same_labels(row.labels, labels):
        yield Finding("record.labels", row.seq, RECORDS, "the labels to query by differ from the recorded ones.")


def _labels(data: bytes) -> tuple[str, ...] | None:
    try:
        value = parse_canonical(data)
        labels = chain.label_set(value) if isinstance(value, list) else None
    except (CanonicalError, ValueError, TypeError):
        return None
    return labels if labels is not None and list(labels) == value else None


def _same_labels(copy: bytes, labels: tuple[str, ...]) -> bool:
    try:
        return bool(json.loads(copy) == list(labels))
    except ValueError:
        return False


def _as_record(seq: int, row: stored.StoredRecord, using: str) -> Record:
    record = Record(
        seq=seq,
        kind=row.kind,
        scope=row.scope,
        labels=list(_labels(row.labels_bytes) or ()),
        labels_bytes=row.labels_bytes,
        payload=row.payload,
        payload_digest=row.payload_digest,
        salt=row.salt,
        previous=row.previous,
        link=row.link,
        recorded_at=chain.parse_timestamp(row.recorded_at),
    )
    record._state.adding = False
    record._state.db = using
    return record


def _guarded(where: str, seq: int | None, verifier: Callable[[], Iterable[Finding]], using: str) -> Iterator[Finding]:
    """Run an app's verifier; one that breaks on damaged rows becomes a finding, and the others still run."""
    # A failed statement would spoil the transaction our own cursor may live in, hence the savepoint.
    inside = connections[using].in_atomic_block
    try:
        with transaction.atomic(using=using) if inside else nullcontext():
            found = list(verifier())
    except Exception as error:
        found = [Finding("verifier.failed", seq, where, f"{type(error).__name__}: {error}")]
    yield from found


def _dangling(using: str) -> Iterator[Finding]:
    """Find rows that name a row which is not there. PostgreSQL keeps them out; SQLite only while it is asked to."""
    if connections[using].vendor != "sqlite":
        return
    with connections[using].cursor() as cursor:
        cursor.execute("PRAGMA foreign_key_check")
        for table, row, parent, _ in cursor.fetchall():
            yield Finding("row.dangling", None, f"{table} row {row}", f"it names a row of {parent} that is not there.")


def _check_beyond(notebook: Notebook, using: str, head: ExternalHead | None) -> None:
    if head is None:
        return
    count, _ = stored.beyond_head(using)
    if count:
        notebook.found("chain.beyond", head.seq, RECORDS, f"{count} records stand beyond the head.")


def _check_seal_rows(notebook: Notebook, using: str, head: ExternalHead) -> dict[str, SealClaim]:
    """Return the seals by scope; those made after the head was read are left for the next time."""
    claims = {}
    for row in stored.seals(using):
        if row.problems or row.leaf_count is None or row.record_seq is None:
            notebook.found("seal.unreadable", row.record_seq, SEALS, "; ".join(row.problems) + ".")
        elif row.record_seq <= head.seq or not _made_since(using, row.record_seq):
            claims[row.scope] = SealClaim(row.scope, row.root, row.leaf_count, row.record_seq)
    return claims


def _made_since(using: str, record_seq: int) -> bool:
    _, now = stored.beyond_head(using)
    return now is not None and record_seq <= now


def _check_result(row: stored.StoredResult) -> Iterator[Finding]:
    where = f"{RESULTS} {row.scope!r} {row.key!r}"
    if row.problems:
        yield Finding("result.unreadable", None, where, "; ".join(row.problems) + ".")
        return
    try:
        plain = decode(row.encoding, row.payload)
    except ValueError as error:
        yield Finding("result.encoding", None, where, f"the payload cannot be read: {error}")
        return
    try:
        parse_canonical(plain)
    except CanonicalError as error:
        yield Finding("result.payload", None, where, f"the payload is not canonical: {error}")
    if digest(plain) != row.payload_digest:
        yield Finding("result.digest", None, where, "the payload does not have the digest recorded with it.")


def _write_notes(notebook: Notebook, head: ExternalHead | None, sealing: SealAudit, using: str) -> None:
    if head is None:
        notebook.notes.append(
            "no head from outside was given: a chain cut off or rewritten as a whole would not be noticed."
        )
    if sealing.unsealed:
        names = ", ".join(sealing.unsealed[:5]) + ("…" if len(sealing.unsealed) > 5 else "")
        notebook.notes.append(
            f"{len(sealing.unsealed)} scopes are not sealed ({names}): their results have sound digests, "
            "but one replaced as a whole or deleted would not be noticed."
        )
    notebook.notes.extend(triggers.missing(using))

"""Export the ledger as a folder of JSON Lines with a manifest."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS

from ledger import registry
from ledger.domain import bundle, chain
from ledger.domain.canonical import (
    MIN_KEY_BYTES,
    CanonicalError,
    canonical_bytes,
    digest,
    keyed_digest,
    parse_canonical,
)
from ledger.domain.encoding import decode
from ledger.domain.textfree import redact
from ledger.services import stored
from ledger.services.append import LedgerError

Row = stored.StoredRecord | stored.StoredResult


class WrongUsage(LedgerError):
    """What was asked for cannot be done whatever the ledger holds: a path in use, a key too short."""


def export_bundle(
    path: Path,
    *,
    scopes: Sequence[str] | None = None,
    text_key: bytes | None = None,
    using: str = DEFAULT_DB_ALIAS,
    progress: Callable[[int], None] | None = None,
    attach: Callable[[Path], None] | None = None,
) -> dict[str, Any]:
    """Write records and results (of `scopes`, else all) to the new folder `path`; return its manifest.

    `attach` may write more files into the folder, plain or one folder down; the manifest lists what it finds there.

    With `text_key` (at least 16 random bytes) the export is text-free: fields declared to bear text are replaced by
    digests keyed with it, and so are the payload digests that would let a short text be guessed. The folder appears
    whole or not at all. Raises WrongUsage where `path` exists or the key is short, LedgerError where a kind in a
    text-free export is not registered or a row is damaged (run verify_ledger for all of them).
    """
    path = Path(path)
    if path.exists():
        what = "a folder" if path.is_dir() else "a file"
        raise WrongUsage(f"{path} is {what} already: nothing was exported. Name a folder that is not there yet.")
    if not path.parent.is_dir():
        raise WrongUsage(f"{path.parent} is no folder: make it first.")
    if text_key is not None and len(text_key) < MIN_KEY_BYTES:
        raise WrongUsage(f"the key has {len(text_key)} bytes: give at least {MIN_KEY_BYTES} random ones.")
    partial = path.parent / f".{path.name}.partial-{secrets.token_hex(4)}"
    partial.mkdir()
    try:
        manifest = _write(partial, scopes, text_key, using, progress, attach)
        os.rename(partial, path)
    except BaseException:
        shutil.rmtree(partial)
        raise
    return manifest


def _write(
    folder: Path,
    scopes: Sequence[str] | None,
    text_key: bytes | None,
    using: str,
    progress: Callable[[int], None] | None,
    attach: Callable[[Path], None] | None,
) -> dict[str, Any]:
    head = stored.head_row(using)
    if head is not None and (head.problems or head.seq is None):
        raise LedgerError(f"the ledger's head is damaged ({'; '.join(head.problems)}): run verify_ledger.")
    seq, link = (head.seq or 0, head.link) if head else (0, chain.GENESIS)
    files, counts = {}, {}
    with closing(stored.records(using, up_to=seq, scopes=scopes)) as rows:
        lines = (_record_line(row, text_key) for row in rows)
        files[bundle.RECORDS_FILE], counts["records"] = _write_lines(folder / bundle.RECORDS_FILE, lines, progress)
    with closing(stored.results(using, scopes=scopes)) as found:
        lines = (_result_line(row, text_key) for row in found)
        files[bundle.RESULTS_FILE], counts["results"] = _write_lines(folder / bundle.RESULTS_FILE, lines, progress)
    manifest = {
        "format": bundle.FORMAT,
        "text_free": text_key is not None,
        "scopes": None if scopes is None else sorted(set(scopes)),
        "counts": counts,
        "files": files,
        "head": {"link": link, "seq": seq},
        "seals": list(_seals(using, seq, scopes)),
        "limits": list(bundle.TEXT_FREE_LIMITS) if text_key is not None else [],
    }
    if attach is not None:
        attach(folder)
        manifest["attachments"] = _attachments(folder)
    data = bundle.manifest_bytes(manifest)
    with (folder / bundle.MANIFEST_FILE).open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return bundle.read_manifest(data)


def _attachments(folder: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or name in {bundle.RECORDS_FILE, bundle.RESULTS_FILE}:
            continue
        if not bundle.attachable(name):
            raise LedgerError(f"{name!r} is no name for an attachment: a plain file, or one folder down.")
        with path.open("rb") as file:
            sha = hashlib.file_digest(file, "sha256").hexdigest()
        found[name] = {"bytes": path.stat().st_size, "sha256": sha}
    return found


def _seals(using: str, up_to: int, scopes: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    for seal in stored.seals(using):
        if seal.problems or seal.record_seq is None:
            raise LedgerError(f"seal of {seal.scope!r} is damaged ({'; '.join(seal.problems)}): run verify_ledger.")
        if seal.record_seq <= up_to and (scopes is None or seal.scope in scopes):
            yield {
                "leaf_count": seal.leaf_count,
                "record_seq": seal.record_seq,
                "root": seal.root,
                "scope": seal.scope,
            }


def _write_lines(
    path: Path, lines: Iterable[dict[str, Any]], progress: Callable[[int], None] | None
) -> tuple[dict[str, Any], int]:
    sha, size, count = hashlib.sha256(), 0, 0
    with path.open("wb") as file:
        for line in lines:
            data = canonical_bytes(line) + b"\n"
            file.write(data)
            sha.update(data)
            size += len(data)
            count += 1
            if progress is not None and count % 1000 == 0:
                progress(count)
        file.flush()
        os.fsync(file.fileno())
    return {"bytes": size, "sha256": sha.hexdigest()}, count


def _record_line(row: stored.StoredRecord, text_key: bytes | None) -> dict[str, Any]:
    what = f"record {row.seq} ({row.kind})"
    payload, visible = _payload(row, row.payload, what, text_key)
    line = {
        "seq": row.seq,
        "kind": row.kind,
        "scope": row.scope,
        "labels": parse_canonical(row.labels_bytes),
        "recorded_at": row.recorded_at,
        "payload": payload,
        "commitment": chain.commitment(row.salt, row.payload_digest),
        "previous": row.previous,
        "link": row.link,
        **visible,
    }
    return {**line, "salt": row.salt.hex()} if "payload_digest" in visible else line


def _result_line(row: stored.StoredResult, text_key: bytes | None) -> dict[str, Any]:
    what = f"result {row.key!r} of {row.scope!r} ({row.kind})"
    try:
        plain = b"" if row.problems else decode(row.encoding, row.payload)
    except ValueError as error:
        raise LedgerError(f"{what} is damaged ({error}): run verify_ledger.") from error
    payload, visible = _payload(row, plain, what, text_key)
    return {"scope": row.scope, "key": row.key, "kind": row.kind, "payload": payload, **visible}


def _payload(row: Row, plain: bytes, what: str, text_key: bytes | None) -> tuple[Any, dict[str, str]]:
    """Return the payload to show and the digest to show beside it."""
    if row.problems:
        raise LedgerError(f"{what} is damaged ({'; '.join(row.problems)}): run verify_ledger.")
    if digest(plain) != row.payload_digest:
        raise LedgerError(f"{what} does not have the digest recorded with it: run verify_ledger.")
    try:
        payload = parse_canonical(plain)
    except CanonicalError as error:
        raise LedgerError(f"{what} is not canonical ({error}): run verify_ledger.") from error
    if text_key is not None:
        kind = registry.find_kind(row.kind)
        if kind is None:
            raise LedgerError(
                f"{what}: no app said which fields of the kind {row.kind!r} bear text, so it cannot be exported "
                "text-free; register the kind with its text_fields."
            )
        payload, replaced = redact(payload, kind.text_fields, text_key)
        if replaced:
            return payload, {"payload_keyed_digest": keyed_digest(text_key, plain)}
    return payload, {"payload_digest": row.payload_digest}

"""Verify an exported folder without touching the database."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ledger import registry
from ledger.domain import bundle, chain
from ledger.domain.audit import ChainAudit, Link, SealAudit, SealClaim, read_claim
from ledger.domain.canonical import canonical_bytes, digest
from ledger.domain.chain import ExternalHead
from ledger.domain.findings import Finding
from ledger.domain.report import Notebook, Report
from ledger.services.append import LedgerError
from ledger.services.seal import SEALED_KIND


def verify_bundle(
    path: Path, head: ExternalHead | None = None, *, progress: Callable[[int], None] | None = None
) -> Report:
    """Recompute what the bundle at `path` allows, and say in the notes what it does not.

    Files are streamed. `head` is one noted earlier elsewhere. Raises LedgerError where `path` is no bundle's folder.
    """
    path = Path(path)
    for name in (bundle.MANIFEST_FILE, bundle.RECORDS_FILE, bundle.RESULTS_FILE):
        if not (path / name).is_file():
            raise LedgerError(f"{path / name} is missing: {path} is not an exported ledger.")
    notebook = Notebook()
    try:
        manifest = bundle.read_manifest((path / bundle.MANIFEST_FILE).read_bytes())
    except bundle.BundleError as error:
        notebook.found("bundle.manifest", None, bundle.MANIFEST_FILE, f"{error}.")
        return notebook.report(head=ExternalHead(0, chain.GENESIS), records=0, results=0, seals=0)
    notebook.add(_check_files(path, manifest))
    claimed = ExternalHead(manifest["head"]["seq"], manifest["head"]["link"])
    whole = manifest["scopes"] is None
    audit = ChainAudit(bundle.RECORDS_FILE, head, whole=whole)
    claims: dict[str, SealClaim] = {}
    taken_out = 0
    for number, data in _lines(path / bundle.RECORDS_FILE, progress):
        try:
            record = bundle.read_record(data)
        except bundle.BundleError as error:
            notebook.found("bundle.line", None, f"{bundle.RECORDS_FILE} line {number}", f"{error}.")
            continue
        taken_out += record.payload_digest is None
        notebook.add(_check_record(record, audit, claims))
        _check_scope(notebook, manifest, record.scope, f"{bundle.RECORDS_FILE} line {number}")
    notebook.add(audit.finish(claimed))
    seals = {seal["scope"]: SealClaim(**seal) for seal in manifest["seals"]}
    sealing = SealAudit(claims, seals, bundle.RESULTS_FILE)
    notebook.add(sealing.rows())
    results = 0
    for number, data in _lines(path / bundle.RESULTS_FILE, progress):
        results += 1
        try:
            result = bundle.read_result(data)
        except bundle.BundleError as error:
            notebook.found("bundle.line", None, f"{bundle.RESULTS_FILE} line {number}", f"{error}.")
            continue
        if result.payload_digest is not None and digest(canonical_bytes(result.payload)) != result.payload_digest:
            where = f"{bundle.RESULTS_FILE} line {number}"
            notebook.found("result.digest", None, where, "the payload does not have the digest recorded with it.")
        notebook.add(sealing.leaf(result.scope, result.key, result.kind, result.payload_digest))
        _check_scope(notebook, manifest, result.scope, f"{bundle.RESULTS_FILE} line {number}")
    notebook.add(sealing.finish())
    if (audit.count, results) != (manifest["counts"]["records"], manifest["counts"]["results"]):
        message = f"the manifest counts {manifest['counts']}, the files hold {audit.count} records, {results} results."
        notebook.found("bundle.counts", None, bundle.MANIFEST_FILE, message)
    if manifest.get("attachments"):
        # The app compares what the bundle says with what it holds; where bytes were changed their digests say it.
        if not notebook.total:
            for check in registry.bundles().values():
                notebook.add(check(path))
        notebook.notes.append(f"{len(manifest['attachments'])} attached files have the digests of the manifest.")
    _write_notes(notebook, manifest, sealing, audit, head, taken_out)
    return notebook.report(head=claimed, records=audit.count, results=results, seals=len(seals))


def _check_files(path: Path, manifest: dict[str, Any]) -> Iterator[Finding]:
    for name, entry in {**manifest["files"], **manifest.get("attachments", {})}.items():
        if not (path / name).is_file():
            yield Finding("bundle.file", None, name, "the manifest lists it and it is not there.")
            continue
        with (path / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != entry["sha256"]:
            yield Finding("bundle.file", None, name, "the file does not have the SHA-256 of the manifest.")
        if (path / name).stat().st_size != entry["bytes"]:
            yield Finding("bundle.file", None, name, "the file does not have the length of the manifest.")


def _lines(path: Path, progress: Callable[[int], None] | None) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        number = 0
        while data := file.readline(bundle.MAX_LINE_BYTES):
            number += 1
            if progress is not None and number % 1000 == 0:
                progress(number)
            yield number, data


def _check_record(record: bundle.RecordLine, audit: ChainAudit, claims: dict[str, SealClaim]) -> Iterator[Finding]:
    if record.payload_digest is not None and record.salt is not None:
        if digest(canonical_bytes(record.payload)) != record.payload_digest:
            message = "the payload does not have the digest recorded with it."
            yield Finding("record.digest", record.seq, audit.where, message)
        if chain.commitment(record.salt, record.payload_digest) != record.commitment:
            message = "the commitment is not that of the payload's digest."
            yield Finding("record.commitment", record.seq, audit.where, message)
    yield from audit.add(
        Link(
            seq=record.seq,
            kind=record.kind,
            scope=record.scope,
            labels=record.labels,
            recorded_at=record.recorded_at,
            payload=record.commitment,
            previous=record.previous,
            link=record.link,
        )
    )
    if record.kind == SEALED_KIND:
        claim = read_claim(record.seq, record.payload)
        if claim is None:
            yield Finding("seal.record", record.seq, audit.where, "the payload is not a seal's.")
        else:
            claims.setdefault(claim.scope, claim)


def _check_scope(notebook: Notebook, manifest: dict[str, Any], scope: str, where: str) -> None:
    if manifest["scopes"] is not None and scope not in manifest["scopes"]:
        notebook.found("bundle.scope", None, where, f"scope {scope!r} is not one the manifest names.")


def _write_notes(
    notebook: Notebook,
    manifest: dict[str, Any],
    sealing: SealAudit,
    audit: ChainAudit,
    head: ExternalHead | None,
    taken_out: int,
) -> None:
    notes = notebook.notes
    notes.append("the rows the records describe are in the database only: they were not compared.")
    if head is None:
        notes.append("no head from outside was given: a bundle rewritten as a whole would not be noticed.")
    elif not audit.met_external:
        notes.append("the record the head from outside names is not in this bundle: it was not compared.")
    if manifest["scopes"] is not None:
        notes.append("some scopes only: each link was recomputed, the records between them were not there to follow.")
    if taken_out:
        notes.append(
            f"{taken_out} records had their text taken out: their links hold, their payloads were not checked."
        )
    if sealing.unchecked:
        names = ", ".join(sealing.unchecked)
        notes.append(f"results had their text taken out: the sealed roots of {names} could not be recomputed.")
    if sealing.unsealed:
        notes.append(f"{len(sealing.unsealed)} scopes are not sealed: a result that is missing would not be noticed.")

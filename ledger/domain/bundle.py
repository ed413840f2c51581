"""The layout of an exported ledger: `records.jsonl`, `results.jsonl` and `manifest.json`, all in canonical JSON.

An upper app may attach files of its own; the manifest then lists them under `attachments` with their digests.

A line of records: seq, kind, scope, labels, recorded_at, payload, commitment, previous, link, and either payload_digest
and salt, or (text-free, where text was taken out) payload_keyed_digest. A line of results: scope, key, kind, payload,
and payload_digest or payload_keyed_digest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ledger.domain import chain
from ledger.domain.canonical import CanonicalError, canonical_bytes, digest, parse_canonical

FORMAT = "cutline-ledger/1"
RECORDS_FILE = "records.jsonl"
RESULTS_FILE = "results.jsonl"
MANIFEST_FILE = "manifest.json"
MAX_LINE_BYTES = 16 * 1024 * 1024

_ATTACHED = re.compile(r"[a-z][a-z-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*|\.[a-z]+)")
"""A plain file, or one folder down: no path that could lead out of the bundle."""

_RECORD_MEMBERS = {"seq", "kind", "scope", "labels", "recorded_at", "payload", "commitment", "previous", "link"}
_RESULT_MEMBERS = {"scope", "key", "kind", "payload"}
_OPEN = "payload_digest"
_KEYED = "payload_keyed_digest"

TEXT_FREE_LIMITS = (
    "Fields that bear text are replaced by keyed digests; without the key they cannot be recomputed.",
    "Records whose text was taken out show a commitment instead of their payload's digest: the chain's links can be "
    "recomputed, those payloads cannot.",
    "Results whose text was taken out show a keyed digest of their payload: a sealed root over such results stands "
    "as it was recorded and cannot be recomputed from this bundle.",
)


class BundleError(ValueError):
    """A line or manifest that is not in the bundle's form; the message says what is wrong."""


@dataclass(frozen=True)
class RecordLine:
    """A record as exported; `payload_digest` and `salt` are None where text was taken out."""

    seq: int
    kind: str
    scope: str
    labels: tuple[str, ...]
    recorded_at: str
    payload: Any
    commitment: str
    previous: str
    link: str
    payload_digest: str | None
    salt: bytes | None


@dataclass(frozen=True)
class ResultLine:
    """A result as exported; `payload_digest` is None where text was taken out."""

    scope: str
    key: str
    kind: str
    payload: Any
    payload_digest: str | None


def _line(data: bytes, members: set[str], open_members: set[str]) -> dict[str, Any]:
    if not data.endswith(b"\n"):
        raise BundleError("the line is cut short or too long")
    try:
        value = parse_canonical(data[:-1])
    except CanonicalError as error:
        raise BundleError(str(error)) from error
    if not isinstance(value, dict) or set(value) not in (members | open_members, members | {_KEYED}):
        raise BundleError("the line does not have the members of its kind")
    texts = set(value) - {"seq", "labels", "payload"}
    wrong = sorted(name for name in texts if not isinstance(value[name], str))
    if wrong:
        raise BundleError(f"{', '.join(wrong)}: expected strings")
    return value


def read_record(data: bytes) -> RecordLine:
    """Read one line of records.jsonl; raises BundleError."""
    value = _line(data, _RECORD_MEMBERS, {_OPEN, "salt"})
    seq, labels = value["seq"], value["labels"]
    if type(seq) is not int or not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise BundleError("seq must be a whole number and labels an array of strings")
    for name in ("commitment", "previous", "link", *([_OPEN] if _OPEN in value else [])):
        if not chain.HEX_DIGEST.fullmatch(value[name]):
            raise BundleError(f"{name} is no hex digest")
    try:
        salt = bytes.fromhex(value["salt"]) if "salt" in value else None
    except ValueError as error:
        raise BundleError("salt is no hex string") from error
    if salt is not None and salt.hex() != value["salt"]:
        raise BundleError("salt is not in lower-case hex")
    return RecordLine(
        seq=seq,
        kind=value["kind"],
        scope=value["scope"],
        labels=tuple(labels),
        recorded_at=value["recorded_at"],
        payload=value["payload"],
        commitment=value["commitment"],
        previous=value["previous"],
        link=value["link"],
        payload_digest=value.get(_OPEN),
        salt=salt,
    )


def read_result(data: bytes) -> ResultLine:
    """Read one line of results.jsonl; raises BundleError."""
    value = _line(data, _RESULT_MEMBERS, {_OPEN})
    return ResultLine(value["scope"], value["key"], value["kind"], value["payload"], value.get(_OPEN))


def manifest_bytes(manifest: dict[str, Any]) -> bytes:
    """Return the manifest file: canonical JSON with its own digest in `manifest_digest`, and a line end."""
    body = {name: value for name, value in manifest.items() if name != "manifest_digest"}
    return canonical_bytes({**body, "manifest_digest": digest(canonical_bytes(body))}) + b"\n"


def read_manifest(data: bytes) -> dict[str, Any]:
    """Read a manifest; raises BundleError for another form, a wrong digest or missing members."""
    if not data.endswith(b"\n"):
        raise BundleError("the manifest is cut short")
    try:
        manifest = parse_canonical(data[:-1])
    except CanonicalError as error:
        raise BundleError(str(error)) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise BundleError(f"not a ledger bundle of format {FORMAT}")
    if manifest_bytes(manifest) != data:
        raise BundleError("the manifest does not have the digest it carries: it was changed")
    if not _well_formed(manifest):
        raise BundleError("the manifest lacks members or has them in another form")
    return manifest


def attachable(name: str) -> bool:
    """Whether an attachment may be called so: lower-case `name.ext`, or `folder/name`, and none of the bundle's own."""
    return bool(_ATTACHED.fullmatch(name)) and name not in {RECORDS_FILE, RESULTS_FILE, MANIFEST_FILE}


def _well_formed(manifest: dict[str, Any]) -> bool:
    try:
        chain.ExternalHead.parse(canonical_bytes(manifest["head"]).decode())
        scopes = manifest["scopes"]
        return (
            isinstance(manifest["text_free"], bool)
            and (scopes is None or all(isinstance(scope, str) for scope in scopes))
            and set(manifest["files"]) == {RECORDS_FILE, RESULTS_FILE}
            and all(set(entry) == {"bytes", "sha256"} for entry in manifest["files"].values())
            and all(
                attachable(name) and set(entry) == {"bytes", "sha256"}
                for name, entry in manifest.get("attachments", {}).items()
            )
            and all(type(manifest["counts"][name]) is int for name in ("records", "results"))
            and all(
                set(seal) == {"scope", "root", "leaf_count", "record_seq"}
                and type(seal["leaf_count"]) is int
                and type(seal["record_seq"]) is int
                and isinstance(seal["scope"], str)
                and isinstance(seal["root"], str)
                for seal in manifest["seals"]
            )
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return False

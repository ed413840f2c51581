"""The hash chain over records as they arrive.

Each link covers everything a record says and the link before it, so that changing, deleting or reordering a record
breaks every later link; a head kept elsewhere shows truncation and re-chaining too.

The link covers the payload through a *commitment*: SHA-256 over a random salt and the payload's digest. A text-free
export can then hand out commitments, which verify the whole chain, without handing out an unkeyed digest from which a
short text could be guessed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from ledger.domain.canonical import CanonicalError, canonical_bytes, digest, parse_canonical

SALT_BYTES = 16
_LINK_DOMAIN = b"cutline.ledger.link.v1\x00"
_COMMITMENT_DOMAIN = b"cutline.ledger.commitment.v1\x00"
GENESIS = digest(b"cutline.ledger.genesis.v1\x00")
HEX_DIGEST = re.compile(r"[0-9a-f]{64}")

MAX_KIND = 100
MAX_SCOPE = 200
MAX_LABEL = 200


@dataclass(frozen=True)
class ExternalHead:
    """The chain's last position as it was noted outside the database: `seq` records, the last with this `link`."""

    seq: int
    link: str

    def to_text(self) -> str:
        """Return the one-line form that `parse` reads."""
        return canonical_bytes({"link": self.link, "seq": self.seq}).decode()

    @classmethod
    def parse(cls, text: str) -> ExternalHead:
        """Read the one-line form; surrounding blank space is allowed. Raises ValueError saying what is wrong."""
        try:
            value = parse_canonical(text.strip().encode())
        except CanonicalError as error:
            raise ValueError(f'not a ledger head ({error}); expected {{"link":"<64 hex>","seq":<n>}}') from error
        if not isinstance(value, dict) or set(value) != {"link", "seq"}:
            raise ValueError('not a ledger head; expected {"link":"<64 hex>","seq":<n>}')
        seq, link = value["seq"], value["link"]
        if not isinstance(seq, int) or isinstance(seq, bool) or seq < 0:
            raise ValueError(f"seq is {seq!r}; expected a whole number of records")
        if not isinstance(link, str) or not HEX_DIGEST.fullmatch(link):
            raise ValueError(f"link is {link!r}; expected 64 lower-case hex digits")
        return cls(seq=seq, link=link)


def timestamp(moment: datetime) -> str:
    """Return an aware datetime as `2026-01-31T12:00:00.000000Z`. Raises ValueError for a naive one."""
    if moment.tzinfo is None:
        raise ValueError("a naive datetime: the ledger records moments in UTC.")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def parse_timestamp(text: str) -> datetime:
    """Read what `timestamp` wrote; raises ValueError for any other form."""
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    if timestamp(moment) != text:
        raise ValueError(f"{text!r} is not a ledger timestamp.")
    return moment


def label_set(labels: Iterable[str]) -> tuple[str, ...]:
    """Return labels sorted and without doubles; raises ValueError for one that is empty, too long or not printable."""
    if isinstance(labels, str):
        raise ValueError(f"labels={labels!r}: give a sequence of strings, not one string.")
    unique = sorted(set(labels))
    for label in unique:
        check_word("label", label, MAX_LABEL)
    return tuple(unique)


def check_word(name: str, value: str, longest: int, *, empty: bool = False) -> None:
    """Raise ValueError unless `value` is printable, at most `longest` code points and (unless `empty`) not empty."""
    if not isinstance(value, str):
        raise ValueError(f"{name}={value!r}: expected a string.")
    if not value and not empty:
        raise ValueError(f"{name} is empty.")
    if len(value) > longest:
        raise ValueError(f"{name} has {len(value)} characters; at most {longest} are kept.")
    if not value.isprintable():
        raise ValueError(f"{name}={value!r}: control characters and lone surrogates are not allowed.")


def commitment(salt: bytes, payload_digest: str) -> str:
    """Return the hex SHA-256 that commits to a payload digest without showing it (the salt is random, 16 bytes)."""
    return hashlib.sha256(_COMMITMENT_DOMAIN + salt + bytes.fromhex(payload_digest)).hexdigest()


def link_hash(
    *, seq: int, kind: str, scope: str, labels: tuple[str, ...], recorded_at: str, payload: str, previous: str
) -> str:
    """Return a record's link: SHA-256 over a domain prefix and the canonical bytes of its header.

    `payload` is the commitment to the payload's digest, `recorded_at` a `timestamp`, `previous` the link before
    (`GENESIS` for seq 1).
    """
    header = {
        "kind": kind,
        "labels": list(labels),
        "payload": payload,
        "previous": previous,
        "recorded_at": recorded_at,
        "scope": scope,
        "seq": seq,
    }
    return hashlib.sha256(_LINK_DOMAIN + canonical_bytes(header)).hexdigest()

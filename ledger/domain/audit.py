"""Recomputes chains and seals from a stream of rows, wherever they come from (the database or an exported folder)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ledger.domain.chain import GENESIS, ExternalHead, link_hash
from ledger.domain.encoding import leaf_content
from ledger.domain.findings import Finding
from ledger.domain.merkle import Accumulator


@dataclass(frozen=True)
class Link:
    """A record's header. `payload` is the commitment; `sound` is False where the header could not be read whole."""

    seq: int
    kind: str
    scope: str
    labels: tuple[str, ...]
    recorded_at: str
    payload: str
    previous: str
    link: str
    sound: bool = True


class ChainAudit:
    """Follows the links in order. A chain that is not `whole` (an export of some scopes) has gaps by right."""

    def __init__(self, where: str, external: ExternalHead | None, *, whole: bool = True) -> None:
        self.where = where
        self.whole = whole
        self.last = ExternalHead(0, GENESIS)
        self.count = 0
        self._external = external
        self._met_external = external is not None and external.seq == 0

    def add(self, item: Link) -> Iterator[Finding]:
        """Take the next record; yield what does not hold."""
        self.count += 1
        if item.seq <= self.last.seq:
            yield self._finding("chain.order", item, f"comes after seq {self.last.seq}; positions must rise by one.")
        elif item.seq != self.last.seq + 1:
            if self.whole:
                yield self._finding("chain.gap", item, f"records {self.last.seq + 1} to {item.seq - 1} are missing.")
        elif item.previous != self.last.link:
            yield self._finding("chain.previous", item, "does not continue the link of the record before it.")
        if not item.sound:
            yield self._finding("chain.unreadable", item, "the link cannot be recomputed: a column is unreadable.")
        elif self._recomputed(item) != item.link:
            yield self._finding("chain.link", item, "the link differs from the one recomputed from the record.")
        if self._external is not None and item.seq == self._external.seq:
            self._met_external = True
            if item.link != self._external.link:
                yield self._finding(
                    "head.rechained", item, "the link differs from the head kept outside: the chain was rewritten."
                )
        self.last = ExternalHead(item.seq, item.link)

    @staticmethod
    def _recomputed(item: Link) -> str:
        return link_hash(
            seq=item.seq,
            kind=item.kind,
            scope=item.scope,
            labels=item.labels,
            recorded_at=item.recorded_at,
            payload=item.payload,
            previous=item.previous,
        )

    def finish(self, head: ExternalHead | None) -> Iterator[Finding]:
        """Compare the end of the chain with its head (None: there is no head row) and with the head kept outside."""
        if head is None:
            if self.count:
                yield Finding("head.missing", None, self.where, "there are records but no head.")
        elif self.whole and head != self.last:
            if head.seq > self.last.seq:
                message = f"the head is at {head.seq}, the last record at {self.last.seq}: the chain was cut off."
                yield Finding("head.truncated", head.seq, self.where, message)
            else:
                yield Finding("head.differs", head.seq, self.where, "the head does not name the last record's link.")
        external = self._external
        if external is None:
            return
        if external.seq == 0 and external.link != GENESIS:
            yield Finding("head.rechained", 0, self.where, "the head kept outside names another beginning.")
        end = head if head is not None and not self.whole else self.last
        if external.seq > end.seq:
            message = f"the head kept outside is at {external.seq}, the chain ends at {end.seq}: it was cut off."
            yield Finding("head.truncated", external.seq, self.where, message)
        elif not self._met_external and self.whole:
            message = "the record the head kept outside names is missing."
            yield Finding("head.missing-record", external.seq, self.where, message)
        elif not self._met_external and end.seq == external.seq and end.link != external.link:
            message = "the head differs from the one kept outside: the chain was rewritten."
            yield Finding("head.rechained", external.seq, self.where, message)

    @property
    def met_external(self) -> bool:
        """Whether the record named by the head kept outside was seen (True where none was given)."""
        return self._external is None or self._met_external

    def _finding(self, kind: str, item: Link, message: str) -> Finding:
        return Finding(kind, item.seq, self.where, message)


@dataclass(frozen=True)
class SealClaim:
    """What a seal says, by its row or by its record in the chain."""

    scope: str
    root: str
    leaf_count: int
    record_seq: int


def read_claim(seq: int, payload: Any) -> SealClaim | None:
    """Return the claim of a `sweep.sealed` payload; None where it has another shape."""
    if not isinstance(payload, dict) or set(payload) != {"leaf_count", "root", "scope"}:
        return None
    scope, root, count = payload["scope"], payload["root"], payload["leaf_count"]
    if not isinstance(scope, str) or not isinstance(root, str) or type(count) is not int:
        return None
    return SealClaim(scope, root, count, seq)


class SealAudit:
    """Compares the seals' rows with the chain, and each sealed scope's root with its results."""

    def __init__(self, chained: dict[str, SealClaim], rows: dict[str, SealClaim], where: str) -> None:
        self._chained = chained
        self._rows = rows
        self._where = where
        self._scope: str | None = None
        self._accumulator = Accumulator()
        self._complete = True
        self._done: set[str] = set()
        self.unsealed: list[str] = []
        self.unchecked: list[str] = []

    def rows(self) -> Iterator[Finding]:
        """Yield seals that only the chain or only the table knows, or that they tell differently."""
        for scope in sorted(self._chained.keys() | self._rows.keys()):
            chained, row = self._chained.get(scope), self._rows.get(scope)
            if row is None and chained is not None:
                message = f"the seal of {scope!r} is in the chain and missing here."
                yield Finding("seal.missing", chained.record_seq, self._where, message)
            elif chained is None and row is not None:
                message = f"the seal of {scope!r} is not in the chain."
                yield Finding("seal.unknown", row.record_seq, self._where, message)
            elif chained != row and chained is not None:
                message = f"the seal of {scope!r} differs from the one in the chain."
                yield Finding("seal.differs", chained.record_seq, self._where, message)

    def leaf(self, scope: str, key: str, kind: str, payload_digest: str | None) -> Iterator[Finding]:
        """Take the next result, in the UTF-8 order of scope and key; a digest of None cannot be checked."""
        if scope != self._scope:
            yield from self._close()
            self._scope, self._accumulator, self._complete = scope, Accumulator(), True
        if payload_digest is None:
            self._complete = False
            return
        try:
            self._accumulator.add(key, leaf_content(kind, payload_digest))
        except ValueError as error:
            yield Finding("result.order", None, self._where, f"scope {scope!r}: {error}")

    def _close(self) -> Iterator[Finding]:
        scope = self._scope
        if scope is None:
            return
        self._done.add(scope)
        claim = self._chained.get(scope) or self._rows.get(scope)
        if claim is None:
            self.unsealed.append(scope)
        elif not self._complete:
            self.unchecked.append(scope)
        else:
            yield from self._compare(claim, self._accumulator)

    def finish(self) -> Iterator[Finding]:
        """Close the last scope, and every sealed scope without a single result."""
        yield from self._close()
        for scope in sorted((self._chained.keys() | self._rows.keys()) - self._done):
            claim = self._chained.get(scope) or self._rows[scope]
            yield from self._compare(claim, Accumulator())

    def _compare(self, claim: SealClaim, accumulator: Accumulator) -> Iterator[Finding]:
        if claim.leaf_count != accumulator.count:
            message = f"scope {claim.scope!r} was sealed with {claim.leaf_count} results and has {accumulator.count}."
            yield Finding("seal.count", claim.record_seq, self._where, message)
        if claim.root != accumulator.root():
            message = f"scope {claim.scope!r}: the results give another root than the seal's {claim.root[:16]}…"
            yield Finding("seal.root", claim.record_seq, self._where, message)

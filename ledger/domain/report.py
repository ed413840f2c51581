"""The outcome of a verification."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ledger.domain.chain import ExternalHead
from ledger.domain.findings import Finding

KEPT_FINDINGS = 1000
"""So many findings are kept; the rest are counted. A ledger that is wholly wrong needs no list of every row."""


@dataclass(frozen=True)
class Report:
    """What was checked, what does not hold, and in `notes` what could not be checked."""

    head: ExternalHead
    records: int
    results: int
    seals: int
    findings: tuple[Finding, ...]
    total_findings: int
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return self.total_findings == 0

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "ok": self.ok,
            "head": {"seq": self.head.seq, "link": self.head.link},
            "records": self.records,
            "results": self.results,
            "seals": self.seals,
            "total_findings": self.total_findings,
            "findings": [finding.as_json() for finding in self.findings],
            "notes": list(self.notes),
        }


class Enough(Exception):
    """The first finding was all that was asked for."""


@dataclass
class Notebook:
    """Collects findings and notes while rows stream by; with `first`, no more than one finding."""

    first: bool = False
    findings: list[Finding] = field(default_factory=list)
    total: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, findings: Iterable[Finding]) -> None:
        """Take up findings, keeping the first KEPT_FINDINGS; raises Enough at the first where no more are wanted."""
        for finding in findings:
            self.total += 1
            if len(self.findings) < KEPT_FINDINGS:
                self.findings.append(finding)
            if self.first:
                raise Enough

    def found(self, kind: str, seq: int | None, where: str, message: str) -> None:
        """Take up one finding."""
        self.add([Finding(kind, seq, where, message)])

    def report(self, *, head: ExternalHead, records: int, results: int, seals: int) -> Report:
        """Return the report."""
        return Report(head, records, results, seals, tuple(self.findings), self.total, tuple(self.notes))

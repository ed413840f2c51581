"""What a verification says when something is not as it was written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that does not hold.

    `kind` is a dotted word (`chain.link`, `result.digest`, …), `seq` the chain position where there is one, `where` the
    table, file or row concerned, `message` what is wrong in a sentence.
    """

    kind: str
    seq: int | None
    where: str
    message: str

    def __str__(self) -> str:
        place = f"{self.where} seq {self.seq}" if self.seq is not None else self.where
        return f"{self.kind} at {place}: {self.message}"

    def as_json(self) -> dict[str, str | int | None]:
        """Return the finding as a JSON object."""
        return {"kind": self.kind, "seq": self.seq, "where": self.where, "message": self.message}

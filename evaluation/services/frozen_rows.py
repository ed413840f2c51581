"""Reads a locked fixture set into values, comparing every digest on the way."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.domain.frozen import Document, FrozenQuestion


@dataclass(frozen=True)
class Frozen:
    """The documents and questions of a fixture set."""

    documents: tuple[Document, ...]
    questions: tuple[FrozenQuestion, ...]


def read_frozen(fixture_set_id: int, digest: str) -> Frozen:
    """Return the fixture set's documents and questions; raises ValueError naming the row whose digest does not
    match."""
    raise NotImplementedError

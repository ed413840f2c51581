"""How evidence becomes text: labels, contexts and the head of a prompt. Nothing here is counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.domain.pipeline import PipelineSettings, Unit
from evaluation.domain.plan_pipeline import Budget

_PLACEHOLDER = re.compile(r"\{(rank|title|citation)\}")

#: Version of the rendering; a change of it changes every prompt.
RENDERING = "rendering-1"


class Documented(Protocol):
    """All a rendering needs of a corpus: its documents, in the order units number them by."""

    @property
    def documents(self) -> Sequence[Document]:
        """The documents."""


@dataclass(frozen=True)
class Rendering[Corpus: Documented]:
    """A unit is rendered as its label, its bytes and the separator."""

    prepared: Corpus
    budget: Budget

    @property
    def separator(self) -> bytes:
        """What follows every unit."""
        return self.budget.separator.encode("utf-8")

    @property
    def titled(self) -> bool:
        """Whether a label depends on the document and not on the unit's number alone."""
        return "{title}" in self.budget.label_format

    def label(self, document: int, number: int) -> bytes:
        """The label in front of a unit; `{title}` is the document id, `{citation}` the number in brackets."""
        title = self.prepared.documents[document].document_id
        values = {"rank": str(number), "title": title, "citation": f"[{number}]"}
        # One pass, so that a document named "{rank}" stays what it is.
        return _PLACEHOLDER.sub(lambda found: values[found[1]], self.budget.label_format).encode("utf-8")

    def unit(self, unit: Unit, number: int) -> bytes:
        """One rendered unit."""
        content = self.prepared.documents[unit.document].content
        return self.label(unit.document, number) + content[unit.start : unit.end] + self.separator

    def context(self, units: Sequence[Unit]) -> tuple[bytes, tuple[tuple[int, int], ...]]:
        """The context of `units`, numbered from 1, and the byte range each unit's text takes in it."""
        parts: list[bytes] = []
        spans: list[tuple[int, int]] = []
        at = 0
        for number, unit in enumerate(units, 1):
            parts.append(self.unit(unit, number))
            begin = at + len(self.label(unit.document, number))
            spans.append((begin, begin + unit.end - unit.start))
            at += len(parts[-1])
        return b"".join(parts), tuple(spans)


def prompt_head(settings: PipelineSettings, question: FrozenQuestion) -> bytes:
    """Instructions and question: the part of a prompt the allowance is for; the evidence follows it.

    A prompt's tokens are those of its head plus those of its evidence, as the plan counts them.
    """
    return f"{settings.instructions}\n\nQuestion: {question.text}\n\nEvidence:\n".encode()

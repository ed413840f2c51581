"""The deterministic extractive baseline: it quotes sentences of the packed evidence with citations, or abstains.

Rule ---- 1. Candidates are the sentences (`annotate.domain.sentences`) of every packed unit; a sentence two units
share is one, cited by the lower number. 2. A term weighs idf(t) = ln(1 + S / df), S candidates, df of them holding t;
a question term in no sentence weighs as much as one in a single sentence. A sentence's overlap is the weight of the
question terms it holds over the weight of all question terms, in units of 1e-6. 3. The best sentence wins (ties:
lower citation number, then earlier). An overlap below the threshold, or nothing to choose from, is an abstention. 4.
Its neighbours in the same unit, the sentence before and the one after, are joined when they share a question term
with it or between them; then further sentences with an overlap of at least `second` of the best, up to `most` in all.
5. Sentences are written in source order with their citation. Square brackets around numbers in quoted text (footnote
marks) are written as round ones, so that they are not taken for citations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from annotate.domain.sentences import sentences
from evaluation.domain.analysis import Analyser
from evaluation.domain.generation import EvidenceText, Extract, GeneratedAnswer

ABSTENTION = "The evidence does not settle this question."

_BRACKETED = re.compile(r"\[(\s*-?[0-9]+(?:\s*,\s*-?[0-9]+)*\s*)\]")
_SCALE = 1_000_000


@dataclass(frozen=True)
class _Sentence:
    unit: int
    number: int
    order: int
    version: str
    start: int
    end: int
    text: str
    terms: frozenset[str]


@dataclass(frozen=True)
class Extractive:
    """`threshold` and `second` are decimal strings in [0, 1]; `most` is how many sentences an answer may have."""

    name: ClassVar[str] = "extractive"
    """Name in the registry."""
    version: ClassVar[str] = "1"
    """Changes whenever equal input would give another answer."""
    deterministic: ClassVar[bool] = True
    """Equal input always gives equal output."""

    analyser: Analyser
    threshold: str = "0.5"
    second: str = "0.8"
    most: int = 4

    def __post_init__(self) -> None:
        for field, value in (("threshold", self.threshold), ("second", self.second)):
            if not 0 <= Decimal(value) <= 1:
                raise ValueError(f"extractive: {field} must be a decimal string from 0 to 1, got {value!r}")
        if isinstance(self.most, bool) or self.most < 1:
            raise ValueError(f"extractive: most must be at least 1 sentence, got {self.most!r}")

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            "generator": self.name,
            "version": self.version,
            "threshold": self.threshold,
            "second": self.second,
            "most": self.most,
        }

    def answer(self, question: str, evidence: tuple[EvidenceText, ...], prompt: bytes) -> GeneratedAnswer:
        """Quote the best sentences of `evidence` or abstain; `prompt` holds the same evidence and is not needed."""
        del prompt
        asked = sorted(set(self.analyser.terms(question)))
        found = self._candidates(evidence)
        if not asked or not found:
            return GeneratedAnswer(ABSTENTION, abstained=True)
        weights = _weights(asked, found)
        total = sum(weights[term] for term in asked)
        overlap = [round(_SCALE * sum(weights[t] for t in asked if t in s.terms) / total) for s in found]
        best = min(range(len(found)), key=lambda i: (-overlap[i], found[i].number, found[i].start))
        if overlap[best] == 0 or overlap[best] < Decimal(self.threshold) * _SCALE:
            return GeneratedAnswer(ABSTENTION, abstained=True)
        chosen = self._chosen(found, overlap, best, frozenset(asked))
        return GeneratedAnswer(
            " ".join(f"{_without_brackets(s.text)} [{s.number}]" for s in chosen),
            abstained=False,
            extracts=_extracts(chosen),
        )

    def _candidates(self, evidence: Sequence[EvidenceText]) -> list[_Sentence]:
        seen: set[tuple[str, int, int]] = set()
        found: list[_Sentence] = []
        for index, unit in enumerate(evidence):
            text = unit.text.decode("utf-8")
            for order, (first, last) in enumerate(sentences(text)):
                start = unit.start + len(text[:first].encode("utf-8"))
                end = start + len(text[first:last].encode("utf-8"))
                if (unit.version, start, end) in seen:
                    continue
                seen.add((unit.version, start, end))
                terms = frozenset(self.analyser.terms(text[first:last]))
                found.append(_Sentence(index, unit.number, order, unit.version, start, end, text[first:last], terms))
        return found

    def _chosen(
        self, found: Sequence[_Sentence], overlap: Sequence[int], best: int, asked: frozenset[str]
    ) -> list[_Sentence]:
        picked = [best]
        top = found[best]
        for i, other in enumerate(found):
            beside = other.unit == top.unit and abs(other.order - top.order) == 1
            if beside and other.terms & (asked | top.terms) and len(picked) < self.most:
                picked.append(i)
        bar = Decimal(self.second) * overlap[best]
        for i in sorted(range(len(found)), key=lambda i: (-overlap[i], found[i].number, found[i].start)):
            if i not in picked and overlap[i] >= bar and len(picked) < self.most:
                picked.append(i)
        return sorted((found[i] for i in picked), key=lambda s: (s.number, s.start))


def _weights(asked: Sequence[str], found: Sequence[_Sentence]) -> dict[str, float]:
    count = len(found)
    weights: dict[str, float] = {}
    for term in asked:
        df = sum(term in sentence.terms for sentence in found)
        weights[term] = math.log(1 + count / max(df, 1))
    return weights


def _without_brackets(text: str) -> str:
    return _BRACKETED.sub(r"(\1)", text)


def _extracts(chosen: Sequence[_Sentence]) -> tuple[Extract, ...]:
    """Quoted intervals; neighbours of one unit are joined over the blanks between them."""
    joined: list[tuple[_Sentence, Extract]] = []
    for sentence in chosen:
        if joined:
            before, extract = joined[-1]
            if before.unit == sentence.unit and before.order + 1 == sentence.order:
                joined[-1] = (sentence, Extract(extract.number, extract.version, extract.start, sentence.end))
                continue
        joined.append((sentence, Extract(sentence.number, sentence.version, sentence.start, sentence.end)))
    return tuple(extract for _, extract in joined)

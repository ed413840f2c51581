"""What a generator is given and gives back. It sees the question and the packed evidence, nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from evaluation.domain.registered import Registered


@dataclass(frozen=True)
class EvidenceText:
    """One packed unit as a generator sees it; `start` is the byte offset of `text` in `version`."""

    number: int
    version: str
    start: int
    text: bytes


@dataclass(frozen=True)
class Extract:
    """Bytes `[start, end)` of `version` that an answer repeats word for word, cited as `number`."""

    number: int
    version: str
    start: int
    end: int


@dataclass(frozen=True)
class GeneratedAnswer:
    """The complete text. `extracts` are filled only by a generator that quotes; `failed` is the reason of a failure."""

    text: str
    abstained: bool
    extracts: tuple[Extract, ...] = ()
    failed: str = ""


class Generator(Registered, Protocol):
    """Writes an answer from packed evidence."""

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""

    def answer(self, question: str, evidence: tuple[EvidenceText, ...], prompt: bytes) -> GeneratedAnswer:
        """Answer `question` from `evidence`; `prompt` is the same evidence as the rendered prompt."""

"""Boundary phases: exact labels, their mapping to first cuts, and phases aimed at annotated spans.

A phase `p` in 1…S is the token at which the first interior cut falls; S is the stride. A *label* is an exact fraction
φ in (0, 1]; an arm of stride S realises it as p = max(1, ⌊φS + ½⌋), computed in integers. Labels that fall on one p
are one phase and are reported as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.tokens import TokenizedText

_LABEL = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


class PhaseError(ValueError):
    """A phase or a label that this arm cannot have."""


@dataclass(frozen=True, order=True)
class PhaseLabel:
    """An exact fraction φ with 0 < φ ≤ 1, shared by arms of different strides; written in lowest terms, like `3/8`."""

    value: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.value <= 1:
            raise PhaseError(f"phase label {self.value} is outside (0, 1]; write a fraction such as 3/8 or 1/1")

    @classmethod
    def parse(cls, text: str) -> PhaseLabel:
        """Read `3/8`. Raises `PhaseError` for anything but two whole numbers with a stroke, in (0, 1]."""
        match = _LABEL.fullmatch(text.strip())
        if match is None or int(match[2]) == 0:
            raise PhaseError(f"phase label {text!r} is no exact fraction; write it like 3/8 (1/1 is the stride itself)")
        return cls(Fraction(int(match[1]), int(match[2])))

    def __str__(self) -> str:
        return f"{self.value.numerator}/{self.value.denominator}"

    def phase(self, stride: int) -> int:
        """First interior cut for `stride` tokens: max(1, ⌊φS + ½⌋), without rounding error."""
        doubled = 2 * self.value.numerator * stride + self.value.denominator
        return max(1, doubled // (2 * self.value.denominator))


@dataclass(frozen=True)
class PhaseMapping:
    """How an arm realises labels. `phases` are the distinct first cuts in increasing order."""

    stride: int
    by_label: Mapping[str, int]

    @property
    def phases(self) -> tuple[int, ...]:
        """Distinct phases, increasing; each is run once however many labels fall on it."""
        return tuple(sorted(set(self.by_label.values())))

    @property
    def collapsed(self) -> dict[int, tuple[str, ...]]:
        """Phases on which several labels fall, with those labels."""
        together: dict[int, list[str]] = {}
        for label, phase in self.by_label.items():
            together.setdefault(phase, []).append(label)
        return {phase: tuple(labels) for phase, labels in sorted(together.items()) if len(labels) > 1}


@dataclass(frozen=True, order=True)
class TargetedPhase:
    """A phase whose cuts include token `token` of `version`, before, between or after annotated spans of a question."""

    phase: int
    question_id: str
    version: str
    position: str
    token: int


def grid(count: int) -> tuple[PhaseLabel, ...]:
    """`count` labels 1/K … K/K, evenly over the stride. Raises `PhaseError` below one."""
    if isinstance(count, bool) or count < 1:
        raise PhaseError(f"a phase grid needs at least one label, got {count!r}")
    return tuple(PhaseLabel(Fraction(i, count)) for i in range(1, count + 1))


def every(stride: int) -> tuple[int, ...]:
    """All phases 1…S of an arm."""
    check_stride(stride)
    return tuple(range(1, stride + 1))


def map_labels(labels: Iterable[PhaseLabel], stride: int) -> PhaseMapping:
    """Realise shared labels on an arm of `stride` tokens; equal labels written twice are one."""
    check_stride(stride)
    return PhaseMapping(stride, {str(label): label.phase(stride) for label in labels})


def check_stride(stride: int) -> int:
    """Return `stride`, or raise `PhaseError` if it is not a whole number above zero."""
    if isinstance(stride, bool) or not isinstance(stride, int) or stride < 1:
        raise PhaseError(f"stride must be a whole number of tokens above zero, got {stride!r}")
    return stride


def check_phase(phase: int, stride: int) -> int:
    """Return `phase`, or raise `PhaseError` when it is not one of 1…stride."""
    if isinstance(phase, bool) or not isinstance(phase, int) or not 1 <= phase <= stride:
        raise PhaseError(f"phase {phase!r} is outside 1…{stride}; a phase is the first interior cut within one stride")
    return phase


def targeted(
    questions: Sequence[FrozenQuestion], tokenized: Mapping[str, TokenizedText], stride: int
) -> tuple[TargetedPhase, ...]:
    """Phases whose cuts fall before, between and after the annotated spans of each support set.

    `tokenized` maps a version digest to its tokens. For the spans of one set in one version, in source order:
    *before* cuts at the token that holds the first span's first byte, *between* at the first token from each span's
    end that is not past the next span's start, *after* at the first token from the last span's end. Token t is
    reached by phase ((t − 1) mod S) + 1; a span at the source's edge has no cut on that side. Targeted phases are
    listed apart from the grid and never enter averages, minima or nulls.
    """
    check_stride(stride)
    found: set[TargetedPhase] = set()
    for question in questions:
        for support in question.support_sets:
            versions = sorted({span.interval.version for span in support})
            for version in versions:
                text = tokenized[version]
                spans = sorted((s.interval.start, s.interval.end) for s in support if s.interval.version == version)
                cuts = [("before", text.token_containing(spans[0][0]))]
                for (_, end), (start, _) in pairwise(spans):
                    token = text.first_token_from(end)
                    if token <= text.token_containing(start):
                        cuts.append(("between", token))
                cuts.append(("after", text.first_token_from(max(end for _, end in spans))))
                for position, token in cuts:
                    if 0 < token < text.n:
                        phase = (token - 1) % stride + 1
                        found.add(TargetedPhase(phase, question.question_id, version, position, token))
    return tuple(sorted(found))

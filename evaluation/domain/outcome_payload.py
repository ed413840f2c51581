"""Outcomes as canonical-ready columns: one list per field, in the order of the questions.

This is the payload of the ledger's `outcome` results and, deflated, of the summary rows; a block of 64 questions takes
about 1 kB that way. Flags per stage are bit sets whose bit i stands for the i-th of `STAGES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evaluation.domain.outcomes import STAGES, AnswerClass, QuestionOutcome, Stage

FORM = 1
_PLAIN: tuple[str, ...] = (
    "failed",
    "rank_of_completion",
    "evidence_tokens",
    "unique_tokens",
    "repeated_tokens",
    "prompt_tokens",
    "duplicate_pairs",
    "compared_pairs",
    "denials",
    "citations_emitted",
    "citations_resolved",
    "severed_spans",
)
_YES_NO: tuple[str, ...] = ("feasible", "answered", "citations_cover_support")
_COUNTS: tuple[str, ...] = ("leaks", "superseded", "forbidden")
_FLAGS: tuple[str, ...] = ("complete", "single_unit")


def outcomes_payload(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """Return outcomes as columns of integers and strings. `outcomes_from_payload` gives them back equal."""
    columns: dict[str, Any] = {"form": FORM, "question": [one.question_id for one in outcomes]}
    for name in _PLAIN:
        columns[name] = [getattr(one, name) for one in outcomes]
    for name in _YES_NO:
        columns[name] = [int(getattr(one, name)) for one in outcomes]
    for name in _FLAGS:
        columns[name] = [_bits(getattr(one, name), bool) for one in outcomes]
        columns[f"{name}_known"] = [_bits(getattr(one, name), lambda _: True) for one in outcomes]
    for name in _COUNTS:
        columns[name] = [
            [[STAGES.index(stage), n] for stage, n in sorted(getattr(one, name).items(), key=_position)]
            for one in outcomes
        ]
    columns["lost_after"] = [-1 if one.lost_after is None else STAGES.index(one.lost_after) for one in outcomes]
    columns["answer_class"] = [str(one.answer_class) for one in outcomes]
    return columns


def outcomes_from_payload(payload: Mapping[str, Any]) -> tuple[QuestionOutcome, ...]:
    """Read what `outcomes_payload` wrote. Raises ValueError for another form, KeyError for a missing column."""
    if payload.get("form") != FORM:
        raise ValueError(f"outcomes of form {payload.get('form')!r}; this version reads form {FORM}.")
    size = len(payload["question"])
    return tuple(_outcome(payload, index) for index in range(size))


def _outcome(payload: Mapping[str, Any], index: int) -> QuestionOutcome:
    fields: dict[str, Any] = {name: payload[name][index] for name in _PLAIN}
    fields |= {name: bool(payload[name][index]) for name in _YES_NO}
    for name in _FLAGS:
        known, bits = payload[f"{name}_known"][index], payload[name][index]
        fields[name] = {stage: bool(bits >> i & 1) for i, stage in enumerate(STAGES) if known >> i & 1}
    for name in _COUNTS:
        fields[name] = {STAGES[i]: n for i, n in payload[name][index]}
    lost = payload["lost_after"][index]
    return QuestionOutcome(
        question_id=payload["question"][index],
        lost_after=None if lost < 0 else STAGES[lost],
        answer_class=AnswerClass(payload["answer_class"][index]),
        **fields,
    )


def _position(item: tuple[Stage, int]) -> int:
    return STAGES.index(item[0])


def _bits(flags: Mapping[Stage, bool], read: Callable[[bool], bool]) -> int:
    return sum(1 << i for i, stage in enumerate(STAGES) if stage in flags and read(flags[stage]))

"""Outcomes of a block as columns: what the engine makes, what the ledger keeps, and what tables read.

The payload of an `outcome` result holds every view of a cell. A column is a list of integers, one per question in the
order of `question`; where a view's column equals that of an earlier view it is written as that view's number. Flags per
stage are bit sets whose bit i stands for the i-th of `STAGES`, without the last stage (packed), which differs between
views and stands apart. Counts per stage are triples (question, stage, count), non-zero ones only, in one flat list.
Numbers that follow from others are left out: the evidence's tokens are `beside` (labels and separators) plus unique and
repeated ones, the prompt's are its head's plus the evidence's, and covered bytes are needed ones minus `missing_bytes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.domain.hits import BoolArray
from evaluation.domain.outcomes import STAGES, AnswerClass, QuestionOutcome, Stage
from evaluation.domain.tokens import IntArray

FORM = 2

#: Fields of an outcome that are kept as they are.
PLAIN = (
    "feasible",
    "rank_of_completion",
    "unique_tokens",
    "repeated_tokens",
    "duplicate_pairs",
    "compared_pairs",
    "denials",
    "answered",
    "citations_emitted",
    "citations_resolved",
    "citations_cover_support",
    "severed_spans",
    "needed_bytes",
    "needed_spans",
    "covered_spans",
    "spans_at_threshold",
    "relevant_bytes",
    "shown_bytes",
    "structural_units",
    "rendered_tokens",
    "top_score",
    "fallbacks",
    "outdated",
    "foreign",
)
_YES_NO = frozenset({"feasible", "answered", "citations_cover_support"})
_PER_STAGE = ("leaks", "superseded", "forbidden")
_CLASSES = tuple(AnswerClass)
_PACKED = STAGES.index(Stage.PACKED)
#: Fields that are written as their difference to others.
DERIVED = ("evidence_tokens", "prompt_tokens", "covered_bytes")


@dataclass(frozen=True, eq=False)
class ViewColumns:
    """One view of a block. `numbers` has an integer column per field of `PLAIN` and `DERIVED`.

    `measured` says which questions have support flags at all (a failed one has none); `complete` and `single_unit` have
    shape (questions, stages), as have the counts in `per_stage`. `lost_after` and `answer_class` are positions in
    `STAGES` (−1: None) and in `AnswerClass`. `failed` holds one text per question, "" for none.
    """

    numbers: Mapping[str, IntArray]
    measured: BoolArray
    complete: BoolArray
    single_unit: BoolArray
    per_stage: Mapping[str, IntArray]
    lost_after: IntArray
    answer_class: IntArray
    failed: tuple[str, ...]

    def outcomes(self, questions: Sequence[str]) -> tuple[QuestionOutcome, ...]:
        """The outcomes as values; `questions` are their ids."""
        names = tuple(self.numbers)
        rows = zip(
            *((column > 0 if name in _YES_NO else column).tolist() for name, column in self.numbers.items()),
            strict=True,
        )
        counts: dict[str, list[dict[Stage, int]]] = {name: [{} for _ in questions] for name in self.per_stage}
        for name, table in self.per_stage.items():
            for index, stage in np.argwhere(table).tolist():
                counts[name][index][STAGES[stage]] = int(table[index, stage])
        flags = zip(self.measured.tolist(), self.complete.tolist(), self.single_unit.tolist(), strict=True)
        ends = zip(self.lost_after.tolist(), self.answer_class.tolist(), self.failed, strict=True)
        made = []
        for index, (name, row, (measured, complete, single), (lost, answer_class, failed)) in enumerate(
            zip(questions, rows, flags, ends, strict=True)
        ):
            fields: dict[str, Any] = {
                **{key: column[index] for key, column in counts.items()},
                **dict(zip(names, row, strict=True)),
            }
            made.append(
                QuestionOutcome(
                    question_id=name,
                    failed=failed,
                    complete=dict(zip(STAGES, complete, strict=True)) if measured else {},
                    single_unit=dict(zip(STAGES, single, strict=True)) if measured else {},
                    lost_after=None if lost < 0 else STAGES[lost],
                    answer_class=_CLASSES[answer_class],
                    **fields,
                )
            )
        return tuple(made)


@dataclass(frozen=True, eq=False)
class OutcomeColumns:
    """Outcomes of a block in every view."""

    questions: tuple[str, ...]
    views: Mapping[str, ViewColumns]

    def outcomes(self, view: str) -> tuple[QuestionOutcome, ...]:
        """One view as values. Raises KeyError for a view the block does not have."""
        return self.views[view].outcomes(self.questions)


def columns_of(by_view: Mapping[str, Sequence[QuestionOutcome]]) -> OutcomeColumns:
    """Outcomes as columns; every view holds the same questions in the same order.

    Raises ValueError when it does not, and for support flags of some stages only.
    """
    lists = list(by_view.values())
    names = tuple(one.question_id for one in lists[0]) if lists else ()
    if any(tuple(one.question_id for one in outcomes) != names for outcomes in lists):
        raise ValueError("the views of a cell must hold the same questions in the same order")
    return OutcomeColumns(names, {view: _view(outcomes) for view, outcomes in by_view.items()})


def _view(outcomes: Sequence[QuestionOutcome]) -> ViewColumns:
    known = {frozenset(flags) for one in outcomes for flags in (one.complete, one.single_unit)}
    if known - {frozenset(), frozenset(STAGES)} or any(bool(o.complete) != bool(o.single_unit) for o in outcomes):
        raise ValueError("support flags must name every stage or none")
    return ViewColumns(
        {name: _numbers([getattr(one, name) for one in outcomes]) for name in (*PLAIN, *DERIVED)},
        _numbers([bool(one.complete) for one in outcomes]) > 0,
        _by_stage([one.complete for one in outcomes]) > 0,
        _by_stage([one.single_unit for one in outcomes]) > 0,
        {name: _by_stage([getattr(one, name) for one in outcomes]) for name in _PER_STAGE},
        _numbers([-1 if one.lost_after is None else STAGES.index(one.lost_after) for one in outcomes]),
        _numbers([_CLASSES.index(one.answer_class) for one in outcomes]),
        tuple(one.failed for one in outcomes),
    )


def _numbers(values: Sequence[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _by_stage(rows: Sequence[Mapping[Stage, int]]) -> IntArray:
    return _numbers([row.get(stage, 0) for row in rows for stage in STAGES]).reshape(-1, len(STAGES))


def outcomes_payload(columns: OutcomeColumns) -> dict[str, Any]:
    """Return outcomes as canonical-ready columns. `columns_from_payload` gives them back equal."""
    written: dict[str, list[Any]] = {}
    for view in columns.views.values():
        for name, values in _written(view).items():
            earlier = written.setdefault(name, [])
            # The first view with the same column says it for all.
            same = next((number for number, known in enumerate(earlier) if known == values), None)
            earlier.append(values if same is None else same)
    return {"form": FORM, "question": list(columns.questions), "views": list(columns.views), "columns": written}


def _written(view: ViewColumns) -> dict[str, list[Any]]:
    numbers = view.numbers
    bits = np.left_shift(1, np.arange(len(STAGES)))
    shown = numbers["unique_tokens"] + numbers["repeated_tokens"]
    written: dict[str, list[Any]] = {name: numbers[name].tolist() for name in PLAIN}
    written["beside"] = (numbers["evidence_tokens"] - shown).tolist()
    written["head_tokens"] = (numbers["prompt_tokens"] - numbers["evidence_tokens"]).tolist()
    written["missing_bytes"] = (numbers["needed_bytes"] - numbers["covered_bytes"]).tolist()
    written["measured"] = view.measured.astype(np.int64).tolist()
    for name, flags in (("complete", view.complete), ("single_unit", view.single_unit)):
        written[name] = (flags[:, :_PACKED] @ bits[:_PACKED]).tolist()
        written[f"{name}_packed"] = flags[:, _PACKED].astype(np.int64).tolist()
    for name in _PER_STAGE:
        counts = view.per_stage[name]
        places = np.argwhere(counts)
        written[name] = np.column_stack((places, counts[places[:, 0], places[:, 1]])).reshape(-1).tolist()
    written["lost_after"] = view.lost_after.tolist()
    written["answer_class"] = view.answer_class.tolist()
    written["failed"] = [[index, text] for index, text in enumerate(view.failed) if text]
    return written


def columns_from_payload(payload: Mapping[str, Any]) -> OutcomeColumns:
    """Read what `outcomes_payload` wrote. Raises ValueError for another form, KeyError for a missing column."""
    if payload.get("form") != FORM:
        raise ValueError(f"outcomes of form {payload.get('form')!r}; this version reads form {FORM}.")
    questions = tuple(payload["question"])
    views: dict[str, ViewColumns] = {}
    for number, view in enumerate(payload["views"]):
        columns = {}
        for name, written in payload["columns"].items():
            values = written[number]
            columns[name] = written[values] if isinstance(values, int) else values
        views[view] = _read(columns, len(questions))
    return OutcomeColumns(questions, views)


def _read(columns: Mapping[str, list[Any]], size: int) -> ViewColumns:
    def numbers(name: str) -> IntArray:
        return np.array(columns[name], dtype=np.int64)

    def flags(name: str) -> BoolArray:
        found = (numbers(name)[:, None] >> np.arange(len(STAGES))[None, :]) & 1
        found[:, _PACKED] = numbers(f"{name}_packed")
        return found > 0

    def per_stage(name: str) -> IntArray:
        counts = np.zeros((size, len(STAGES)), dtype=np.int64)
        triples = numbers(name).reshape(-1, 3)
        counts[triples[:, 0], triples[:, 1]] = triples[:, 2]
        return counts

    found = {name: numbers(name) for name in PLAIN}
    found["evidence_tokens"] = numbers("beside") + found["unique_tokens"] + found["repeated_tokens"]
    found["prompt_tokens"] = numbers("head_tokens") + found["evidence_tokens"]
    found["covered_bytes"] = found["needed_bytes"] - numbers("missing_bytes")
    failed = [""] * size
    for index, text in columns["failed"]:
        failed[index] = text
    return ViewColumns(
        found,
        numbers("measured") > 0,
        flags("complete"),
        flags("single_unit"),
        {name: per_stage(name) for name in _PER_STAGE},
        numbers("lost_after"),
        numbers("answer_class"),
        tuple(failed),
    )

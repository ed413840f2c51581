"""Small frozen questions, outcomes and matrices for the tests of metrics, statistics and gates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from annotate.domain.vocabulary import DependencyType, Partition, Sample, Segment
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.outcomes import AnswerClass, QuestionOutcome, Stage
from evaluation.domain.phase_matrix import PhaseMatrix
from evaluation.domain.plan_words import MetricName


def question(name: str, **changes: Any) -> FrozenQuestion:
    """Return an answerable, condition-dependent question in a cluster of its own unless told otherwise."""
    settings: dict[str, Any] = {
        "text": name,
        "answerable": True,
        "support_sets": (),
        "segment": Segment.RULE_AND_EXCEPTION,
        "sample": Sample.ENRICHED,
        "partition": Partition.DEVELOPMENT,
        "cluster": f"doc-{name}",
        "reader_labels": frozenset(),
        "as_of": date(2026, 10, 21),
        "dependency": DependencyType.EXCEPTION,
    }
    return FrozenQuestion(name, **(settings | changes))


def control(name: str, **changes: Any) -> FrozenQuestion:
    """Return an unanswerable control."""
    settings = {"answerable": False, "segment": Segment.UNANSWERABLE_CONTROL, "dependency": DependencyType.NONE}
    return question(name, **(settings | changes))


def outcome(
    name: str, answer: AnswerClass = AnswerClass.NONE, complete: bool = False, **changes: Any
) -> QuestionOutcome:
    """Return an outcome whose support at every stage is `complete` unless told otherwise."""
    settings: dict[str, Any] = {
        "complete": dict.fromkeys(Stage, complete),
        "answer_class": answer,
        "answered": answer in {AnswerClass.CORRECT, AnswerClass.CONDITION_ERROR, AnswerClass.WRONG},
    }
    return QuestionOutcome(name, **(settings | changes))


def matrix(
    rows: Sequence[Sequence[int]],
    clusters: Sequence[str] | None = None,
    cuts: Sequence[int] | None = None,
    totals: Sequence[Sequence[int]] | None = None,
    metric: MetricName = MetricName.COMPLETE_SUPPORT,
) -> PhaseMatrix:
    """Return a matrix of numerators, with denominators of one unless given."""
    numerator = np.array(rows, dtype=np.int64)
    count, phases = numerator.shape
    names = tuple(f"q{row:04d}" for row in range(count))
    return PhaseMatrix(
        metric,
        names,
        tuple(clusters or names),
        tuple(f"{column + 1}/{phases}" for column in range(phases)),
        tuple(cuts or range(phases)),
        numerator,
        np.ones_like(numerator) if totals is None else np.array(totals, dtype=np.int64),
        np.zeros_like(numerator),
    )

"""Questions × phases: one metric of one arm as two small integer matrices, and what a table shows of it.

Numerators and denominators stay apart, so ratios whose denominator depends on the outcome (attribution, condition use)
are resampled as ratios of sums and never as means of ratios.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.metrics import EMPTY, Figure, Run, tally
from evaluation.domain.outcomes import Stage, Status
from evaluation.domain.plan_words import MetricName

type Counts = NDArray[np.int64]

WORST_NOTE = "plug-in minimum over {phases} distinct phases; low-biased for an arm that varies with phase"


@dataclass(frozen=True, eq=False)
class PhaseMatrix:
    """Tallies of `metric` for Q questions in P shared phase labels.

    `numerator`, `denominator` and `failed` have shape (Q, P). `cuts` names the observation behind each label: labels
    with equal entries are one phase seen twice (they collapsed on one first cut, or the arm is an unshifted control)
    and count once in averages, minima and shares. Rows follow `questions`, with `clusters` beside them.
    """

    metric: MetricName
    questions: tuple[str, ...]
    clusters: tuple[str, ...]
    labels: tuple[str, ...]
    cuts: tuple[int, ...]
    numerator: Counts
    denominator: Counts
    failed: Counts

    def __post_init__(self) -> None:
        shape = (len(self.questions), len(self.labels))
        for name in ("numerator", "denominator", "failed"):
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has shape {getattr(self, name).shape}, not questions × phases {shape}")
        if len(self.clusters) != shape[0] or len(self.cuts) != shape[1]:
            raise ValueError("every question needs a cluster and every label a cut")
        if len(set(self.questions)) != shape[0] or len(set(self.labels)) != shape[1]:
            raise ValueError("a question or a phase label stands twice in the matrix")

    @property
    def distinct(self) -> tuple[int, ...]:
        """Columns of the distinct phases: the first label of each cut."""
        first: dict[int, int] = {}
        for column, cut in enumerate(self.cuts):
            first.setdefault(cut, column)
        return tuple(first.values())

    def rows(self, keep: Collection[str]) -> PhaseMatrix:
        """Return the matrix of the questions in `keep`, in this order."""
        chosen = [row for row, question in enumerate(self.questions) if question in keep]
        return PhaseMatrix(
            self.metric,
            tuple(self.questions[row] for row in chosen),
            tuple(self.clusters[row] for row in chosen),
            self.labels,
            self.cuts,
            self.numerator[chosen],
            self.denominator[chosen],
            self.failed[chosen],
        )

    def counted(self) -> PhaseMatrix:
        """Return the rows that have a denominator in at least one phase."""
        keep = self.denominator.any(axis=1)
        return self.rows({question for question, kept in zip(self.questions, keep, strict=True) if kept})

    def without(self, places: NDArray[np.bool_]) -> PhaseMatrix:
        """Return the tallies without those of `places`, (Q, P); what failed stays told."""
        alive = np.where(places, 0, 1)
        return PhaseMatrix(
            self.metric,
            self.questions,
            self.clusters,
            self.labels,
            self.cuts,
            self.numerator * alive,
            self.denominator * alive,
            self.failed,
        )


def phase_matrix(
    metric: MetricName,
    by_phase: Mapping[str, Sequence[Run]],
    cuts: Mapping[str, int] | None = None,
    stage: Stage = Stage.PACKED,
) -> PhaseMatrix:
    """Tally `metric` for every question and phase label.

    `by_phase` keeps the labels' order; a question that stands several times under one label (repeats) is summed.
    `cuts` maps each label to the first cut it fell on (an unshifted control maps all to one number); without it every
    label is its own phase. Raises ValueError when phases hold different questions.
    """
    labels = tuple(by_phase)
    clusters = {question.question_id: question.cluster for runs in by_phase.values() for question, _ in runs}
    names = tuple(sorted(clusters))
    row = {name: index for index, name in enumerate(names)}
    shape = (len(names), len(labels))
    numerator, denominator, failed, seen = (np.zeros(shape, dtype=np.int64) for _ in range(4))
    for column, runs in enumerate(by_phase.values()):
        for question, outcome in runs:
            place = (row[question.question_id], column)
            count, total = tally(metric, question, outcome, stage)
            numerator[place] += count
            denominator[place] += total
            failed[place] += bool(outcome.failed)
            seen[place] += 1
    if not seen.all():
        missing = np.argwhere(seen == 0)[0]
        raise ValueError(
            f"question {names[missing[0]]} has no outcome in phase {labels[missing[1]]}; use pair_up, so that it counts"
        )
    places = tuple((cuts or {label: index for index, label in enumerate(labels)})[label] for label in labels)
    return PhaseMatrix(
        metric, names, tuple(clusters[name] for name in names), labels, places, numerator, denominator, failed
    )


@dataclass(frozen=True)
class WorstPhase:
    """The minimum over distinct phases of the *aggregate*. `note` says how it was estimated."""

    value: Fraction | None
    labels: tuple[str, ...]
    phases: int
    note: str


@dataclass(frozen=True)
class Stability:
    """How questions behave over the distinct phases: always, never, or fragile (in some phases only), by id."""

    always: tuple[str, ...]
    never: tuple[str, ...]
    fragile: tuple[str, ...]

    def share(self, names: tuple[str, ...]) -> Fraction | None:
        """Return the share of `names` among the questions that were counted in every phase."""
        total = len(self.always) + len(self.never) + len(self.fragile)
        return Fraction(len(names), total) if total else None


@dataclass(frozen=True)
class ArmTable:
    """What a results table prints for one arm, metric and selection of questions.

    `average` is the mean over distinct phases of the phase figures that are defined; `question_worst` is the mean of
    each question's own worst phase, another and harsher number than `worst`; `spread` is largest − smallest phase.
    """

    metric: MetricName
    phases: tuple[tuple[str, Figure], ...]
    average: Fraction | None
    worst: WorstPhase
    spread: Fraction | None
    question_worst: Fraction | None
    stability: Stability
    note: str


def arm_table(matrix: PhaseMatrix) -> ArmTable:
    """Return each phase, the average, the worst phase, each question's worst, and the stability of the questions."""
    phases = tuple((label, _column_figure(matrix, column)) for column, label in enumerate(matrix.labels))
    values = {column: phases[column][1].value for column in matrix.distinct}
    known = {column: value for column, value in values.items() if value is not None}
    lowest = min(known.values(), default=None)
    note = ""
    if len(known) < len(values):
        note = f"{len(values) - len(known)} of {len(values)} phases have no value and are left out of the average"
    return ArmTable(
        matrix.metric,
        phases,
        sum(known.values(), Fraction(0)) / len(known) if known else None,
        WorstPhase(
            lowest,
            tuple(matrix.labels[column] for column, value in known.items() if value == lowest),
            len(values),
            WORST_NOTE.format(phases=len(values)) if len(values) > 1 else "one phase: it is the worst and the best",
        ),
        max(known.values()) - lowest if lowest is not None else None,
        _question_worst(matrix),
        stability(matrix),
        note,
    )


def stability(matrix: PhaseMatrix) -> Stability:
    """Return which questions are always, never and sometimes counted, among those with a denominator in every phase."""
    columns = list(matrix.distinct)
    numerator, denominator = matrix.numerator[:, columns], matrix.denominator[:, columns]
    whole = (denominator > 0).all(axis=1) if columns else np.zeros(len(matrix.questions), dtype=bool)
    always = whole & (numerator == denominator).all(axis=1)
    never = whole & (numerator == 0).all(axis=1)
    return Stability(
        _names(matrix.questions, always),
        _names(matrix.questions, never),
        _names(matrix.questions, whole & ~always & ~never),
    )


@dataclass(frozen=True)
class FourCells:
    """Paired fates of questions, by id: counted in both arms, gained by the candidate, lost by it, in neither."""

    rule: str
    both: tuple[str, ...]
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    neither: tuple[str, ...]


def four_cells(baseline: PhaseMatrix, candidate: PhaseMatrix, label: str | None = None) -> FourCells:
    """Compare the arms question by question at one phase, or, without `label`, by what holds in every phase.

    A question holds when it counts fully (numerator = denominator > 0); questions that neither arm can count are left
    out. Raises ValueError when the arms hold different
    questions or the label is unknown.
    """
    if baseline.questions != candidate.questions:
        raise ValueError("the arms hold different questions; select the same rows of both first")
    before, after = _holds(baseline, label), _holds(candidate, label)
    names = baseline.questions
    counted = baseline.denominator.any(axis=1) | candidate.denominator.any(axis=1)
    return FourCells(
        f"at phase {label}" if label else "in every phase",
        _names(names, before & after),
        _names(names, ~before & after),
        _names(names, before & ~after),
        _names(names, counted & ~before & ~after),
    )


def _holds(matrix: PhaseMatrix, label: str | None) -> NDArray[np.bool_]:
    full = (matrix.numerator == matrix.denominator) & (matrix.denominator > 0)
    if label is None:
        return np.asarray(full.all(axis=1))
    return np.asarray(full[:, matrix.labels.index(label)])


def _column_figure(matrix: PhaseMatrix, column: int) -> Figure:
    numerator, denominator = int(matrix.numerator[:, column].sum()), int(matrix.denominator[:, column].sum())
    runs = len(matrix.questions)
    failed = int((matrix.failed[:, column] > 0).sum())
    coverage = Fraction(runs - failed, runs) if runs else None
    if runs and failed == runs:
        return Figure(numerator, denominator, None, Status.FAILED, "every run of this phase failed", coverage)
    if not denominator:
        return Figure(numerator, 0, None, Status.UNDEFINED, f"n = 0: {EMPTY[matrix.metric]}", coverage)
    return Figure(numerator, denominator, Fraction(numerator, denominator), Status.VALUE, "", coverage)


def _question_worst(matrix: PhaseMatrix) -> Fraction | None:
    """Mean over questions of the smallest phase value of each; questions without a denominator anywhere are out."""
    worst: list[Fraction] = []
    columns = matrix.distinct
    for counts, totals in zip(matrix.numerator.tolist(), matrix.denominator.tolist(), strict=True):
        known = [Fraction(counts[column], totals[column]) for column in columns if totals[column]]
        if known:
            worst.append(min(known))
    return sum(worst, Fraction(0)) / len(worst) if worst else None


def _names(questions: tuple[str, ...], mask: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(question for question, kept in zip(questions, mask.tolist(), strict=True) if kept)

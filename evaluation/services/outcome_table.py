"""Everything a sweep found, as one table of outcomes that figures, gates and pages select from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from annotate.domain.vocabulary import Sample, Segment
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.metrics import SUPPORT_METRICS, Run, pair_up
from evaluation.domain.outcome_payload import OutcomeColumns, columns_from_payload
from evaluation.domain.outcomes import STAGES, QuestionOutcome, Stage
from evaluation.domain.phase_matrix import PhaseMatrix, phase_matrix
from evaluation.domain.plan import Plan
from evaluation.domain.plan_words import MetricName
from evaluation.models import Sweep
from evaluation.services.arm_phases import ArmPhases, arm_phases
from evaluation.services.frozen_world import load_world
from evaluation.services.pipeline_of import arm_settings, pipeline_settings
from evaluation.services.result_keys import OUTCOME
from ledger.models import Result

#: (arm, phase, view, repeat)
type Place = tuple[str, int, str, int]


@dataclass(frozen=True)
class Selection:
    """Which questions a figure is about. The two samples are never pooled; `segment` None is all segments together."""

    sample: Sample
    segment: Segment | None = None

    def holds(self, question: FrozenQuestion) -> bool:
        """Whether the question is in."""
        return question.sample is self.sample and self.segment in {None, question.segment}


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Outcomes of a sweep by arm, phase, view and repeat.

    `questions` is the plan's population; `asked` holds the twins of restricted questions too, which count for leaks
    only. A question without an outcome (its cell is still open) reads as a failed run, so no figure can leave it out.
    """

    plan: Plan
    questions: tuple[FrozenQuestion, ...]
    asked: tuple[FrozenQuestion, ...]
    phases: Mapping[str, ArmPhases]
    views: tuple[str, ...]
    cells: OutcomeCells = field(repr=False)

    @property
    def repeats(self) -> range:
        """The repeats of the plan."""
        return range(self.plan.generation.repeats)

    @property
    def selections(self) -> tuple[Selection, ...]:
        """Every sample that occurs, as a whole and by segment, in the plan's order; empty ones are kept and say n =
        0."""
        present = [sample for sample in Sample if any(one.sample is sample for one in self.questions)]
        segments = (None, *self.plan.population.segments)
        return tuple(Selection(sample, segment) for sample in present for segment in segments)

    def runs(self, arm: str, phase: int, view: str, selection: Selection, repeat: int = 0) -> list[Run]:
        """Return the selected questions with their outcomes in one cell, in the questions' order."""
        return self._paired((arm, phase, view, repeat), [one for one in self.questions if selection.holds(one)])

    def all_repeats(self, arm: str, phase: int, view: str, selection: Selection) -> list[Run]:
        """Return the runs of every repeat, one after another: what a headline counts."""
        return [run for repeat in self.repeats for run in self.runs(arm, phase, view, selection, repeat)]

    def every_sample(self, arm: str, phase: int, view: str, *, twins: bool = False) -> list[Run]:
        """Return the runs of every repeat over both samples, for gates (which select) and vetoes (which only count)."""
        chosen = self.asked if twins else self.questions
        return [run for repeat in self.repeats for run in self._paired((arm, phase, view, repeat), chosen)]

    def matrix(
        self, metric: MetricName, arm: str, view: str, selection: Selection, stage: Stage = Stage.PACKED
    ) -> PhaseMatrix:
        """Return the questions × shared phases matrix of a metric; repeats are summed."""
        shared = self.phases[arm].shared
        if metric in SUPPORT_METRICS:
            return self._support_matrix(metric, arm, view, selection, stage)
        by_phase = {label: self.all_repeats(arm, phase, view, selection) for label, phase in shared.items()}
        return phase_matrix(metric, by_phase, shared, stage)

    def _support_matrix(
        self, metric: MetricName, arm: str, view: str, selection: Selection, stage: Stage
    ) -> PhaseMatrix:
        """The same tallies as `phase_matrix`, read from columns without making a value per outcome."""
        shared = self.phases[arm].shared
        chosen = sorted((one for one in self.questions if selection.holds(one)), key=lambda one: one.question_id)
        row = {one.question_id: number for number, one in enumerate(chosen)}
        answerable = np.array([one.answerable for one in chosen], dtype=np.int64)
        shape = (len(chosen), len(shared))
        numerator, alive = (np.zeros(shape, dtype=np.int64) for _ in range(2))
        for column, phase in enumerate(shared.values()):
            for repeat in self.repeats:
                for block in self.cells.columns((arm, phase, view, repeat)):
                    found = block.views[view]
                    flags = found.complete if metric is MetricName.COMPLETE_SUPPORT else found.single_unit
                    here = [(row[name], at) for at, name in enumerate(block.questions) if name in row]
                    rows, at = np.array(here, dtype=np.int64).reshape(-1, 2).T
                    done = np.array([not text for text in found.failed], dtype=np.int64)[at]
                    numerator[rows, column] += flags[at, STAGES.index(stage)] * done * answerable[rows]
                    alive[rows, column] += done
        denominator = np.repeat(answerable[:, None] * len(self.repeats), shape[1], axis=1)
        return PhaseMatrix(
            metric,
            tuple(one.question_id for one in chosen),
            tuple(one.cluster for one in chosen),
            tuple(shared),
            tuple(shared.values()),
            numerator,
            denominator,
            len(self.repeats) - alive,
        )

    def _paired(self, place: Place, chosen: Sequence[FrozenQuestion]) -> list[Run]:
        found = self.cells.get(place, {})
        return pair_up(chosen, [found[one.question_id] for one in chosen if one.question_id in found])


class OutcomeCells(Mapping[Place, Mapping[str, QuestionOutcome]]):
    """Outcomes by place and question, made into values when a place is first asked for."""

    def __init__(self) -> None:
        self._columns: dict[Place, list[OutcomeColumns]] = {}
        self._made: dict[Place, dict[str, QuestionOutcome]] = {}

    def add(self, place: tuple[str, int, int], columns: OutcomeColumns) -> None:
        """Add a block: every view of one (arm, phase, repeat)."""
        arm, phase, repeat = place
        for view in columns.views:
            self._columns.setdefault((arm, phase, view, repeat), []).append(columns)

    def columns(self, place: Place) -> Sequence[OutcomeColumns]:
        """The blocks of a place as columns."""
        return self._columns.get(place, ())

    def __getitem__(self, place: Place) -> Mapping[str, QuestionOutcome]:
        if place not in self._made:
            blocks = self._columns[place]
            self._made[place] = {one.question_id: one for block in blocks for one in block.outcomes(place[2])}
        return self._made[place]

    def __iter__(self) -> Iterator[Place]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def table_of_results(sweep: Sweep) -> OutcomeTable:
    """Return the table from the results alone, which also exist while a sweep runs: what pages show, and what a release
    decision and its verification read."""
    world = load_world(sweep.plan)
    cells = OutcomeCells()
    for result in Result.objects.filter(scope=sweep.scope, kind=OUTCOME).order_by("key").iterator(chunk_size=50):
        value = result.value
        cells.add((value["arm"], value["phase"], value["repeat"]), columns_from_payload(value["outcomes"]))
    phases = {
        arm.name: arm_phases(world.plan, arm_settings(arm), world.prepared, world.questions) for arm in world.plan.arms
    }
    return OutcomeTable(world.plan, world.questions, world.asked, phases, pipeline_settings(world.plan).views, cells)


type Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""

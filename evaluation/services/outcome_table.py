"""Everything a sweep found, as one table of outcomes that figures, gates and pages select from."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotate.domain.vocabulary import Sample, Segment
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.metrics import Run, pair_up
from evaluation.domain.outcome_payload import outcomes_from_payload
from evaluation.domain.outcomes import QuestionOutcome, Stage
from evaluation.domain.phase_matrix import PhaseMatrix, phase_matrix
from evaluation.domain.plan import Plan
from evaluation.domain.plan_words import MetricName
from evaluation.models import CellSummary, Sweep
from evaluation.services.arm_phases import ArmPhases, arm_phases
from evaluation.services.frozen_world import World, load_world
from evaluation.services.pipeline_of import arm_settings, pipeline_settings
from evaluation.services.result_keys import OUTCOME
from ledger.domain.canonical import parse_canonical
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
    cells: Mapping[Place, Mapping[str, QuestionOutcome]] = field(repr=False)

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
        by_phase = {label: self.all_repeats(arm, phase, view, selection) for label, phase in shared.items()}
        return phase_matrix(metric, by_phase, shared, stage)

    def _paired(self, place: Place, chosen: Sequence[FrozenQuestion]) -> list[Run]:
        found = self.cells.get(place, {})
        return pair_up(chosen, [found[one.question_id] for one in chosen if one.question_id in found])


def table_of_summaries(sweep: Sweep) -> OutcomeTable:
    """Return the table from the summary rows, which also exist while a sweep runs."""
    rows = CellSummary.objects.filter(cell__sweep=sweep).values_list(
        "cell__arm", "cell__phase", "view", "cell__repeat", "outcomes"
    )
    payloads = (
        ((arm, phase, view, repeat), parse_canonical(zlib.decompress(body)))
        for arm, phase, view, repeat, body in rows.iterator(chunk_size=200)
    )
    return _table(load_world(sweep.plan), payloads)


def table_of_results(sweep: Sweep) -> OutcomeTable:
    """Return the table from the sealed results alone: what a release decision and its verification read."""
    results = Result.objects.filter(scope=sweep.scope, kind=OUTCOME).order_by("key").iterator(chunk_size=200)
    return _table(load_world(sweep.plan), _sealed(result.value for result in results))


def _sealed(values: Iterable[dict[str, Any]]) -> Iterator[tuple[Place, dict[str, Any]]]:
    for value in values:
        yield (value["arm"], value["phase"], value["view"], value["repeat"]), value["outcomes"]


def _table(world: World, payloads: Iterable[tuple[Place, dict[str, Any]]]) -> OutcomeTable:
    cells: dict[Place, dict[str, QuestionOutcome]] = {}
    for place, payload in payloads:
        at = cells.setdefault(place, {})
        for outcome in outcomes_from_payload(payload):
            at[outcome.question_id] = outcome
    phases = {
        arm.name: arm_phases(world.plan, arm_settings(arm), world.prepared, world.questions) for arm in world.plan.arms
    }
    return OutcomeTable(world.plan, world.questions, world.asked, phases, pipeline_settings(world.plan).views, cells)


type Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""

"""The metric table: what each metric counts, over which questions, and what it says when nothing can be counted.

Definitions and denominators follow the design's section 9. *Answerable* means: by the sources this reader may read, as
of the question's date. Every metric is a sum of small integer tallies, one per question and run, so a table, a phase
matrix and a bootstrap can never disagree about a denominator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from annotate.domain.vocabulary import MissingBehaviour
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.outcomes import AnswerClass, QuestionOutcome, Stage, Status
from evaluation.domain.plan_words import MetricName

type Run = tuple[FrozenQuestion, QuestionOutcome]

ABSENT = "no outcome was recorded for this question"

#: Metrics in which less is better; a failed run stays in their denominator and is no error, so their gates read the
#: failure-free tallies (a crash must not look like care).
ERROR_METRICS = frozenset({MetricName.CONDITION_ERROR, MetricName.FALSE_ASSERTION, MetricName.ABSTENTION_WRONG})

#: Metrics that need no generator.
SUPPORT_METRICS = frozenset({MetricName.COMPLETE_SUPPORT, MetricName.SINGLE_UNIT_SUPPORT})


@dataclass(frozen=True)
class Figure:
    """A count over a count. `value` is None unless `status` is VALUE; `reason` says why.

    `coverage` is the share of the runs read that completed (None when there was none to read).
    """

    numerator: int
    denominator: int
    value: Fraction | None
    status: Status
    reason: str = ""
    coverage: Fraction | None = None


@dataclass(frozen=True)
class Reading:
    """One metric three ways: the headline, without failed runs, and over questions whose smallest set fits."""

    metric: MetricName
    headline: Figure
    without_failures: Figure
    feasible_only: Figure


def pair_up(questions: Iterable[FrozenQuestion], outcomes: Iterable[QuestionOutcome]) -> list[Run]:
    """Join questions with their outcomes, in the questions' order; a question without one becomes a failed run.

    Raises ValueError for an outcome of an unknown question and for two outcomes of one question.
    """
    by_id: dict[str, QuestionOutcome] = {}
    for outcome in outcomes:
        if outcome.question_id in by_id:
            raise ValueError(f"two outcomes for question {outcome.question_id}; give each repeat its own list")
        by_id[outcome.question_id] = outcome
    runs = [
        (question, by_id.pop(question.question_id, QuestionOutcome(question.question_id, failed=ABSENT)))
        for question in questions
    ]
    if by_id:
        raise ValueError(f"outcomes of questions that are not in the population: {', '.join(sorted(by_id)[:5])}")
    return runs


def tally(
    metric: MetricName, question: FrozenQuestion, outcome: QuestionOutcome, stage: Stage = Stage.PACKED
) -> tuple[int, int]:
    """Return (numerator, denominator) of one run. `stage` matters to the two support metrics only.

    Raises KeyError for `answer-reversal`, which is a property of several phases (`answer_reversal`).
    """
    if metric in SUPPORT_METRICS:
        seen = outcome.complete if metric is MetricName.COMPLETE_SUPPORT else outcome.single_unit
        return int(question.answerable and not outcome.failed and seen.get(stage, False)), int(question.answerable)
    return _ANSWER_TALLIES[metric](question, outcome)


def _condition_error(question: FrozenQuestion, outcome: QuestionOutcome) -> tuple[int, int]:
    wrong = _is(outcome, AnswerClass.CONDITION_ERROR)
    return int(question.condition_dependent and wrong), int(question.condition_dependent)


def _condition_use(question: FrozenQuestion, outcome: QuestionOutcome) -> tuple[int, int]:
    counted = question.condition_dependent and _asserted(outcome) and outcome.complete.get(Stage.PACKED, False)
    return int(counted and _is(outcome, AnswerClass.CORRECT)), int(counted)


def _correctness(question: FrozenQuestion, outcome: QuestionOutcome) -> tuple[int, int]:
    return int(question.answerable and _is(outcome, AnswerClass.CORRECT)), int(question.answerable)


def _coverage(question: FrozenQuestion, outcome: QuestionOutcome) -> tuple[int, int]:
    return int(question.answerable and _asserted(outcome)), int(question.answerable)


def _abstention_right(question: FrozenQuestion, outcome: QuestionOutcome) -> tuple[int, int]:
    return int(not question.answerable and _is(outcome, AnswerClass.ABSTAINED)), int(not question.answerable)


def _abstention_wrong(question: FrozenQuestion, outcome: QuestionOutcome) -> tuple[int, int]:
    """Abstaining is wrong unless the evidence lacked support and the contract asks for abstention then."""
    supported = outcome.complete.get(Stage.PACKED, False)
    allowed = not supported and question.missing_behaviour is MissingBehaviour.ABSTAIN
    wrong = question.answerable and _is(outcome, AnswerClass.ABSTAINED) and not allowed
    return int(wrong), int(question.answerable)


def _false_assertion(question: FrozenQuestion, outcome: QuestionOutcome) -> tuple[int, int]:
    return int(not question.answerable and _asserted(outcome)), int(not question.answerable)


def _citations(question: FrozenQuestion, outcome: QuestionOutcome) -> tuple[int, int]:
    return (0, 0) if outcome.failed else (outcome.citations_resolved, outcome.citations_emitted)


def _attribution(question: FrozenQuestion, outcome: QuestionOutcome) -> tuple[int, int]:
    asserted = _asserted(outcome)
    return int(asserted and outcome.citations_emitted > 0 and outcome.citations_cover_support), int(asserted)


_ANSWER_TALLIES: dict[MetricName, Callable[[FrozenQuestion, QuestionOutcome], tuple[int, int]]] = {
    MetricName.CONDITION_ERROR: _condition_error,
    MetricName.CONDITION_USE: _condition_use,
    MetricName.CORRECTNESS: _correctness,
    MetricName.ANSWER_COVERAGE: _coverage,
    MetricName.ABSTENTION_RIGHT: _abstention_right,
    MetricName.ABSTENTION_WRONG: _abstention_wrong,
    MetricName.FALSE_ASSERTION: _false_assertion,
    MetricName.CITATION_RESOLUTION: _citations,
    MetricName.ATTRIBUTION: _attribution,
}

#: Why a denominator of zero is one, in words.
EMPTY: dict[MetricName, str] = {
    MetricName.COMPLETE_SUPPORT: "there is no answerable question here",
    MetricName.SINGLE_UNIT_SUPPORT: "there is no answerable question here",
    MetricName.CONDITION_ERROR: "there is no condition-dependent answerable question here",
    MetricName.CONDITION_USE: "no condition-dependent question was answered from complete support",
    MetricName.CORRECTNESS: "there is no answerable question here",
    MetricName.ANSWER_COVERAGE: "there is no answerable question here",
    MetricName.ABSTENTION_RIGHT: "there is no unanswerable question here",
    MetricName.ABSTENTION_WRONG: "there is no answerable question here",
    MetricName.FALSE_ASSERTION: "there is no unanswerable question here",
    MetricName.CITATION_RESOLUTION: "no citation was emitted",
    MetricName.ATTRIBUTION: "no answer was asserted",
    MetricName.REVERSAL: "no question was answered or abstained on in every phase",
}


def figure(metric: MetricName, runs: Sequence[Run], stage: Stage = Stage.PACKED) -> Figure:
    """Return the headline figure of `metric` over `runs`: failed runs are misses, infeasible questions stay in."""
    completed = sum(not outcome.failed for _, outcome in runs)
    coverage = Fraction(completed, len(runs)) if runs else None
    if metric not in SUPPORT_METRICS and completed and not generated(runs):
        return Figure(0, 0, None, Status.UNDEFINED, "no generator ran, so there is no answer to judge", coverage)
    counts = [tally(metric, question, outcome, stage) for question, outcome in runs]
    numerator, denominator = sum(n for n, _ in counts), sum(d for _, d in counts)
    if runs and not completed:
        reason = f"every run failed: {sorted({outcome.failed for _, outcome in runs})[0]}"
        return Figure(numerator, denominator, None, Status.FAILED, reason, coverage)
    if not denominator:
        return Figure(numerator, 0, None, Status.UNDEFINED, f"n = 0: {EMPTY[metric]}", coverage)
    return Figure(numerator, denominator, Fraction(numerator, denominator), Status.VALUE, "", coverage)


def reading(metric: MetricName, runs: Sequence[Run], stage: Stage = Stage.PACKED) -> Reading:
    """Return the headline with its two sensitivity figures beside it."""
    return Reading(
        metric,
        figure(metric, runs, stage),
        figure(metric, [run for run in runs if not run[1].failed], stage),
        figure(metric, [run for run in runs if run[1].feasible], stage),
    )


def stage_support(runs: Sequence[Run]) -> dict[Stage, Figure]:
    """Return complete support after every stage, in the pipeline's order."""
    return {stage: figure(MetricName.COMPLETE_SUPPORT, runs, stage) for stage in Stage}


def stage_losses(runs: Sequence[Run]) -> dict[str, tuple[str, ...]]:
    """Return ids of answerable questions by fate: "complete", "failed", the stage of loss, or "never-complete"."""
    fates: dict[str, list[str]] = {}
    for question, outcome in runs:
        if not question.answerable:
            continue
        if outcome.failed:
            fate = "failed"
        elif outcome.complete.get(Stage.PACKED, False):
            fate = "complete"
        else:
            fate = outcome.lost_after.value if outcome.lost_after else "never-complete"
        fates.setdefault(fate, []).append(question.question_id)
    order = ("complete", *Stage, "never-complete", "failed")
    return {str(fate): tuple(fates[fate]) for fate in order if fate in fates}


@dataclass(frozen=True)
class Usage:
    """Sums of what completed runs consumed, in the plan's tokenizer's tokens.

    `duplicate_pairs` ÷ `compared_pairs` is the duplicate pressure among packed units of one document.
    """

    runs: int
    evidence_tokens: int
    unique_tokens: int
    repeated_tokens: int
    prompt_tokens: int
    duplicate_pairs: int
    compared_pairs: int

    @property
    def mean_evidence_tokens(self) -> Fraction | None:
        """Evidence tokens per completed run."""
        return Fraction(self.evidence_tokens, self.runs) if self.runs else None

    @property
    def duplicate_pressure(self) -> Fraction | None:
        """Share of compared pairs that are duplicates; None when no pair was compared."""
        return Fraction(self.duplicate_pairs, self.compared_pairs) if self.compared_pairs else None


def usage(runs: Sequence[Run]) -> Usage:
    """Return the sums over completed runs; failed runs consumed nothing that can be compared."""
    done = [outcome for _, outcome in runs if not outcome.failed]
    return Usage(
        len(done),
        sum(outcome.evidence_tokens for outcome in done),
        sum(outcome.unique_tokens for outcome in done),
        sum(outcome.repeated_tokens for outcome in done),
        sum(outcome.prompt_tokens for outcome in done),
        sum(outcome.duplicate_pairs for outcome in done),
        sum(outcome.compared_pairs for outcome in done),
    )


@dataclass(frozen=True)
class Reversal:
    """Answer reversal over phases, with what repeats at one phase already show.

    `questions` are the reversing ones; `explained` is the share of them that also flips between repeats at one phase
    (None without repeats or without reversals).
    """

    across_phases: Figure
    questions: tuple[str, ...]
    across_repeats: Figure
    explained: Fraction | None


def answer_reversal(by_phase: Mapping[str, Sequence[Run]], repeats: Sequence[Sequence[Run]] = ()) -> Reversal:
    """Return how many questions' substantive verdict class differs between phases.

    `by_phase` maps each phase label to one run per question; `repeats` holds the repeats at one phase, each with one
    run per question. D is the questions answered or abstained on in every phase; wording never counts.
    """
    flips, shown = _flips(list(by_phase.values()))
    repeat_flips, repeat_shown = _flips(list(repeats))
    return Reversal(
        _reversal_figure(flips, shown, len(by_phase), "phase"),
        tuple(flips),
        _reversal_figure(repeat_flips, repeat_shown, len(repeats), "repeat"),
        Fraction(len(set(flips) & set(repeat_flips)), len(flips)) if flips and len(repeats) > 1 else None,
    )


def _flips(columns: Sequence[Sequence[Run]]) -> tuple[list[str], tuple[int, int]]:
    """Return ids whose class differs between columns, and (questions judged in all columns, questions seen)."""
    classes: dict[str, list[AnswerClass]] = {}
    for column in columns:
        for question, outcome in column:
            judged = [] if outcome.failed or outcome.answer_class is AnswerClass.NONE else [outcome.answer_class]
            classes.setdefault(question.question_id, []).extend(judged)
    whole = {name: seen for name, seen in classes.items() if columns and len(seen) == len(columns)}
    return sorted(name for name, seen in whole.items() if len(set(seen)) > 1), (len(whole), len(classes))


def _reversal_figure(flips: Sequence[str], shown: tuple[int, int], columns: int, noun: str) -> Figure:
    judged, seen = shown
    coverage = Fraction(judged, seen) if seen else None
    if columns < 2:
        return Figure(0, 0, None, Status.UNDEFINED, f"a reversal needs two {noun}s, there is {columns}", coverage)
    if not judged:
        return Figure(0, 0, None, Status.UNDEFINED, f"n = 0: no question was judged in every {noun}", coverage)
    return Figure(len(flips), judged, Fraction(len(flips), judged), Status.VALUE, "", coverage)


def generated(runs: Sequence[Run]) -> bool:
    """Whether any run carries an answer or an abstention."""
    return any(outcome.answer_class is not AnswerClass.NONE for _, outcome in runs)


def _is(outcome: QuestionOutcome, answer_class: AnswerClass) -> bool:
    return not outcome.failed and outcome.answer_class is answer_class


def _asserted(outcome: QuestionOutcome) -> bool:
    return not outcome.failed and outcome.answered

"""Why a question was lost in one cell, as far as its records allow, and the experiment each reason asks for.

Reasons are read in the order of the pipeline, from stage flags and counts; answers and the oracle come last. A reason
that follows from another is not repeated: what was severed by a cut is not also "not found". Nothing here proves a
cause. It says what the records show and what to vary, one factor at a time, to see whether it was that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from annotate.domain.vocabulary import MissingBehaviour
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.outcomes import AnswerClass, QuestionOutcome, Stage
from evaluation.domain.plan_words import Factor

#: Evidence whose relevant share is lower reads as buried; a diagnosis only, no gate or metric uses it.
BURIED_BELOW = Fraction(1, 10)


class Trouble(StrEnum):
    """What the records show, by the stage that owns it."""

    RUN_FAILED = "run-failed"
    NOTHING_READABLE = "nothing-readable"
    BUDGET_TOO_SMALL = "budget-too-small"
    SEVERED = "severed-by-a-cut"
    NOT_FOUND = "not-found"
    SET_APART = "set-apart"
    RERANKED_AWAY = "reranked-away"
    REPLACED = "replaced-in-expansion"
    DENIED = "denied"
    MERGED_AWAY = "merged-away"
    CROWDED_OUT = "crowded-out-by-repeats"
    BEYOND_THE_LIMIT = "beyond-the-limit"
    TIE = "tie-at-k"
    BURIED = "buried"
    IGNORED = "visible-and-ignored"
    UNRESOLVED = "unresolved"
    WITHOUT_SUPPORT = "answered-without-support"
    CONDITION_DROPPED = "condition-dropped"
    OVERCAUTIOUS = "abstained-on-support"
    FALSE_ASSERTION = "asserted-where-nothing-answers"
    UNCITED = "citations-do-not-cover"


@dataclass(frozen=True)
class Experiment:
    """What to vary next: in words, and as the one factor a plan would name (NONE: nothing in a plan, look first)."""

    words: str
    factor: Factor


@dataclass(frozen=True)
class Diagnosis:
    """One reason: its name, what in the records says so, and the experiment it asks for."""

    trouble: Trouble
    because: str
    experiment: Experiment


def diagnose(
    question: FrozenQuestion,
    outcome: QuestionOutcome,
    *,
    oracle: QuestionOutcome | None = None,
    tie_at_k: bool = False,
    k: int = 0,
) -> tuple[Diagnosis, ...]:
    """Return every reason the records of one run give, first the one that comes first in the pipeline; () for none.

    `oracle` is the same question from its adjudicated evidence under the production ceiling, where one ran; `k` is the
    limit of a top-k view, 0 in a view of tokens. The outcome and the oracle must be those of `question`; raises
    ValueError otherwise.
    """
    if {question.question_id} != {one.question_id for one in (outcome, oracle or outcome)}:
        raise ValueError(f"outcomes of another question than {question.question_id}")
    if outcome.failed:
        return (
            _found(Trouble.RUN_FAILED, f"The run failed: {outcome.failed}. It counts as a miss and shows nothing."),
        )
    if not question.answerable:
        return tuple(_unanswerable(outcome))
    if outcome.complete.get(Stage.PACKED, False):
        return tuple(_answered(question, outcome, oracle))
    return (*_lost(question, outcome, tie_at_k, k), *_answered_without(question, outcome))


def _found(trouble: Trouble, because: str) -> Diagnosis:
    return Diagnosis(trouble, because, EXPERIMENTS[trouble])


def _unanswerable(outcome: QuestionOutcome) -> Iterator[Diagnosis]:
    if outcome.answered:
        score = f"; its best hit scored {outcome.top_score / 1_000_000:.3f}" if outcome.top_score else ""
        yield _found(Trouble.FALSE_ASSERTION, f"The sources do not answer this, and an answer was asserted{score}.")


def _lost(question: FrozenQuestion, outcome: QuestionOutcome, tie: bool, k: int) -> Iterator[Diagnosis]:
    if not outcome.complete.get(Stage.CHUNKED, False):
        yield _found(Trouble.NOTHING_READABLE, "No sufficient set is wholly readable by this question's reader.")
        return
    if not outcome.feasible:
        yield _found(Trouble.BUDGET_TOO_SMALL, "The smallest sufficient set does not fit under the limit, even alone.")
    stage = outcome.lost_after
    if stage in {None, Stage.CHUNKED}:
        yield _among_candidates(question, outcome)
    elif stage is Stage.DEDUPLICATED:
        yield from _in_packing(outcome, k)
    else:
        yield _found(*_STEPS[stage])
    if tie and stage is Stage.DEDUPLICATED:
        yield _found(Trouble.TIE, "Ranks at the limit share a score, so the tie rule decided what is in.")


def _among_candidates(question: FrozenQuestion, outcome: QuestionOutcome) -> Diagnosis:
    """Never complete among the candidates: was a span cut, the set spread over chunks, or a whole chunk not found?"""
    if outcome.severed_spans:
        spans = _number(outcome.severed_spans, "span")
        return _found(
            Trouble.SEVERED, f"A cut divides {spans} of the evidence, and not all parts were among the candidates."
        )
    most = max((len(one) for one in question.support_sets), default=0)
    if most > 1 and outcome.covered_spans and not outcome.single_unit.get(Stage.CHUNKED, False):
        return _found(
            Trouble.SET_APART,
            f"No span is divided, but no chunk holds a whole set: {outcome.covered_spans} of {outcome.needed_spans} "
            "spans of the best set came into the prompt, the others were not among the candidates.",
        )
    return _found(Trouble.NOT_FOUND, "Chunks with the evidence whole exist, and were not among the candidates.")


def _in_packing(outcome: QuestionOutcome, k: int) -> Iterator[Diagnosis]:
    at = outcome.rank_of_completion
    rank = f"Support is complete from rank {at}" if at else "Support is complete before packing"
    limit = f"beyond k = {k}" if k else "and there was no room for that many tokens"
    if outcome.duplicate_pairs or outcome.repeated_tokens:
        shown = outcome.unique_tokens + outcome.repeated_tokens
        yield _found(
            Trouble.CROWDED_OUT,
            f"{rank}, {limit}: {outcome.repeated_tokens:,} of {shown:,} source tokens in the prompt repeat others "
            f"({_number(outcome.duplicate_pairs, 'duplicate pair')}).",
        )
    else:
        yield _found(Trouble.BEYOND_THE_LIMIT, f"{rank}, {limit}.")


def _answered_without(question: FrozenQuestion, outcome: QuestionOutcome) -> Iterator[Diagnosis]:
    if outcome.answer_class is AnswerClass.CONDITION_ERROR:
        yield _found(Trouble.CONDITION_DROPPED, "It asserted an answer although the required condition was not shown.")
    elif outcome.answer_class is AnswerClass.CORRECT:
        yield _found(Trouble.WITHOUT_SUPPORT, "The answer is right, and the prompt did not hold what it rests on.")
    elif outcome.answer_class is AnswerClass.WRONG and question.missing_behaviour is MissingBehaviour.ABSTAIN:
        yield _found(
            Trouble.WITHOUT_SUPPORT, "It asserted an answer where the contract asks to abstain without support."
        )


def _answered(
    question: FrozenQuestion, outcome: QuestionOutcome, oracle: QuestionOutcome | None
) -> Iterator[Diagnosis]:
    """Support was in the prompt: what is left is the generator's, the prompt's or the annotation's."""
    if outcome.answer_class is AnswerClass.NONE:
        return
    if outcome.answer_class is AnswerClass.CORRECT:
        if not outcome.citations_cover_support:
            resolved = f"{outcome.citations_resolved} of {_number(outcome.citations_emitted, 'citation')} resolve"
            yield _found(Trouble.UNCITED, f"The answer is right and its citations cover no sufficient set: {resolved}.")
        return
    if oracle is not None and not oracle.failed and oracle.answer_class is not AnswerClass.NONE:
        if oracle.answer_class is not AnswerClass.CORRECT:
            yield _found(
                Trouble.UNRESOLVED,
                "From the adjudicated evidence alone the answer is not right either: generator, prompt, an unresolved "
                "referent or the annotation.",
            )
            return
        yield _found(
            Trouble.IGNORED,
            "Support is whole in the prompt, and from the adjudicated evidence alone the answer is right.",
        )
    if outcome.shown_bytes and Fraction(outcome.relevant_bytes, outcome.shown_bytes) < BURIED_BELOW:
        yield _found(
            Trouble.BURIED, f"{outcome.relevant_bytes:,} of {outcome.shown_bytes:,} bytes in the prompt are evidence."
        )
    if outcome.answer_class is AnswerClass.ABSTAINED:
        yield _found(Trouble.OVERCAUTIOUS, "It abstained with complete support in the prompt.")
    elif outcome.answer_class is AnswerClass.CONDITION_ERROR and question.condition_dependent:
        yield _found(Trouble.CONDITION_DROPPED, "The required condition was in the prompt and was not applied.")


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


_STEPS: dict[Stage | None, tuple[Trouble, str]] = {
    Stage.CANDIDATES: (Trouble.RERANKED_AWAY, "Support was complete among the candidates and not after reranking."),
    Stage.RERANKED: (Trouble.REPLACED, "Support was complete before expansion and not after it."),
    Stage.EXPANDED: (Trouble.DENIED, "Support was complete until units were denied to this question's reader."),
    Stage.AUTHORISED: (Trouble.MERGED_AWAY, "Support was complete until duplicates were merged."),
}

EXPERIMENTS: dict[Trouble, Experiment] = {
    Trouble.RUN_FAILED: Experiment("Mend what failed and run the cell again; the failed try stays.", Factor.NONE),
    Trouble.NOTHING_READABLE: Experiment(
        "Look at the reader's labels and the labels of the sources: either is wrong, or nobody should get this answer.",
        Factor.NONE,
    ),
    Trouble.BUDGET_TOO_SMALL: Experiment(
        "Read the oracle with more room, and compare a wider ceiling with shorter units; no boundary mends this.",
        Factor.NONE,
    ),
    Trouble.SEVERED: Experiment("The same arm with overlap, then with cuts at sentences or headings.", Factor.OVERLAP),
    Trouble.NOT_FOUND: Experiment("The same chunks under another retriever, or a deeper list.", Factor.RETRIEVAL),
    Trouble.SET_APART: Experiment(
        "The same chunks widened by neighbours or their section, so that the rest comes with the hit.", Factor.RECOVERY
    ),
    Trouble.RERANKED_AWAY: Experiment("The same arm without its reranker.", Factor.RERANKING),
    Trouble.REPLACED: Experiment("The same arm without widening, or widened after reranking.", Factor.RECOVERY),
    Trouble.DENIED: Experiment(
        "Compare the labels of what was denied with its source: a copied or inherited label may be wrong.", Factor.NONE
    ),
    Trouble.MERGED_AWAY: Experiment(
        "Look at the merged intervals; merging identical bytes loses nothing.", Factor.NONE
    ),
    Trouble.CROWDED_OUT: Experiment("The same arm with less overlap, or reranked for novelty.", Factor.OVERLAP),
    Trouble.BEYOND_THE_LIMIT: Experiment("The same candidates reranked, then smaller units.", Factor.RERANKING),
    Trouble.TIE: Experiment("Repeat at other phases: what hangs on a tie is luck.", Factor.NONE),
    Trouble.BURIED: Experiment("Smaller chunks under the same ceiling.", Factor.CAPACITY),
    Trouble.IGNORED: Experiment(
        "The same evidence in another order and repeated runs: noise and place, before any cut is moved.", Factor.NONE
    ),
    Trouble.UNRESOLVED: Experiment(
        "Read the whole source and the annotation before any boundary is blamed.", Factor.NONE
    ),
    Trouble.WITHOUT_SUPPORT: Experiment(
        "Ask the generator without any evidence: what it knows beforehand is no support.", Factor.NONE
    ),
    Trouble.CONDITION_DROPPED: Experiment("The prompt's rule for missing conditions, on this evidence.", Factor.NONE),
    Trouble.OVERCAUTIOUS: Experiment("The abstention threshold and the prompt, on this evidence.", Factor.NONE),
    Trouble.FALSE_ASSERTION: Experiment("The abstention threshold, on unanswerable questions alone.", Factor.NONE),
    Trouble.UNCITED: Experiment(
        "The citation format and its resolution; support and answer are in order.", Factor.NONE
    ),
}
"""The experiment each reason asks for: one factor against the arm it was found in."""

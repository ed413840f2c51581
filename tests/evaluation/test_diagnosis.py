"""Reasons for a lost question: each from the records that show it, in the pipeline's order, and none for a kept one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.vocabulary import MissingBehaviour
from evaluation.domain.diagnosis import EXPERIMENTS, Trouble, diagnose
from evaluation.domain.frozen import Interval, SupportSpan
from evaluation.domain.outcomes import STAGES, AnswerClass, QuestionOutcome, Stage
from tests.evaluation.outcome_makers import control, outcome, question

PAIR = (SupportSpan("rule", Interval("v", 0, 5)), SupportSpan("exception", Interval("v", 50, 60)))
Q = question("q", support_sets=(PAIR,))


def lost(after: Stage | None, **changes: Any) -> QuestionOutcome:
    """Return an outcome whose support was last complete after a stage."""
    until = STAGES.index(after) if after else 0
    whole = {stage: number <= until for number, stage in enumerate(STAGES)}
    settings: dict[str, Any] = {"complete": whole, "single_unit": dict(whole), "lost_after": after}
    return replace(outcome("q"), **(settings | changes))


def troubles(one: QuestionOutcome, **more: Any) -> list[Trouble]:
    return [found.trouble for found in diagnose(Q, one, **more)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"after": Stage.CHUNKED, "severed_spans": 1}, Trouble.SEVERED),
        ({"after": Stage.CHUNKED}, Trouble.NOT_FOUND),
        (
            {
                "after": Stage.CHUNKED,
                "covered_spans": 1,
                "needed_spans": 2,
                "single_unit": dict.fromkeys(STAGES, False),
            },
            Trouble.SET_APART,
        ),
        ({"after": Stage.CANDIDATES}, Trouble.RERANKED_AWAY),
        ({"after": Stage.RERANKED}, Trouble.REPLACED),
        ({"after": Stage.EXPANDED, "denials": 1}, Trouble.DENIED),
        ({"after": Stage.AUTHORISED}, Trouble.MERGED_AWAY),
        ({"after": Stage.DEDUPLICATED, "rank_of_completion": 9}, Trouble.BEYOND_THE_LIMIT),
        ({"after": Stage.DEDUPLICATED, "repeated_tokens": 12, "duplicate_pairs": 2}, Trouble.CROWDED_OUT),
        ({"after": None, "complete": dict.fromkeys(STAGES, False)}, Trouble.NOTHING_READABLE),
        ({"after": Stage.DEDUPLICATED, "feasible": False}, Trouble.BUDGET_TOO_SMALL),
    ],
)
def test_each_stage_of_loss_has_its_reason(changes: dict[str, Any], expected: Trouble) -> None:
    assert troubles(lost(**changes))[0] is expected


def test_failed_run_says_nothing_else() -> None:
    assert troubles(lost(Stage.CHUNKED, failed="the endpoint was away")) == [Trouble.RUN_FAILED]


def test_tie_is_a_reason_only_where_the_limit_decided() -> None:
    assert troubles(lost(Stage.DEDUPLICATED), tie_at_k=True) == [Trouble.BEYOND_THE_LIMIT, Trouble.TIE]
    assert troubles(lost(Stage.CHUNKED), tie_at_k=True) == [Trouble.NOT_FOUND]


def test_limit_is_named_as_the_view_counts_it() -> None:
    at_k = diagnose(Q, lost(Stage.DEDUPLICATED, rank_of_completion=9), k=5)[0].because
    assert at_k == "Support is complete from rank 9, beyond k = 5."
    assert "no room" in diagnose(Q, lost(Stage.DEDUPLICATED, rank_of_completion=9))[0].because


def test_oracle_tells_an_ignored_condition_from_an_unresolved_one() -> None:
    wrong = outcome("q", AnswerClass.CONDITION_ERROR, complete=True)
    assert troubles(wrong, oracle=outcome("q", AnswerClass.CORRECT, complete=True)) == [
        Trouble.IGNORED,
        Trouble.CONDITION_DROPPED,
    ]
    assert troubles(wrong, oracle=outcome("q", AnswerClass.WRONG, complete=True)) == [Trouble.UNRESOLVED]
    # A failed oracle or none says nothing about the generator.
    assert troubles(wrong, oracle=replace(outcome("q"), failed="away")) == [Trouble.CONDITION_DROPPED]
    assert troubles(wrong) == [Trouble.CONDITION_DROPPED]


def test_right_answer_without_support_or_citation_is_not_in_order() -> None:
    assert troubles(lost(Stage.CHUNKED, answer_class=AnswerClass.CORRECT, answered=True)) == [
        Trouble.NOT_FOUND,
        Trouble.WITHOUT_SUPPORT,
    ]
    assert troubles(outcome("q", AnswerClass.CORRECT, complete=True)) == [Trouble.UNCITED]
    assert troubles(outcome("q", AnswerClass.CORRECT, complete=True, citations_cover_support=True)) == []
    narrow = replace(Q, missing_behaviour=MissingBehaviour.NARROWER)
    assert [
        one.trouble for one in diagnose(narrow, lost(Stage.CHUNKED, answer_class=AnswerClass.WRONG, answered=True))
    ] == [Trouble.NOT_FOUND]


def test_unanswerable_question_is_in_trouble_only_when_something_was_asserted() -> None:
    asked = control("q")
    assert diagnose(asked, outcome("q", AnswerClass.ABSTAINED)) == ()
    found = diagnose(asked, outcome("q", AnswerClass.WRONG, top_score=2_500_000))
    assert [one.trouble for one in found] == [Trouble.FALSE_ASSERTION]
    assert "2.500" in found[0].because


def test_outcome_of_another_question_is_refused() -> None:
    with pytest.raises(ValueError, match="another question"):
        diagnose(Q, outcome("other"))


def test_every_reason_asks_for_an_experiment() -> None:
    assert set(EXPERIMENTS) == set(Trouble)


@given(
    complete=st.lists(st.booleans(), min_size=len(STAGES), max_size=len(STAGES)),
    after=st.sampled_from([None, *STAGES[:-1]]),
    answer=st.sampled_from(AnswerClass),
    severed=st.integers(0, 3),
    repeated=st.integers(0, 40),
)
def test_lost_question_always_has_a_reason_and_no_reason_stands_twice(
    complete: list[bool], after: Stage | None, answer: AnswerClass, severed: int, repeated: int
) -> None:
    flags = dict(zip(STAGES, complete, strict=True))
    one = outcome("q", answer, complete=False, severed_spans=severed, repeated_tokens=repeated, lost_after=after)
    found = troubles(replace(one, complete=flags, single_unit=flags))
    assert len(found) == len(set(found))
    assert found or flags[Stage.PACKED]

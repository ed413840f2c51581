"""Outcomes survive their column form whole."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from evaluation.domain.outcome_payload import columns_from_payload, columns_of, outcomes_payload
from evaluation.domain.outcomes import AnswerClass, QuestionOutcome, Stage
from ledger.domain.canonical import canonical_bytes, parse_canonical

counts = st.integers(0, 10**9)
stages = st.sampled_from(Stage)
every_stage = st.fixed_dictionaries({stage: st.booleans() for stage in Stage})
flags = st.tuples(every_stage, every_stage) | st.just(({}, {}))
per_stage = st.dictionaries(stages, st.integers(1, 1000))
numbers = {field.name: counts for field in fields(QuestionOutcome) if field.type == "int"}
outcome = st.builds(
    lambda both, **values: QuestionOutcome(complete=both[0], single_unit=both[1], **values),
    flags,
    question_id=st.text(min_size=1),
    failed=st.text(),
    feasible=st.booleans(),
    lost_after=st.none() | stages,
    leaks=per_stage,
    superseded=per_stage,
    forbidden=per_stage,
    answer_class=st.sampled_from(AnswerClass),
    answered=st.booleans(),
    citations_cover_support=st.booleans(),
    **numbers,
)


@examples(max_examples=60)
@given(st.lists(outcome, max_size=4), st.lists(outcome, min_size=4, max_size=4))
def test_outcomes_come_back_equal_through_canonical_bytes(
    first: list[QuestionOutcome], others: list[QuestionOutcome]
) -> None:
    second = [replace(other, question_id=one.question_id) for one, other in zip(first, others, strict=False)]
    views = {"budget:9": first, "budget:90": first, "top-k:3": second}
    again = columns_from_payload(parse_canonical(canonical_bytes(outcomes_payload(columns_of(views)))))
    assert {view: list(again.outcomes(view)) for view in again.views} == views


def test_every_field_of_an_outcome_is_kept() -> None:
    assert len(numbers) > 20
    filled = QuestionOutcome("q", **dict.fromkeys(numbers, 7))
    (again,) = columns_from_payload(outcomes_payload(columns_of({"v": [filled]}))).outcomes("v")
    assert again == filled


def test_column_that_equals_an_earlier_view_is_written_once() -> None:
    one = QuestionOutcome("q", evidence_tokens=5, unique_tokens=3)
    payload = outcomes_payload(columns_of({"a": [one], "b": [one], "c": [replace(one, evidence_tokens=6)]}))
    assert payload["columns"]["unique_tokens"] == [[3], 0, 0]
    assert payload["columns"]["beside"] == [[2], 0, [3]]


def test_views_of_different_questions_and_half_known_flags_are_refused() -> None:
    with pytest.raises(ValueError, match="same questions"):
        columns_of({"a": [QuestionOutcome("q")], "b": [QuestionOutcome("r")]})
    with pytest.raises(ValueError, match="every stage or none"):
        columns_of({"a": [QuestionOutcome("q", complete={Stage.PACKED: True}, single_unit={Stage.PACKED: True})]})


def test_outcomes_of_an_unknown_form_are_refused() -> None:
    with pytest.raises(ValueError, match="reads form 2"):
        columns_from_payload(outcomes_payload(columns_of({})) | {"form": 99})

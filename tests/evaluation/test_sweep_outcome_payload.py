"""Outcomes survive their column form whole."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.domain.outcome_payload import outcomes_from_payload, outcomes_payload
from evaluation.domain.outcomes import AnswerClass, QuestionOutcome, Stage
from ledger.domain.canonical import canonical_bytes, parse_canonical

counts = st.integers(0, 10**9)
stages = st.sampled_from(Stage)
flags = st.dictionaries(stages, st.booleans())
per_stage = st.dictionaries(stages, st.integers(1, 1000))
outcome = st.builds(
    QuestionOutcome,
    question_id=st.text(min_size=1),
    failed=st.text(),
    feasible=st.booleans(),
    complete=flags,
    single_unit=flags,
    lost_after=st.none() | stages,
    rank_of_completion=counts,
    evidence_tokens=counts,
    unique_tokens=counts,
    repeated_tokens=counts,
    prompt_tokens=counts,
    duplicate_pairs=counts,
    compared_pairs=counts,
    denials=counts,
    leaks=per_stage,
    superseded=per_stage,
    answer_class=st.sampled_from(AnswerClass),
    answered=st.booleans(),
    citations_emitted=counts,
    citations_resolved=counts,
    citations_cover_support=st.booleans(),
)


@given(st.lists(outcome, max_size=4))
def test_outcomes_come_back_equal_through_canonical_bytes(outcomes: list[QuestionOutcome]) -> None:
    assert outcomes_from_payload(parse_canonical(canonical_bytes(outcomes_payload(outcomes)))) == tuple(outcomes)


def test_every_field_of_an_outcome_has_a_column() -> None:
    columns = set(outcomes_payload([]))
    names = {field.name for field in fields(QuestionOutcome)} - {"question_id"} | {"question"}
    assert names <= columns


def test_outcomes_of_an_unknown_form_are_refused() -> None:
    with pytest.raises(ValueError, match="reads form 1"):
        outcomes_from_payload(outcomes_payload([]) | {"form": 99})

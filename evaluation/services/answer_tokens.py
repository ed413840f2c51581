"""How many tokens a generator was sent and gave back in a cell: what money is paid for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluation.domain.outcomes import QuestionOutcome
from evaluation.domain.tokens import Tokenizer
from evaluation.services.result_keys import ANSWER, ORACLE


def prompt_tokens(outcomes: Mapping[str, Sequence[QuestionOutcome]]) -> int:
    """Tokens of all prompts of a cell, over its views, in the plan's tokenizer."""
    return sum(one.prompt_tokens for view in outcomes.values() for one in view)


def evidence_tokens(outcomes: Mapping[str, Sequence[QuestionOutcome]]) -> int:
    """The part of the prompts' tokens that is packed evidence."""
    return sum(one.evidence_tokens for view in outcomes.values() for one in view)


def output_tokens(payloads: Iterable[tuple[str, Mapping[str, Any]]], tokenizer: Tokenizer) -> int:
    """Tokens of the answers in a cell's records, in the plan's tokenizer."""
    texts = (text for kind, payload in payloads if kind in {ANSWER, ORACLE} for text in payload.get("text", ()))
    return sum(tokenizer.encode(text.encode()).n for text in texts if text)

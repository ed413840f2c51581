"""Decisions made by rule, to try the loader with: the shipped ones are an adjudicator's and may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from annotate.domain.disagreements import Difference, differences
from annotate.domain.necessity import set_spans, supersets
from annotate.domain.settle import Verdict, settle
from annotate.domain.vocabulary import Choice, Segment
from annotate.selectors.adjudication import suggested_segment
from evaluation.demo.orientation import SET_KINDS, SPAN_KINDS, Orientation
from evaluation.demo.texts import Texts

#: Chooses "1" or "2" for a difference, given its position.
Rule = Callable[[int, Difference], str]


def take_one(position: int, difference: Difference) -> str:
    return "1"


def alternate(position: int, difference: Difference) -> str:
    """Take turns in spans and sets, never the side without one (nothing could be left then); the contract is 1's."""
    if difference.kind not in SPAN_KINDS | SET_KINDS or difference.value_b is None:
        return "1"
    return "2" if difference.value_a is None else "12"[position % 2]


def decisions_for(key: str, one: Any, two: Any, texts: Texts, rule: Rule = alternate) -> dict[str, Any]:
    """Return a question's entry of a decisions file for the contents of annotators 1 and 2."""
    sides = Orientation(one, two, True, texts)
    found = differences(one, two)
    takes = [rule(position, difference) for position, difference in enumerate(found)]
    settled = settle(one, two, {n: Verdict(Choice.A if take == "1" else Choice.B) for n, take in enumerate(takes)})
    segment = suggested_segment(settled)
    if segment is Segment.UNCLASSIFIED:
        segment = Segment.RULE_AND_EXCEPTION
    return {
        "question": key,
        "segment": segment.value,
        "decisions": [
            {
                "kind": difference.kind.value,
                # Sets have no name that both shuffles share; annotator 1's number for it does.
                "subject": sides.subjects(difference)[0] if difference.kind in SET_KINDS else difference.subject,
                "take": take,
                "reason_code": "better-supported",
                "reason": "Taken by rule.",
            }
            for difference, take in zip(found, takes, strict=True)
        ],
        **({"alternatives_reason": "By rule."} if supersets(settled) else {}),
        "spans": {name: ["necessary", "By rule."] for name in sorted(set_spans(settled))},
    }

"""The verdict source "evidence-rubric": an answer is judged by the bytes it quotes, not by its wording.

The quoted bytes (`GeneratedAnswer.extracts`) are compared with the adjudicated sets the reader may read:

* abstained → ABSTAINED, whatever the question;
* answered although no readable set exists → WRONG (a false assertion when the question is unanswerable);
* the quotes cover every necessary span of some set → CORRECT;
* else, in a condition-dependent question: some set with a condition span has a rule span covered and a condition span
  not covered → CONDITION_ERROR (asserted without the required condition);
* else → WRONG.

Condition spans are those labelled qualifier, exception, definition, referent, scope or reference; rule spans are those
labelled rule or evidence.

What it can see: whether the passage that justifies the answer, with its conditions, was chosen. What it cannot see:
whether quoted text was understood, negated or combined rightly; an answer in other words; a condition applied wrongly
although it is quoted (an assertion *against* the condition); a correct narrower answer, which it takes for a
condition error. A generator that does not quote needs another verdict source (a judge, people).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotate.domain.vocabulary import SpanLabel
from evaluation.domain.coverage import covered, necessary
from evaluation.domain.frozen import FrozenQuestion, Interval, SupportSpan
from evaluation.domain.generation import GeneratedAnswer
from evaluation.domain.outcomes import AnswerClass

SOURCE = "evidence-rubric"

CONDITION_LABELS = frozenset(
    {
        SpanLabel.QUALIFIER,
        SpanLabel.EXCEPTION,
        SpanLabel.DEFINITION,
        SpanLabel.REFERENT,
        SpanLabel.SCOPE,
        SpanLabel.REFERENCE,
    }
)
RULE_LABELS = frozenset({SpanLabel.RULE, SpanLabel.EVIDENCE})


@dataclass(frozen=True)
class Verdict:
    """Class of an answer, and how its condition was used: "applied", "missing" or "not needed"."""

    answer_class: AnswerClass
    condition: str


def shows(intervals: Sequence[Interval], span: SupportSpan) -> bool:
    """Whether the union of `intervals` in the span's version covers all of it."""
    wanted = span.interval
    pieces = [(i.start, i.end) for i in intervals if i.version == wanted.version]
    return covered(pieces, wanted.start, wanted.end) == wanted.end - wanted.start


def covers_a_set(intervals: Sequence[Interval], sets: Sequence[Sequence[SupportSpan]]) -> bool:
    """Whether the intervals jointly cover every necessary span of some set."""
    return any(all(shows(intervals, span) for span in necessary(support)) for support in sets)


def judge(answer: GeneratedAnswer, question: FrozenQuestion, sets: Sequence[Sequence[SupportSpan]]) -> Verdict:
    """Judge an answer by the rubric; `sets` are the question's sets that its reader may read."""
    if answer.abstained:
        return Verdict(AnswerClass.ABSTAINED, "not needed")
    quoted = [Interval(e.version, e.start, e.end) for e in answer.extracts]
    needed = question.condition_dependent
    if question.answerable and covers_a_set(quoted, sets):
        return Verdict(AnswerClass.CORRECT, "applied" if needed else "not needed")
    if needed and any(_rule_without_condition(quoted, support) for support in sets):
        return Verdict(AnswerClass.CONDITION_ERROR, "missing")
    return Verdict(AnswerClass.WRONG, "missing" if needed else "not needed")


def _rule_without_condition(quoted: Sequence[Interval], support: Sequence[SupportSpan]) -> bool:
    spans = necessary(support)
    rule = any(span.label in RULE_LABELS and shows(quoted, span) for span in spans)
    return rule and any(span.label in CONDITION_LABELS and not shows(quoted, span) for span in spans)


def citation_verdict(interval: Interval | None, sets: Sequence[Sequence[SupportSpan]]) -> str:
    """What a cited interval holds of the adjudicated evidence: whole-set, span, part, none, or unresolved."""
    if interval is None:
        return "unresolved"
    if covers_a_set([interval], sets):
        return "whole-set"
    spans = [span for support in sets for span in necessary(support)]
    if any(shows([interval], span) for span in spans):
        return "span"
    pair = [(interval.start, interval.end)]
    same = [s.interval for s in spans if s.interval.version == interval.version]
    return "part" if any(covered(pair, wanted.start, wanted.end) for wanted in same) else "none"

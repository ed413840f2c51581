"""The answers of a regression fixture: what each arm said at each phase and view, and whether a replay says it again.

Of an answer its class is kept, whether its citations cover a sufficient set, and how many of them resolve to nothing;
its wording is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.domain.outcomes import AnswerClass, QuestionOutcome


@dataclass(frozen=True)
class AnswerSeen:
    """An answer as the outcome tells it; `unresolved` counts citations."""

    answer_class: AnswerClass = AnswerClass.NONE
    attributed: bool = False
    unresolved: int = 0

    @property
    def text(self) -> str:
        """The answer in a few words."""
        loose = f", {self.unresolved} unresolved" if self.unresolved else ""
        return f"{self.answer_class} ({'support cited' if self.attributed else 'support not cited'}{loose})"


type ArmAnswers = Mapping[str, Mapping[str, Mapping[str, AnswerSeen]]]
"""Arm → phase label → view → answer."""


@dataclass(frozen=True)
class AnswerChange:
    """An answer that is not as it was, at one phase in one view."""

    arm: str
    phase: str
    view: str
    was: AnswerSeen
    now: AnswerSeen

    @property
    def text(self) -> str:
        """The change as a sentence without its subject."""
        return f"{self.arm} at phase {self.phase}, {self.view}: the answer is {self.now.text}, was {self.was.text}"


@dataclass(frozen=True)
class AnswersReplayed:
    """The answers of one fixture, replayed; `unreplayable` says why none was compared, "" where they were."""

    compared: int = 0
    regressed: tuple[AnswerChange, ...] = ()
    recovered: tuple[AnswerChange, ...] = ()
    unreplayable: str = ""


def answer_of(outcome: QuestionOutcome) -> AnswerSeen:
    """Return the answer of an outcome; a failed run gave none."""
    if outcome.failed:
        return AnswerSeen()
    loose = outcome.citations_emitted - outcome.citations_resolved
    return AnswerSeen(outcome.answer_class, outcome.citations_cover_support, loose)


def right_class(*, answerable: bool) -> AnswerClass:
    """Return the class a question's answer should have: an unanswerable one is right to be abstained from."""
    return AnswerClass.CORRECT if answerable else AnswerClass.ABSTAINED


def compare_answers(expected: ArmAnswers, found: ArmAnswers, right: AnswerClass) -> AnswersReplayed:
    """Compare place by place.

    Every change is a regression but one that ends in the `right` class, follows a run without an answer, or betters the
    citations alone. A place that is not there any more has no answer.
    """
    regressed: list[AnswerChange] = []
    recovered: list[AnswerChange] = []
    count = 0
    for arm, phases in expected.items():
        for label, views in phases.items():
            for view, was in views.items():
                now = found.get(arm, {}).get(label, {}).get(view, AnswerSeen())
                count += 1
                if now != was:
                    worse = _class_is_worse(was, now, right) or _citations_are_worse(was, now)
                    (regressed if worse else recovered).append(AnswerChange(arm, label, view, was, now))
    return AnswersReplayed(count, tuple(regressed), tuple(recovered))


def written_answers(answers: ArmAnswers) -> dict[str, Any]:
    """Return answers as canonical-ready data."""
    return {
        arm: {
            label: {view: asdict(one) | {"answer_class": str(one.answer_class)} for view, one in views.items()}
            for label, views in phases.items()
        }
        for arm, phases in answers.items()
    }


def read_answers(data: Any, places: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> ArmAnswers:
    """Return what `written_answers` wrote: nothing, or an answer for each of `places` (those of the flags).

    Raises ValueError for anything else.
    """
    if data == {}:
        return {}
    if _places(data) != _places(places):
        raise ValueError("the expected answers and the expected flags are not of the same arms, phases and views")
    return {
        arm: {
            label: {view: _answer(one, f"{arm}, {label}, {view}") for view, one in views.items()}
            for label, views in phases.items()
        }
        for arm, phases in data.items()
    }


def _class_is_worse(was: AnswerSeen, now: AnswerSeen, right: AnswerClass) -> bool:
    if now.answer_class in (was.answer_class, right):
        return False
    return was.answer_class is not AnswerClass.NONE


def _citations_are_worse(was: AnswerSeen, now: AnswerSeen) -> bool:
    return (was.attributed and not now.attributed) or now.unresolved > was.unresolved


def _places(data: Any) -> set[tuple[str, str, str]]:
    try:
        return {(arm, label, view) for arm, phases in data.items() for label, views in phases.items() for view in views}
    except (AttributeError, TypeError) as error:
        raise ValueError("the expected answers are no table of arms, phases and views") from error


def _answer(data: Any, where: str) -> AnswerSeen:
    if not isinstance(data, dict) or set(data) != {"answer_class", "attributed", "unresolved"}:
        raise ValueError(f"the expected answer of {where} does not have answer_class, attributed and unresolved")
    attributed, unresolved = data["attributed"], data["unresolved"]
    if not isinstance(attributed, bool) or isinstance(unresolved, bool) or not isinstance(unresolved, int):
        raise ValueError(f"the expected answer of {where} tells its citations by other than a yes or no and a number")
    return AnswerSeen(AnswerClass(data["answer_class"]), attributed, unresolved)

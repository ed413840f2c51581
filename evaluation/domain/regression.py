"""A regression fixture: one question, the few sources it needs, two arms, and where its support was complete.

What is kept is one flag per stage, for every arm, shared phase and view. A replay computes the flags again; a flag that
was set and is not any more is a regression, one that is set now and was not is a recovery. Since form 2 the answers are
kept beside them (`regression_answers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.domain.outcomes import STAGES, QuestionOutcome
from evaluation.domain.regression_answers import AnswersReplayed

WITHOUT_ANSWERS = "cutline-regression/1"
FORMAT = "cutline-regression/2"
REPLAY = "replay.json"
"""The member of the archive that says what to replay and what to expect."""

type Flags = tuple[bool, ...]
"""Whether support was complete after each stage, in the order of `STAGES`."""

type PhaseFlags = Mapping[str, Mapping[str, Flags]]
"""Phase label → view → flags."""

type ArmFlags = Mapping[str, PhaseFlags]


@dataclass(frozen=True)
class Change:
    """A stage after which support is not as it was, at one phase in one view; `complete` is how it is now."""

    arm: str
    phase: str
    view: str
    stage: str
    complete: bool

    @property
    def text(self) -> str:
        """The change as a sentence without its subject."""
        became = "complete again" if self.complete else "no longer complete"
        return f"{self.arm} at phase {self.phase}, {self.view}: {became} after “{self.stage}”"


@dataclass(frozen=True)
class Replayed:
    """One fixture, replayed. `notes` tell what differs around it (another tokenizer) without being a regression.

    `answers` is None where there are none: neither plan has a generator.
    """

    question: str
    compared: int
    regressed: tuple[Change, ...]
    recovered: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    answers: AnswersReplayed | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing that was complete got lost, and no answer got worse."""
        return not self.regressed and not (self.answers and self.answers.regressed)


def flags_of(outcome: QuestionOutcome) -> Flags:
    """Return an outcome's flags; a failed run kept nothing."""
    return tuple(not outcome.failed and outcome.complete.get(stage, False) for stage in STAGES)


def written(flags: ArmFlags) -> dict[str, Any]:
    """Return flags as canonical-ready data: one character of 0 and 1 a stage."""
    return {
        arm: {
            label: {view: "".join("01"[one] for one in found) for view, found in views.items()}
            for label, views in phases.items()
        }
        for arm, phases in flags.items()
    }


def read_flags(data: Any) -> dict[str, dict[str, dict[str, Flags]]]:
    """Return what `written` wrote. Raises ValueError for anything else."""
    if not isinstance(data, dict):
        raise ValueError("the expected flags are no table")
    return {
        arm: {
            label: {view: _flags(text) for view, text in _table(views, f"{arm}, {label}").items()}
            for label, views in _table(phases, arm).items()
        }
        for arm, phases in data.items()
    }


def changes(expected: ArmFlags, found: ArmFlags) -> tuple[tuple[Change, ...], tuple[Change, ...], int]:
    """Return (regressed, recovered, flags compared): of each phase and view the first stage where they part.

    A phase, view or arm that is not there any more has kept nothing.
    """
    lost: list[Change] = []
    recovered: list[Change] = []
    count = 0
    for arm, label, view, before in _walk(expected):
        now = found.get(arm, {}).get(label, {}).get(view, (False,) * len(before))
        count += len(before)
        for complete, into in ((False, lost), (True, recovered)):
            stage = _first(before, now, complete=complete)
            if stage:
                into.append(Change(arm, label, view, stage, complete))
    return tuple(lost), tuple(recovered), count


def must_keep(kept: PhaseFlags, view: str, labels: Sequence[str]) -> dict[str, bool]:
    """Return per label whether another arm must have complete support there: where the baseline had it in the prompt.

    A label the fixture does not know must hold where the baseline held everywhere.
    """
    return by_label({label: views[view][-1] for label, views in kept.items() if view in views}, labels)


def by_label(known: Mapping[str, bool], labels: Sequence[str]) -> dict[str, bool]:
    """Return what is known of each label; of one that is not known, whether it holds for all that are."""
    return {label: known.get(label, all(known.values())) for label in labels}


def _walk(flags: ArmFlags) -> Iterator[tuple[str, str, str, Flags]]:
    for arm, phases in flags.items():
        for label, views in phases.items():
            for view, found in views.items():
                yield arm, label, view, found


def _first(before: Flags, now: Flags, *, complete: bool) -> str:
    """Return the last stage's name where the prompt itself changed, else the first stage that did, else ""."""
    turned = [stage for stage, was, is_ in zip(STAGES, before, now, strict=True) if was != is_ and is_ is complete]
    if not turned:
        return ""
    return str(STAGES[-1] if STAGES[-1] in turned else turned[0])


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"the expected flags of {where} are no table")
    return value


def _flags(text: Any) -> Flags:
    if not isinstance(text, str) or len(text) != len(STAGES) or set(text) - {"0", "1"}:
        raise ValueError(f"{text!r:.40} is not one 0 or 1 for each of {len(STAGES)} stages")
    return tuple(sign == "1" for sign in text)

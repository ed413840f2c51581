"""Replayed regression fixtures as lines of a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import OutputWrapper

from evaluation.domain.regression import Replayed
from evaluation.domain.regression_answers import AnswersReplayed

FORMAT = "cutline-replay/1"


def print_replayed(output: OutputWrapper, one: Replayed) -> None:
    """Print a fixture's line, and one for each change and note."""
    counted = f"{one.compared} flags compared"
    if one.answers:
        counted += ", answers NOT compared" if one.answers.unreplayable else f", {one.answers.compared} answers"
    output.write(f"{'ok       ' if one.holds else 'regressed'} {one.question} ({counted})")
    answers = one.answers or AnswersReplayed()
    for text in [*(lost.text for lost in one.regressed), *(worse.text for worse in answers.regressed)]:
        output.write(f"  lost: {text}")
    for text in [*(back.text for back in one.recovered), *(better.text for better in answers.recovered)]:
        output.write(f"  recovered: {text}")
    if answers.unreplayable:
        output.write(f"  answers not compared: {answers.unreplayable}.")
    for note in one.notes:
        output.write(f"  note: {note}")


def summary(replayed: Sequence[Replayed]) -> str:
    """Return the last line: how many were replayed, how many regressed, and of how many only support was compared."""
    regressed = sum(not one.holds for one in replayed)
    support_only = sum(bool(one.answers and one.answers.unreplayable) for one in replayed)
    told = f"; only the support of {support_only} was compared, not their answers" if support_only else ""
    return f"{len(replayed)} replayed, {regressed} regressed{told}"


def replayed_data(replayed: Sequence[Replayed]) -> dict[str, Any]:
    """Return what `sweep --pack --json` writes."""
    fixtures = [{**asdict(one), "holds": one.holds} for one in replayed]
    return {"format": FORMAT, "fixtures": fixtures, "regressed": [one.question for one in replayed if not one.holds]}

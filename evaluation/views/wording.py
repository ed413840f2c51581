"""Numbers and closed words as the evaluation pages write them: never a bare number, never a silent blank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evaluation.domain.decision import Disposition
from evaluation.domain.gates import GateOutcome
from evaluation.domain.outcomes import AnswerClass, Stage

NOT_MEASURED = "Not measured"

#: What became of a question's support, by the stage after which it was never complete again.
FATES = {
    "complete": "Complete in the prompt",
    Stage.CHUNKED: "Never together among the candidates",
    Stage.CANDIDATES: "Lost in reranking",
    Stage.RERANKED: "Lost in expansion",
    Stage.EXPANDED: "Lost in authorisation: denied to the reader",
    Stage.AUTHORISED: "Lost when duplicates were merged",
    Stage.DEDUPLICATED: "Lost in packing: no room under the limit",
    Stage.PACKED: "Complete in the prompt",
    "never-complete": "No sufficient set this reader may read",
    "failed": "The run failed: counted as a miss",
}
STAGES = {
    Stage.CHUNKED: "Chunks exist",
    Stage.CANDIDATES: "Ranked candidates",
    Stage.RERANKED: "Reranked",
    Stage.EXPANDED: "Expanded",
    Stage.AUTHORISED: "Authorised",
    Stage.DEDUPLICATED: "Duplicates merged",
    Stage.PACKED: "Packed in the prompt",
}
ANSWERS = {
    AnswerClass.CORRECT: "Correct",
    AnswerClass.CONDITION_ERROR: "Asserted without the required condition",
    AnswerClass.WRONG: "Wrong",
    AnswerClass.ABSTAINED: "Abstained",
    AnswerClass.NONE: NOT_MEASURED,
}
CITATIONS = {
    "whole-set": "holds a whole sufficient set",
    "span": "holds a necessary span",
    "part": "holds part of a necessary span",
    "none": "holds nothing of the evidence",
    "unresolved": "does not resolve to anything shown",
}


@dataclass(frozen=True)
class Said:
    """A disposition or reading with its icon, word and tone; colour never speaks alone."""

    icon: str
    word: str
    tone: str


_SAID = {
    "accept": Said("✓", "Accept", "accept"),
    "reject": Said("✕", "Reject", "reject"),
    "collect-more": Said("◔", "Collect more evidence", "collect"),
    "blocked": Said("■", "Blocked", "collect"),
}


def said(value: Disposition | GateOutcome | str) -> Said:
    """Return how a disposition or a gate's reading is shown. Raises KeyError for another word."""
    return _SAID[str(value)]


def words(value: object) -> str:
    """Return a closed word for reading: `rule-and-exception` → `Rule and exception`."""
    text = str(value).replace("-", " ")
    return text[:1].upper() + text[1:]


def share(value: float | None) -> str:
    """Return a share as `.87`; two places, one before the point only where it is 1."""
    if value is None:
        return "undefined"
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text


def signed(value: float | None) -> str:
    """Return a difference as `−.16`, `+.05` or `.00`, with a real minus."""
    if value is None:
        return "undefined"
    text = share(abs(value))
    if text == ".00":
        return text
    return ("−" if value < 0 else "+") + text


def count_of(numerator: int, denominator: int) -> str:
    """Return `15/18 = .83`, or the words where there is no denominator."""
    if not denominator:
        return "n = 0"
    return f"{numerator}/{denominator} = {share(numerator / denominator)}"


def interval(cells: Mapping[str, Any]) -> str:
    """Return `[−.27, −.05]`, or why there is none."""
    if cells["lower"] is None or cells["upper"] is None:
        return f"no interval: {cells['reason']}" if cells["reason"] else "no interval"
    return f"[{signed(cells['lower'])},\u00a0{signed(cells['upper'])}]"


def interval_note(cells: Mapping[str, Any]) -> str:
    """Return what a reader must know of how an interval was made beyond its signature."""
    if cells["lower"] is None or cells["upper"] is None:
        return ""
    return str(cells["reason"] or cells["note"])


def signature(cells: Mapping[str, Any]) -> str:
    """Return the signature line of an estimate: n, unit, method, level, replicates, seed."""
    return f"{counted_in(cells)}; {made_by(cells)}"


def counted_in(cells: Mapping[str, Any]) -> str:
    """Return the part of a signature that differs from row to row: n and clusters."""
    made = cells["signature"]
    n, clusters = counted(made["questions"], "question"), counted(made["clusters"], made["unit"])
    return f"n = {n} in {clusters}"


def made_by(cells: Mapping[str, Any]) -> str:
    """Return the part of a signature that a whole table shares: method, level, replicates, seed."""
    made = cells["signature"]
    level = format((Decimal(made["confidence"]) * 100).normalize(), "f")
    drawn = f", {made['replicates']:,} replicates, seed {made['seed']}" if made["replicates"] else ""
    shared = f", error shared by {made['comparisons']}" if made["comparisons"] > 1 else ""
    return f"{made['method']}, {level} % {made['sidedness']}{shared}{drawn}"


def counted(number: int, noun: str) -> str:
    """Return `1 question`, `2 questions`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def minutes(value: float) -> str:
    """Return a length of work as a person says it: seconds, minutes or hours."""
    if value < 1:
        return counted(max(1, round(value * 60)), "second")
    if value < 90:
        return counted(round(value), "minute")
    return f"{value / 60:,.1f} hours"


def percent(text: str) -> str:
    """Return a decimal string as a percentage of one place."""
    return f"{Decimal(text) * 100:.1f} %"

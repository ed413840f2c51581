"""Gates and vetoes as lines of a page: the verdict, the name, and the numbers it was read from."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.domain.decision import Decision, VetoReading
from evaluation.domain.gates import GateOutcome, GateReading
from evaluation.views.recorded_words import plain, shown
from evaluation.views.wording import Said, counted, said, words

_VETO, _CLEAR = Said("✕", "Veto", "veto"), Said("✓", "No veto", "accept")


@dataclass(frozen=True)
class GateLine:
    """A gate or veto in one line; `decides` where the disposition rests on it, `anchor` is its place on the release."""

    said: Said
    name: str
    anchor: str
    text: str
    decides: bool


def gate_lines(decision: Decision) -> list[GateLine]:
    """Return every veto and gate of a decision, those it rests on first, vetoes before gates."""
    strong = {GateOutcome.REJECT, GateOutcome.BLOCKED}
    lines = [
        GateLine(
            _VETO if one.triggered else _CLEAR,
            words(one.veto),
            f"veto-{one.veto}",
            veto_in_words(one),
            one.triggered,
        )
        for one in decision.vetoes
    ]
    lines += [
        GateLine(said(one.reading), words(one.gate), f"gate-{one.gate}", brief(one), one.reading in strong)
        for one in decision.readings
    ]
    return sorted(lines, key=lambda line: not line.decides)


def brief(reading: GateReading) -> str:
    """Return a gate's numbers in one line, or why there are none."""
    found = {name: str(value) for name, value in reading.numbers.items()}
    limits = [found[name] for name in ("tolerance", "limit") if name in found]
    if {"point", "lower", "upper"} <= found.keys():
        point, lower, upper = (shown(found[name], limits) for name in ("point", "lower", "upper"))
        n = counted(int(found["questions"]), "question")
        clusters = counted(int(found["clusters"]), "cluster")
        return f"{point} [{lower}, {upper}], tolerance {found['tolerance']}; n = {n} in {clusters}"
    if "measured" in found:
        return f"{shown(found['measured'], limits)} measured, limit {found['limit']}"
    return in_words(reading)


def in_words(reading: GateReading) -> str:
    """Return a gate's reason for a page that shows the signature beside it."""
    signature = str(reading.numbers.get("signature", ""))
    text = reading.reason
    if signature:
        text = text.replace(f" ({signature})", "").replace(f" ({signature}; ", " (")
    return plain(text)


def veto_in_words(veto: VetoReading) -> str:
    """Return a veto's reason for a page."""
    return plain(veto.reason)

"""The form of a plan's gates, vetoes and limits: fields with their choices, and the faults beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluation.domain.plan_edits import GATE_SETTINGS, TABLES, choices, optional
from evaluation.domain.plan_release import Gate
from evaluation.domain.plan_schema import PlanProblem
from evaluation.views.setting_names import GATE_NAMES, NAMES, TITLES
from evaluation.views.wording import words

#: Settings a gate has and no person chooses: verdicts come from the rubric until a judge or people give some.
_FIXED = ("verdict_source",)


@dataclass(frozen=True)
class Field:
    """One field: `choices` are (value, words), empty for text; `problem` is what was wrong with what was sent."""

    path: str
    label: str
    value: str
    choices: tuple[tuple[str, str], ...]
    problem: str = ""


@dataclass(frozen=True)
class Editor:
    """The whole form. `tables` are (title, fields), `gates` one row of fields each, the last row empty."""

    tables: tuple[tuple[str, tuple[Field, ...]], ...]
    gates: tuple[tuple[Field, ...], ...]
    elsewhere: tuple[PlanProblem, ...]


def gate_editor(payload: Mapping[str, Any], problems: Sequence[PlanProblem] = ()) -> Editor:
    """Return the form for a plan's payload, with the faults of what was sent; faults of no field stand `elsewhere`."""
    faults = {one.where: f"{one.what[:1].upper()}{one.what[1:]} {one.mend}" for one in problems}
    arms = tuple((str(arm["name"]), str(arm["name"])) for arm in payload["arms"] if arm.get("role") == "candidate")
    tables = []
    for table, (kind, names) in TABLES.items():
        held = payload.get(table, {})
        made = [_field(f"{table}.{name}", NAMES[table][name], kind, name, held.get(name), faults) for name in names]
        if table == "decision" and arms:
            made = [replace(one, choices=arms) if one.path == "decision.candidate" else one for one in made]
        tables.append((TITLES[table], tuple(made)))
    rows = [*payload.get("gates", []), {}]
    gates = tuple(
        tuple(
            _field(f"gates[{place}].{name}", GATE_NAMES[name], Gate, name, row.get(name), faults)
            for name in GATE_SETTINGS
            if name not in _FIXED
        )
        for place, row in enumerate(rows)
    )
    shown = {one.path for _, made in tables for one in made} | {one.path for row in gates for one in row}
    return Editor(tuple(tables), gates, tuple(one for one in problems if one.where not in shown))


def _field(path: str, label: str, kind: type, name: str, value: object, faults: Mapping[str, str]) -> Field:
    told = tuple((one, words(one)) for one in choices(kind, name))
    if told and optional(kind, name):
        told = (("", "All together" if name == "segment" else "None"), *told)
    return Field(path, label, "" if value is None else str(value), told, faults.get(path, ""))

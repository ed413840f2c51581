"""A plan changed field by field: what a form says about gates, vetoes and limits, put into a plan's payload.

Nothing is judged here: `plan_from_payload` reads the outcome and names every fault by its path, which is the field's.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from evaluation.domain.plan_release import DecisionRule, Gate, Resources, StatisticsRule, Vetoes

#: Tables with one field per setting, and the settings of each that a form offers.
TABLES: Mapping[str, tuple[type, tuple[str, ...]]] = {
    "decision": (DecisionRule, tuple(item.name for item in fields(DecisionRule))),
    "vetoes": (Vetoes, tuple(item.name for item in fields(Vetoes))),
    "resources": (Resources, tuple(item.name for item in fields(Resources))),
    "statistics": (StatisticsRule, ("confidence", "minimum_clusters", "multiplicity")),
}
GATE_SETTINGS = tuple(item.name for item in fields(Gate))
#: A gate's field that takes it out.
REMOVE = "remove"
_GATE = re.compile(r"gates\[([0-9]{1,6})\]\.([a-z_]+)\Z")
_WHOLE = re.compile(r"-?[0-9]{1,18}\Z")


def choices(kind: type, name: str) -> tuple[str, ...]:
    """Return the words a setting may have; empty where it is text or a number."""
    hint = _hint(kind, name)
    return tuple(str(word.value) for word in hint) if isinstance(hint, type) and issubclass(hint, Enum) else ()


def optional(kind: type, name: str) -> bool:
    """Whether a setting may be left empty."""
    return type(None) in get_args(_hints(kind)[name])


def edited(payload: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    """Return `payload` with what a form said, by path (`vetoes.permission_leaks`, `gates[2].tolerance`).

    What a form does not mention stays; an emptied field leaves its setting out. A form that mentions any gate names
    all of them: rows without a name and a tolerance, and removed ones, are no gates.
    """
    made: dict[str, Any] = deepcopy(dict(payload))
    for table, (kind, names) in TABLES.items():
        for name in names:
            text = said.get(f"{table}.{name}")
            if text is not None:
                _put(made.setdefault(table, {}), kind, name, text)
    rows: dict[int, dict[str, str]] = {}
    for path, text in said.items():
        if found := _GATE.match(path):
            rows.setdefault(int(found[1]), {})[found[2]] = text.strip()
    if rows:
        gates = []
        for _, row in sorted(rows.items()):
            if row.get(REMOVE) or not (row.get("name") or row.get("tolerance")):
                continue
            gate: dict[str, Any] = {}
            for name in GATE_SETTINGS:
                _put(gate, Gate, name, row.get(name, ""))
            gates.append(gate)
        made["gates"] = gates
    return made


def _put(table: dict[str, Any], kind: type, name: str, text: str) -> None:
    text = text.strip()
    if not text:
        table.pop(name, None)
    elif _hint(kind, name) is int and _WHOLE.match(text):
        table[name] = int(text)
    else:
        table[name] = text


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _hint(kind: type, name: str) -> Any:
    hint = _hints(kind)[name]
    if get_origin(hint) in {Union, types.UnionType}:
        hint = next(option for option in get_args(hint) if option is not type(None))
    return hint

"""A plan in words: every setting with its name and its value, in the order in which a reviewer asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from evaluation.domain.plan import Plan
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.plan_schema import KnownNames
from evaluation.domain.plan_uses import recovery_uses
from evaluation.views.setting_names import ARM_NAMES, GATE_NAMES, NAMES, TITLES
from evaluation.views.setting_values import setting_value

#: Rows of the table of arms that stand there whatever the arms say.
_ALWAYS = ("role", "factor", "segmenter", "capacity", "overlap", "unit", "tails")
#: Sections of which only what their plug-in reads is shown: a number without effect would mislead.
_BY_PLUGIN = {"retrieval": ("retrievers", "retriever"), "reranking": ("rerankers", "reranker")}


@dataclass(frozen=True)
class Section:
    """One part of a plan: (name, value) pairs."""

    title: str
    rows: tuple[tuple[str, str], ...]


def sections(plan: Plan, known: KnownNames) -> list[Section]:
    """Return every section of a plan but its arms, metrics and gates, which are tables and a list of their own.

    `known` says what each plug-in reads; settings without effect are left out.
    """
    return [
        Section(title, tuple(_rows(section, getattr(plan, section), NAMES[section], known)))
        for section, title in TITLES.items()
    ]


@dataclass(frozen=True)
class ArmRow:
    """One setting of all arms: (value, whether it differs from the baseline's) in the plan's order of arms."""

    name: str
    cells: tuple[tuple[str, bool], ...]


def arm_rows(plan: Plan, known: KnownNames) -> list[ArmRow]:
    """Return the settings of the arms, one row each; those at rest in every arm are left out."""
    found = []
    for item in fields(Arm):
        values = [getattr(arm, item.name) for arm in plan.arms]
        if item.name == "name" or (item.name not in _ALWAYS and all(value == item.default for value in values)):
            continue
        said = [_arm_value(item.name, value, known) for value in values]
        first = said[plan.arms.index(plan.baseline)]
        told = item.name not in {"role", "factor"}
        found.append(ArmRow(ARM_NAMES[item.name], tuple((one, told and one != first) for one in said)))
    order = {ARM_NAMES[name]: place for place, name in enumerate(_ALWAYS)}
    return sorted(found, key=lambda row: order.get(row.name, len(order)))


def _arm_value(name: str, value: object, known: KnownNames) -> str:
    if value is None or name not in NAMES:
        return setting_value("arms", name, value)
    # The settings of an own table in one cell, each by its name.
    rows = list(_rows(name, value, NAMES[name], known))
    return "; ".join([rows[0][1], *(f"{said}: {one}" for said, one in rows[1:])])


def gate_rows(plan: Plan) -> list[list[str]]:
    """Return the gates as table rows under `GATE_NAMES`; a gate without a segment reads all of them together."""
    return [[setting_value("gates", name, getattr(gate, name)) for name in GATE_NAMES] for gate in plan.gates]


def _rows(section: str, values: object, names: Mapping[str, str], known: KnownNames) -> Iterator[tuple[str, str]]:
    for item in fields(values):  # type: ignore[arg-type]
        value = getattr(values, item.name)
        if item.default == value and not _read(section, item.name, values, known):
            continue
        yield names[item.name], setting_value(section, item.name, value)


def _read(section: str, name: str, values: object, known: KnownNames) -> bool:
    """Whether anything reads this setting, as far as the plug-in says so."""
    if section == "recovery":
        return name == "policy" or name in recovery_uses(values)  # type: ignore[arg-type]
    if section not in _BY_PLUGIN:
        return True
    kind, setting = _BY_PLUGIN[section]
    declared = known.uses.get(kind, {})
    own = frozenset().union(*(use.uses for use in declared.values()))
    names = (getattr(values, setting), *getattr(values, "fuse", ()))
    read = frozenset().union(*(declared[one].uses for one in names if one in declared))
    return name not in own or name in read

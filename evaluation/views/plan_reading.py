"""A plan in words: every setting with its name and its value, in the order in which a reviewer asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from evaluation.domain.plan import Arm, Gate, Plan
from evaluation.views.wording import words

#: Names of every setting, by section and field. A test walks the plan's dataclasses and misses none.
NAMES: dict[str, dict[str, str]] = {
    "hypothesis": {
        "boundary_hypothesis": "Boundary hypothesis",
        "expected_benefit": "Expected benefit",
        "counter_cost": "Counter-cost",
        "unit_under_test": "Unit under test",
    },
    "population": {
        "description": "Population",
        "reader_clearance": "Reader clearance",
        "question_distribution": "Question distribution",
        "partition": "Partition",
        "segments": "Segments",
        "held_out_openings": "Held-out openings allowed",
    },
    "budget": {
        "tokenizer": "Tokenizer",
        "evidence_tokens": "Evidence ceilings",
        "primary_evidence_tokens": "Primary ceiling",
        "instruction_tokens": "Allowance for instruction and question",
        "output_tokens": "Allowance for the answer",
        "top_k": "Top-k",
        "top_k_unit": "k counts",
        "label_format": "Label of a unit",
        "separator": "Separator",
        "overflow": "A unit that does not fit",
        "duplicate_threshold": "Duplicate from a shared part of",
    },
    "retrieval": {
        "retriever": "Retriever",
        "candidates": "Candidates",
        "k1": "k1",
        "b": "b",
        "analyser": "Analyser",
        "stop_words": "Stop words",
        "tie_rule": "Ties",
    },
    "generation": {
        "generator": "Generator",
        "abstention_threshold": "Abstains below",
        "repeats": "Repeats",
    },
    "phases": {
        "grid": "Grid",
        "labels": "Labels",
        "targeted": "Targeted at annotated spans",
        "every": "Every phase of an arm",
    },
    "statistics": {
        "seed": "Seed",
        "interval": "Interval",
        "confidence": "Confidence",
        "sidedness": "Sidedness",
        "replicates": "Replicates",
        "unit": "Resampled unit",
        "minimum_clusters": "Clusters needed",
        "multiplicity": "Correction for several candidates",
    },
    "decision": {
        "candidate": "Candidate to release",
        "crossing": "An interval that crosses its tolerance",
        "insufficient_evidence": "Too little evidence",
        "maximum_failure_rate": "Failure rate allowed",
    },
    "vetoes": {
        "permission_leaks": "Permission leaks allowed",
        "superseded_evidence": "Superseded evidence allowed",
        "newly_missed_mandatory": "Newly missed mandatory questions allowed",
        "unresolved_attribution": "Unresolved attribution allowed",
    },
    "resources": {
        "evidence_tokens_increase": "Increase of evidence tokens allowed",
        "index_expansion": "Index expansion allowed",
        "latency_ms": "Query latency allowed",
        "latency_state": "Latency state",
    },
}
TITLES = {
    "hypothesis": "What is suspected",
    "population": "Who and what it is about",
    "budget": "Budget and packing",
    "retrieval": "Retrieval",
    "generation": "Generation",
    "phases": "Phases",
    "statistics": "Uncertainty",
    "decision": "How a decision is made",
    "vetoes": "Hard vetoes",
    "resources": "Resource limits",
}
ARM_NAMES = {
    "name": "Arm",
    "role": "Role",
    "segmenter": "Segmenter",
    "capacity": "Capacity",
    "overlap": "Overlap",
    "unit": "Unit",
    "tails": "Contained tails",
    "factor": "Changes",
}
GATE_NAMES = {
    "name": "Gate",
    "kind": "Reads",
    "segment": "Segment",
    "sample": "Sample",
    "view": "View",
    "statistic": "Over phases",
    "tolerance": "Tolerance",
    "minimum_questions": "Questions needed",
    "verdict_source": "Verdicts by",
}


def _percent(value: str) -> str:
    return f"{(Decimal(value) * 100).normalize():f} %"


_UNITS: dict[tuple[str, str], Callable[[Any], str]] = {
    ("budget", "evidence_tokens"): lambda value: f"{', '.join(f'{one:,}' for one in value)} tokens",
    ("budget", "primary_evidence_tokens"): lambda value: f"{value:,} tokens",
    ("budget", "instruction_tokens"): lambda value: f"{value:,} tokens",
    ("budget", "output_tokens"): lambda value: f"{value:,} tokens",
    ("budget", "label_format"): repr,
    ("budget", "separator"): repr,
    ("budget", "duplicate_threshold"): lambda value: f"{_percent(value)} of the smaller unit",
    ("budget", "overflow"): lambda value: {"skip": "is skipped", "truncate": "is cut", "stop": "ends the list"}[value],
    ("retrieval", "tie_rule"): lambda value: "score, then source, then start",
    ("generation", "abstention_threshold"): lambda value: f"a match of {value}",
    ("phases", "grid"): lambda value: f"{value} shared labels, 1/{value} to 1/1" if value else "none",
    ("statistics", "confidence"): _percent,
    ("statistics", "replicates"): lambda value: f"{value:,}",
    ("statistics", "unit"): lambda value: "document cluster",
    ("decision", "maximum_failure_rate"): lambda value: f"{_percent(value)} of runs",
    ("decision", "crossing"): lambda value: f"is read as “{value}”",
    ("decision", "insufficient_evidence"): lambda value: f"is read as “{value}”",
    ("vetoes", "unresolved_attribution"): lambda value: f"{_percent(value)} of asserted answers",
    ("resources", "evidence_tokens_increase"): lambda value: f"{_percent(value)} over the baseline",
    ("resources", "index_expansion"): lambda value: f"{value} indexed per source token",
    ("resources", "latency_ms"): lambda value: f"{value} ms",
}
_EMPTY = {
    ("vetoes", "unresolved_attribution"): "no veto",
    ("resources", "evidence_tokens_increase"): "no limit",
    ("resources", "index_expansion"): "no limit",
    ("resources", "latency_ms"): "no limit",
    ("resources", "latency_state"): "no limit",
    ("retrieval", "stop_words"): "none",
    ("phases", "labels"): "none beyond the grid",
}


@dataclass(frozen=True)
class Section:
    """One part of a plan: (name, value) pairs."""

    title: str
    rows: tuple[tuple[str, str], ...]


def sections(plan: Plan) -> list[Section]:
    """Return every section of a plan but its arms, metrics and gates, which are tables and a list of their own."""
    return [
        Section(title, tuple(_rows(section, getattr(plan, section), NAMES[section])))
        for section, title in TITLES.items()
    ]


def arm_rows(plan: Plan) -> list[list[str]]:
    """Return the arms as table rows under `ARM_NAMES`."""
    return [[_value("arms", name, getattr(arm, name)) for name in ARM_NAMES] for arm in plan.arms]


def gate_rows(plan: Plan) -> list[list[str]]:
    """Return the gates as table rows under `GATE_NAMES`; a gate without a segment reads all of them together."""
    return [[_value("gates", name, getattr(gate, name)) for name in GATE_NAMES] for gate in plan.gates]


def _rows(section: str, values: object, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for item in fields(values):  # type: ignore[arg-type]
        yield names[item.name], _value(section, item.name, getattr(values, item.name))


def _value(section: str, name: str, value: object) -> str:
    place = (section, name)
    if value is None or value == ():
        return _EMPTY.get(place, "all segments together" if name == "segment" else "none")
    if place in _UNITS:
        return _UNITS[place](value)
    if isinstance(value, tuple):
        return ", ".join(_plain(one) for one in value)
    if section in {"arms", "gates"} and isinstance(value, Enum):
        return str(value).replace("-", " ")
    return _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return words(value)
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return str(value)


#: The dataclasses behind the two tables, for the test that walks every setting.
TABLES = {Arm: ARM_NAMES, Gate: GATE_NAMES}

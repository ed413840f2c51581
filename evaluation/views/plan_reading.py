"""A plan in words: every setting with its name and its value, in the order in which a reviewer asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from evaluation.domain.estimate import ArmSize
from evaluation.domain.plan import Arm, Gate, Plan
from evaluation.domain.plan_schema import KnownNames
from evaluation.domain.plan_uses import recovery_uses
from evaluation.domain.sweep_limits import money
from evaluation.services.estimate_plan import Estimate
from evaluation.views.wording import counted, minutes, words

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
        "coverage_threshold": "Span counts as covered from",
        "counting": "Evidence is counted",
        "deduplicate": "Equal passages",
        "merge_overlaps": "Overlapping passages are joined",
    },
    "retrieval": {
        "retriever": "Retriever",
        "candidates": "Candidates",
        "k1": "k1",
        "b": "b",
        "analyser": "Analyser",
        "stop_words": "Stop words",
        "tie_rule": "Ties",
        "filters": "Filtered by",
        "dimensions": "Dimensions",
        "fuse": "Fused from",
        "rrf_k": "Constant of the fusion",
        "endpoint": "Endpoint",
        "reindex_hook": "Re-index hook",
        "timeout_ms": "Time limit of a request",
        "attempts": "Tries of a request",
        "full_lists": "Lists shorter than asked fail",
    },
    "reranking": {"reranker": "Reranker", "relevance": "Weight of relevance against novelty"},
    "recovery": {
        "policy": "Hits are widened by",
        "moment": "When",
        "reach": "Reach on each side",
        "parent": "Parent",
        "parent_capacity": "Size of a parent",
        "merge_share": "Merged from a share of",
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
        "support_floor": "Floor of support (lower bound)",
        "floor_cost": "Cheapest arm above it by",
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
    "reranking": "Reranking",
    "recovery": "Recovery",
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
    "separators": "Separators",
    "language": "Language",
    "splitter": "Foreign splitter",
    "options": "Its options",
    "chunks": "Chunk dump",
    "chunks_digest": "Digest of the dump",
    "uncovered": "Text in no chunk",
    "retrieval": "Retrieval",
    "reranking": "Reranking",
    "recovery": "Recovery",
}
#: Rows of the table of arms that stand there whatever the arms say.
_ALWAYS = ("role", "factor", "segmenter", "capacity", "overlap", "unit", "tails")
#: Sections of which only what their plug-in reads is shown: a number without effect would mislead.
_BY_PLUGIN = {"retrieval": ("retrievers", "retriever"), "reranking": ("rerankers", "reranker")}
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
    ("budget", "coverage_threshold"): lambda value: f"{_percent(value)} of its bytes in view",
    ("budget", "counting"): lambda value: {
        "parts": "as the sum of its parts: label, passage, separator",
        "whole": "rendered, as a whole",
    }[value],
    ("budget", "deduplicate"): lambda value: {"identical": "are shown once", "none": "are shown again"}[value],
    ("retrieval", "filters"): lambda value: ", ".join(
        {"labels": "the reader's labels", "dates": "the question's date", "locale": "locale"}[one] for one in value
    ),
    ("retrieval", "timeout_ms"): lambda value: f"{value:,} ms",
    ("reranking", "relevance"): lambda value: f"{value} (1 is relevance alone)",
    ("recovery", "policy"): lambda value: {
        "none": "nothing: hits stay as they are",
        "sentence-window": "sentences around them",
        "neighbours": "neighbouring chunks",
        "parent": "their parent",
        "auto-merge": "merging hits of one parent",
    }[value],
    ("recovery", "moment"): lambda value: value.replace("-", " "),
    ("recovery", "parent"): lambda value: {
        "section": "the section below its heading",
        "larger-chunk": "the larger chunk that holds the hit",
        "document": "the whole document",
    }[value],
    ("recovery", "parent_capacity"): lambda value: f"{value:,} tokens",
    ("recovery", "merge_share"): lambda value: f"{_percent(value)} of a parent's chunks",
    ("arms", "capacity"): lambda value: f"{value:,}" if value else "its own",
    ("arms", "overlap"): lambda value: f"{value:,}",
    ("arms", "separators"): lambda value: ", ".join(repr(one) for one in value),
    ("arms", "language"): lambda value: value or "found out",
    ("arms", "uncovered"): lambda value: {"refuse": "fails the cell", "report": "is reported"}[value],
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
    ("retrieval", "filters"): "nothing: what a reader may not see is denied later",
    ("arms", "retrieval"): "the plan's",
    ("arms", "reranking"): "the plan's",
    ("arms", "recovery"): "the plan's",
    ("phases", "labels"): "none beyond the grid",
}


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
        return _value("arms", name, value)
    # The settings of an own table in one cell, each by its name.
    rows = list(_rows(name, value, NAMES[name], known))
    return "; ".join([rows[0][1], *(f"{said}: {one}" for said, one in rows[1:])])


def gate_rows(plan: Plan) -> list[list[str]]:
    """Return the gates as table rows under `GATE_NAMES`; a gate without a segment reads all of them together."""
    return [[_value("gates", name, getattr(gate, name)) for name in GATE_NAMES] for gate in plan.gates]


@dataclass(frozen=True)
class EstimateRows:
    """An estimate in words: facts, and one row per arm with a note."""

    facts: tuple[tuple[str, str], ...]
    arms: tuple[tuple[str, str, str, str, str, str], ...]
    held_out: bool


def estimate_rows(estimate: Estimate) -> EstimateRows:
    """Return an estimate in the words of the plan page."""
    size, cost = estimate.size, estimate.cost
    sent = "sent to the generator" if size.generated else "rendered; no generator is asked"
    tokens = f"{cost.input_tokens:,} in prompts, {cost.evidence_tokens:,} of them evidence"
    chunks = f"{size.distinct_chunks:,} of {size.chunks:,}" + ("" if size.chunks_complete else " counted")
    facts = [
        ("Cells", f"{size.cells:,}, over {counted(size.builds, 'index build')}"),
        ("Asked in each build", f"{counted(size.questions, 'question')}, twins of restricted ones included"),
        ("Distinct chunks", chunks),
        ("Prompts", f"{size.prompts:,}, {sent}"),
        ("Tokens", f"about {tokens}; {cost.output_tokens:,} in answers"),
        ("Time", f"about {minutes(cost.minutes)} of work on one worker of this machine"),
    ]
    if cost.cost is not None:
        said = f"about {money(cost.cost)} at these prices" if size.generated else "none: nothing is sent"
        facts.append(("Cost", said))
    arms = tuple(_arm_row(arm) for arm in size.arms)
    return EstimateRows(tuple(facts), arms, estimate.calibration.questions != "development")


def _arm_row(arm: ArmSize) -> tuple[str, str, str, str, str, str]:
    numbers = (arm.phases, arm.chunkings, arm.chunks, arm.distinct_chunks)
    phases, chunkings, chunks, distinct = (f"{number:,}" for number in numbers)
    return arm.arm, phases, chunkings, chunks, distinct, _arm_note(arm)


def _arm_note(arm: ArmSize) -> str:
    notes = []
    if not arm.stride:
        notes.append("unshifted control: one observation, whatever label it stands under")
    else:
        notes += [f"{' and '.join(labels)} fall on one cut and are one phase" for labels in arm.collapsed]
        if arm.counted == arm.phases and arm.chunkings < arm.phases:
            notes.append(f"{arm.phases - arm.chunkings} of its phases cut like another one")
    if arm.targeted:
        notes.append(f"{arm.targeted} targeted, listed apart")
    if arm.counted < arm.phases:
        notes.append(f"chunks counted in {arm.counted} of {arm.phases} phases")
    return "; ".join(notes)


def _rows(section: str, values: object, names: Mapping[str, str], known: KnownNames) -> Iterator[tuple[str, str]]:
    for item in fields(values):  # type: ignore[arg-type]
        value = getattr(values, item.name)
        if item.default == value and not _read(section, item.name, values, known):
            continue
        yield names[item.name], _value(section, item.name, value)


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

"""How the value of every setting of a plan is written: with its unit, in words where the plan has a keyword."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from evaluation.views.wording import said, words


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
    ("decision", "crossing"): lambda value: f"is read as “{said(value).word.lower()}”",
    ("decision", "insufficient_evidence"): lambda value: f"is read as “{said(value).word.lower()}”",
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


def setting_value(section: str, name: str, value: object) -> str:
    """Return a setting's value in words; nothing stays blank."""
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

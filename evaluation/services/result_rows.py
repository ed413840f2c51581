"""How figures and estimates are written in a report: plain numbers, with status and reason beside each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from evaluation.domain.metrics import Figure
from evaluation.domain.outcomes import View
from evaluation.domain.plan import Plan
from evaluation.domain.resampling import Estimate
from evaluation.services.outcome_table import Selection


@dataclass(frozen=True)
class Rows:
    """Rows still to be computed, and how many there will be (for a progress bar)."""

    steps: int
    rows: Iterable[dict[str, Any]]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)


def number(value: Fraction | float | None) -> float | None:
    """Return a number rounded to six places, as reports hold it."""
    return None if value is None else round(float(value), 6)


def figure_cells(figure: Figure) -> dict[str, Any]:
    """Return a figure's members."""
    return {
        "numerator": figure.numerator,
        "denominator": figure.denominator,
        "value": number(figure.value),
        "status": str(figure.status),
        "reason": figure.reason,
        "coverage": number(figure.coverage),
    }


def estimate_cells(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate's members, with the signature of its interval."""
    made = estimate.signature
    return {
        "value": number(estimate.point),
        "lower": number(estimate.lower),
        "upper": number(estimate.upper),
        "status": str(estimate.status),
        "reason": estimate.reason,
        "exact": estimate.exact,
        "note": estimate.note,
        "signature": {
            "unit": "document cluster",
            "method": made.method,
            "confidence": made.confidence,
            "sidedness": str(made.sidedness),
            "replicates": made.replicates,
            "seed": made.seed,
            "clusters": made.clusters,
            "questions": made.questions,
            "comparisons": made.comparisons,
        },
    }


def selection_cells(selection: Selection) -> dict[str, str]:
    """Return sample and segment; all segments together are called "overall"."""
    return {"sample": str(selection.sample), "segment": str(selection.segment or "overall")}


def view_of(plan: Plan, key: str) -> dict[str, Any]:
    """Return a view's key (`budget:400`), kind and value, and for top-k what k counts."""
    kind, _, value = key.partition(":")
    budget = plan.budget
    return {
        "key": key,
        "view": kind,
        "value": int(value),
        "primary": kind == View.BUDGET and int(value) == budget.primary_evidence_tokens,
        "unit": f"tokens of {budget.tokenizer}" if kind == View.BUDGET else str(budget.top_k_unit),
    }


def primary_view(plan: Plan, views: Sequence[str]) -> str:
    """Return the key of the view that gates and headlines read."""
    return next(key for key in views if view_of(plan, key)["primary"])

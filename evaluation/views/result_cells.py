"""Figures and differences of a report as strings: a value with the numbers behind it, an interval, what limits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluation.domain.outcomes import Stage
from evaluation.domain.plan_words import MetricName
from evaluation.views.recorded_words import plain
from evaluation.views.wording import counted_in, interval, interval_note, share, signature, signed

SUPPORT = str(MetricName.COMPLETE_SUPPORT)
PACKED = str(Stage.PACKED)
OVERALL = "overall"
SAMPLE_WORDS = {
    "representative": "Representative questions",
    "enriched": "Enriched questions: added because a condition matters; never pooled with the others",
}


@dataclass(frozen=True)
class Place:
    """What a table is about: two arms in one view and one sample."""

    baseline: str
    candidate: str
    view: str
    sample: str


@dataclass(frozen=True)
class ArmCell:
    """A figure of one arm: `value` as a share, `counts` the numbers behind it, `note` what limits it; `beside` is the
    figure over feasible questions only, where it differs."""

    value: str
    counts: str
    note: str = ""
    beside: str = ""


@dataclass(frozen=True)
class Difference:
    """Candidate − baseline with its interval, or `undefined` with the reason."""

    value: str
    interval: str
    signature: str
    note: str
    undefined: str = ""
    counted_in: str = ""


def difference(cells: Mapping[str, Any]) -> Difference:
    """Return a paired estimate for a page."""
    if cells["value"] is None:
        return Difference("undefined", "", signature(cells), "", cells["reason"] or "no value", counted_in(cells))
    return Difference(
        signed(cells["value"]),
        interval(cells),
        signature(cells),
        plain(interval_note(cells)),
        counted_in=counted_in(cells),
    )


def level(cells: Mapping[str, Any]) -> Difference:
    """Return an estimate of one arm for a page: a share with its interval, not a change."""
    if cells["value"] is None:
        return difference(cells)
    bounds = "no interval"
    if cells["lower"] is not None and cells["upper"] is not None:
        bounds = f"[{share(cells['lower'])},\u00a0{share(cells['upper'])}]"
    return Difference(share(cells["value"]), bounds, signature(cells), plain(interval_note(cells)))

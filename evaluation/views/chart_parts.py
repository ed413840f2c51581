"""What a chart of a report is before it is drawn, and what it is asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from annotate.domain.agreement_report import Line
from evaluation.domain.plan import Plan
from evaluation.selectors.latency import ArmLatency
from evaluation.views.result_cells import OVERALL, Place
from evaluation.views.result_tables import Report

type Cells = tuple[object, ...]

SIGNATURE = ("questions", "clusters", "method", "confidence", "sidedness", "replicates", "seed", "comparisons")
"""What a file says beside every estimate: what it counts, and how its interval was made."""


def signature_cells(cells: Mapping[str, Any] | None) -> Cells:
    """Return the signature of a recorded estimate under the columns `SIGNATURE`; blanks for a figure without one."""
    return tuple(cells["signature"][name] if cells else None for name in SIGNATURE)


@dataclass(frozen=True)
class Chart:
    """What a chart says (`heading`), its rows as a table of words and as a file of numbers, and how it is drawn.

    `draw` takes the heading a file carries inside, or "". `note` says what the drawing leaves out.
    """

    name: str
    heading: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    numbers: tuple[Cells, ...]
    signature: str
    draw: Callable[[str], str]
    note: str = ""


@dataclass(frozen=True)
class Asked:
    """What a chart is about."""

    report: Report
    plan: Plan
    place: Place
    segment: str = OVERALL
    agreement: tuple[Line, ...] = ()
    agreement_note: str = ""
    latencies: tuple[ArmLatency, ...] = ()

"""What stands behind the figures of each arm: how its cuts left the corpus, and how often a tie decided the ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluation.views.measure_tables import MeasureRow, ranged
from evaluation.views.result_tables import Report
from evaluation.views.wording import NOT_MEASURED

#: name, meaning, count, of
_COUNTED = (
    ("Orphan headings", "headings whose chunk ends before their text", "orphan_headings", "headings"),
    ("Fragmented tables", "tables in more than one chunk", "fragmented_tables", "tables"),
    ("Severed rows", "table rows in more than one chunk", "severed_rows", "table_rows"),
)


def chunk_lines(report: Report) -> list[MeasureRow]:
    """Return the lines about both arms' chunks and ties, over the distinct shared phases."""
    builds = [
        [row["measures"] for row in report.results.rows("builds", arm=arm) if row["measures"]] for arm in report.arms
    ]
    rows = [
        _row("Chunks", "in one phase", builds, _chunks),
        _row("Tokens of a chunk", "least; quartiles and median; most", builds, _lengths),
    ]
    rows += [
        _row(name, meaning, builds, lambda found, count=count, of=of: _counted(found, count, of))
        for name, meaning, count, of in _COUNTED
    ]
    ties = [_ties(list(report.results.rows("ties", arm=arm))) for arm in report.arms]
    rows.append(MeasureRow("Ties at k", "equal scores at ranks k and k + 1: the tie rule decides", (ties[0], ties[1])))
    return rows


def _row(name: str, meaning: str, builds: Sequence[list[dict[str, Any]]], write: Any) -> MeasureRow:
    before, after = (write(found) if found else NOT_MEASURED for found in builds)
    return MeasureRow(name, meaning, (before, after))


def _chunks(found: list[dict[str, Any]]) -> str:
    return ranged([one["chunks"] for one in found])


def _lengths(found: list[dict[str, Any]]) -> str:
    tokens = [one["tokens"] for one in found]
    inner = [ranged([one[part] for one in tokens]) for part in ("first_quartile", "median", "third_quartile")]
    least, most = min(one["min"] for one in tokens), max(one["max"] for one in tokens)
    return f"{least:,}; {' · '.join(inner)}; {most:,}"


def _counted(found: list[dict[str, Any]], count: str, of: str) -> str:
    return f"{ranged([one[count] for one in found])} of {found[0][of]:,}"


def _ties(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return NOT_MEASURED
    asked, tied, decisive = (sum(row[name] for row in rows) for name in ("asked", "tied", "decisive"))
    return f"{tied:,} of {asked:,} runs at k = {rows[0]['k']}; support hangs on {decisive:,} of them"

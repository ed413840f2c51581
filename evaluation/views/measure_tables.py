"""Measures that no gate reads, as rows for a page: what runs reached and wasted, and what builds did to the corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from evaluation.domain.run_measures import SCORE_UNIT
from evaluation.views.result_cells import OVERALL, Place
from evaluation.views.result_tables import Report
from evaluation.views.wording import NOT_MEASURED, count_of, words


@dataclass(frozen=True)
class MeasureRow:
    """One measure of both arms; `meaning` says what is counted of what."""

    name: str
    meaning: str
    cells: tuple[str, str]


@dataclass(frozen=True)
class BuildTable:
    """The index builds of one arm: `summary` over all phases, and one row per distinct phase under `header`."""

    arm: str
    summary: tuple[tuple[str, str], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]
    problem: str = ""


#: name, meaning, numerator, denominator
_SHARES = (
    ("Spans whole in the prompt", "spans of the best set", "covered_spans", "needed_spans"),
    ("Spans visible to the plan's threshold", "spans of the best set", "spans_at_threshold", "needed_spans"),
    ("Evidence in the prompt", "bytes of the best set", "covered_bytes", "needed_bytes"),
    (
        "Runs with part of a set",
        "runs with a readable set, incomplete but not without any of it",
        "partial",
        "supported",
    ),
    ("Runs with nothing of a set", "runs with a readable set", "nothing", "supported"),
    ("Evidence precision", "bytes in the prompt that are evidence", "relevant_bytes", "shown_bytes"),
    ("Spans severed by a cut", "spans of all sets", "severed_spans", "needed_spans"),
    ("Complete within k", "runs with a readable set, in the retriever's ranking", "complete_at_k", "supported"),
    ("Complete beyond k", "the set is whole only at a lower rank", "complete_beyond_k", "supported"),
    ("Never complete among the candidates", "runs with a readable set", "never_complete", "supported"),
    ("Duplicate pressure", "pairs of packed units that repeat each other", "duplicate_pairs", "compared_pairs"),
    ("Confident without evidence", "unsupported runs whose best hit scored above zero", "confident", "unsupported"),
    ("Asserted without evidence", "unsupported runs that were answered", "asserted", "unsupported"),
)
_EACH = (
    ("Evidence tokens a run", "labels and separators included", "evidence_tokens"),
    ("Unique source tokens a run", "source tokens shown once", "unique_tokens"),
    ("Repeated source tokens a run", "source tokens shown again", "repeated_tokens"),
    ("Structural units a run", "sections, tables and code blocks that the evidence touches", "structural_units"),
    ("Units denied a run", "kept from the reader", "denials"),
    ("Replaced by a readable hit, a run", "of those denied", "fallbacks"),
    ("Chunks not in force a run", "kept out by dates", "outdated"),
    ("Chunks of another locale a run", "kept out by locale", "foreign"),
)


def measure_rows(report: Report, place: Place, segment: str = OVERALL) -> list[MeasureRow]:
    """Return the measures of both arms; those that are zero in both and only tell that a filter had no work are left
    out."""
    at = {"view": place.view, "sample": place.sample, "segment": segment}
    arms = [report.results.row("measures", arm=arm, **at) for arm in report.arms]
    rows = []
    for name, meaning, top, below in _SHARES:
        before, after = (_share(one[top], one[below]) for one in arms)
        rows.append(MeasureRow(name, meaning, (before, after)))
    ranks = _pair(arms, lambda one: _rank(one["median_rank"], one["last_rank"]))
    rows.insert(9, MeasureRow("Rank of completion", "median and last, where it is ever complete", ranks))
    scores = _pair(arms, lambda one: _score(one["median_score"], one["top_score"]))
    rows.insert(
        13, MeasureRow("Best score without evidence", "median and highest, in the retriever's own unit", scores)
    )
    for name, meaning, total in _EACH:
        if total in {"fallbacks", "outdated", "foreign", "denials"} and not any(one[total] for one in arms):
            continue
        before, after = (_each(one[total], one["runs"]) for one in arms)
        rows.append(MeasureRow(name, meaning, (before, after)))
    return rows


def build_tables(report: Report) -> list[BuildTable]:
    """Return what the cuts of each compared arm made of the corpus."""
    return [_build(arm, list(report.results.rows("builds", arm=arm))) for arm in report.arms]


_HEADER = (
    *("Phase", "Chunks", "Tokens: least, quartiles, most", "Index ÷ source", "Orphan headings", "Fragmented tables"),
    *("Severed rows", "Repeated 5-grams", "Cuts moved", "Without a core"),
)


def _build(arm: str, rows: Sequence[dict[str, Any]]) -> BuildTable:
    made = [row for row in rows if row["measures"]]
    problem = next((row["reason"] for row in rows if not row["measures"]), "")
    if not made:
        return BuildTable(arm, (), _HEADER, (), (), problem)
    first = made[0]["measures"]
    told = (
        ("Chunks", ranged([row["measures"]["chunks"] for row in made])),
        ("Median tokens", ranged([row["measures"]["tokens"]["median"] for row in made])),
        ("Index ÷ source tokens", ranged([_ratio(row["measures"]["expansion"]) for row in made])),
        ("Orphan headings", f"{ranged([row['measures']['orphan_headings'] for row in made])} of {first['headings']:,}"),
        (
            "Fragmented tables",
            f"{ranged([row['measures']['fragmented_tables'] for row in made])} of {first['tables']:,}",
        ),
        ("Repeated 5-grams", ranged([_ratio(row["measures"]["repeated_ngrams"]["share"]) for row in made])),
    )
    remarks: dict[str, list[int]] = {}
    for row in made:
        for name, count in row["measures"]["remarks"].items():
            remarks.setdefault(name, []).append(count)
    return BuildTable(
        arm,
        told,
        _HEADER,
        tuple(_build_row(row) for row in made),
        tuple(f"{words(name)}: {ranged(counts)} a phase" for name, counts in sorted(remarks.items())),
        problem,
    )


def _build_row(row: dict[str, Any]) -> tuple[str, ...]:
    found, moved = row["measures"], row["moved_cuts"]
    sizes = [found["tokens"][part] for part in ("min", "first_quartile", "median", "third_quartile", "max")]
    labels = row["labels"]
    return (
        labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}: one phase",
        f"{found['chunks']:,}",
        " · ".join(f"{size:,}" for size in sizes),
        _ratio(found["expansion"]),
        f"{found['orphan_headings']:,} of {found['headings']:,}",
        f"{found['fragmented_tables']:,} of {found['tables']:,}",
        f"{found['severed_rows']:,} of {found['table_rows']:,}",
        f"{found['repeated_ngrams']['repeated']:,} of {found['repeated_ngrams']['ngrams']:,}",
        f"{moved['moved']:,} of {moved['cuts']:,}",
        f"{found['empty_cores']:,}",
    )


def _pair(arms: Sequence[dict[str, Any]], write: Callable[[dict[str, Any]], str]) -> tuple[str, str]:
    before, after = map(write, arms)
    return before, after


def _share(top: int, below: int) -> str:
    return count_of(top, below) if below < 10_000 else f"{count_of(top, below).split(' = ')[1]} of {below:,}"


def _each(total: int, runs: int) -> str:
    return f"{total / runs:,.1f} in {runs:,} runs" if runs else "undefined: no completed run"


def _rank(median: int | None, last: int | None) -> str:
    return "never complete" if median is None else f"{median} (last {last})"


def _score(median: int | None, top: int | None) -> str:
    if median is None or top is None:
        return f"{NOT_MEASURED}: every run has a readable set"
    return f"{median / SCORE_UNIT:.3f} (highest {top / SCORE_UNIT:.3f})"


def _ratio(text: str) -> str:
    return f"{float(Fraction(text)):.2f}" if text else "undefined"


def ranged(values: Sequence[int] | Sequence[str]) -> str:
    """Return `12`, or `12 to 15` where the values differ."""
    texts = [f"{one:,}" if isinstance(one, int) else one for one in (min(values), max(values))]
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"

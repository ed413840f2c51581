"""A sweep's results as tables in a terminal."""

from __future__ import annotations

from typing import IO, cast

from django.core.management.base import OutputWrapper
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evaluation.domain.decision import Decision
from evaluation.services.results import SweepResults

HEADLINE = "complete-support"


def console_on(output: OutputWrapper) -> Console:
    """Return a console on a command's output, wide enough for a table where that is a file or a pipe."""
    stream = cast(IO[str], output._out)
    return Console(file=stream) if stream.isatty() else Console(file=stream, width=160)


def print_results(console: Console, results: SweepResults) -> None:
    """Print, per view and sample, complete support per arm and phase, then the paired differences by segment."""
    for view in results.data["views"]:
        title = f"{view['view']} {view['value']} ({view['unit']})" + (", primary" if view["primary"] else "")
        for sample in dict.fromkeys(row["sample"] for row in results.data["arms_by_view"]):
            console.print(_arms(results, view["key"], sample, f"Complete support · {title} · {sample} sample"))
            console.print(_pairs(results, view["key"], sample, f"Candidate − baseline · {title} · {sample} sample"))


def _arms(results: SweepResults, view: str, sample: str, title: str) -> Table:
    labels = list(results.data["arms"][0]["phases"])
    table = Table(title=title, title_justify="left")
    table.add_column("arm")
    for label in labels if len(labels) <= 8 else []:
        table.add_column(label, justify="right")
    for name in ("n", "mean", "worst", "fragile", "always", "never"):
        table.add_column(name, justify="right")
    for row in results.rows("arms_by_view", view=view, sample=sample, segment="overall", metric=HEADLINE):
        place = {"view": view, "sample": sample, "segment": "overall", "metric": HEADLINE, "stage": "packed"}
        figures = list(results.rows("figures", arm=row["arm"], **place))
        shown = [percent(one["value"]) for one in figures] if len(labels) <= 8 else []
        table.add_row(
            row["arm"],
            *shown,
            str(figures[0]["denominator"]),
            percent(row["mean"]),
            percent(row["worst"]),
            *(f"{len(row[name])} ({percent(row[name + '_share'])})" for name in ("fragile", "always", "never")),
        )
    return table


def _pairs(results: SweepResults, view: str, sample: str, title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for name in ("candidate", "segment"):
        table.add_column(name)
    for name in ("questions", "clusters", "mean", "lower", "upper", "gained", "lost"):
        table.add_column(name, justify="right")
    table.add_column("reading")
    for row in results.rows("pairs", view=view, sample=sample, metric=HEADLINE):
        mean, whole = row["mean"], row["cells"][0]
        table.add_row(
            row["candidate"],
            row["segment"],
            str(mean["signature"]["questions"]),
            str(mean["signature"]["clusters"]),
            *(points(mean[name]) for name in ("value", "lower", "upper")),
            str(len(whole["gained"])),
            str(len(whole["lost"])),
            mean["reason"] or mean["note"] or mean["signature"]["method"],
        )
    return table


def percent(value: float | None) -> str:
    """Return a share for reading; a dash where there is none."""
    return "–" if value is None else f"{100 * value:.1f} %"


def points(value: float | None) -> str:
    """Return a difference in percentage points with its sign."""
    return "–" if value is None else f"{100 * value:+.1f}"


def print_disposition(console: Console, decision: Decision) -> None:
    """Print how every gate and veto was read, and the disposition the plan's rule makes of them."""
    table = Table(title=f"Release of {decision.candidate}", title_justify="left")
    table.add_column("gate or veto", no_wrap=True)
    table.add_column("reading", no_wrap=True)
    table.add_column("why")
    for gate in decision.readings:
        table.add_row(gate.gate, str(gate.reading), escape(gate.reason))
    for veto in decision.vetoes:
        table.add_row(veto.veto, "veto" if veto.triggered else "clear", escape(veto.reason))
    console.print(table)
    console.print(f"Disposition: [bold]{decision.disposition}[/bold]")
    if decision.post_hoc:
        console.print("The plan is post hoc: it can reject or explore, it cannot accept.")

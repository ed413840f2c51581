"""A sweep's results as tables in a terminal."""

from __future__ import annotations

from typing import IO, cast

from django.core.management.base import OutputWrapper
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evaluation.domain.decision import Decision
from evaluation.domain.outcomes import STAGES
from evaluation.domain.sweep_limits import money
from evaluation.services.estimate_plan import Estimate
from evaluation.services.results import SweepResults

HEADLINE = "complete-support"


def console_on(output: OutputWrapper) -> Console:
    """Return a console on a command's output, wide enough for a table where that is a file or a pipe."""
    stream = cast(IO[str], output._out)
    return Console(file=stream) if stream.isatty() else Console(file=stream, width=160)


def print_results(console: Console, results: SweepResults) -> None:
    """Print, per view and sample, complete support per arm and phase, where it was lost, and the paired differences."""
    for view in results.data["views"]:
        title = f"{view['view']} {view['value']} ({view['unit']})" + (", primary" if view["primary"] else "")
        for sample in dict.fromkeys(row["sample"] for row in results.data["arms_by_view"]):
            console.print(_arms(results, view["key"], sample, f"Complete support · {title} · {sample} sample"))
            console.print(stage_table(results, view["key"], sample, f"Stage of loss · {title} · {sample} sample"))
            console.print(_pairs(results, view["key"], sample, f"Candidate − baseline · {title} · {sample} sample"))


def print_estimate(console: Console, estimate: Estimate) -> None:
    """Print what a sweep would be, and what it would take as far as that was measured."""
    size = estimate.size
    table = Table(title="What would run", title_justify="left")
    table.add_column("arm")
    for name in ("phases", "distinct chunkings", "chunks", "distinct chunks"):
        table.add_column(name, justify="right")
    table.add_column("note")
    for arm in size.arms:
        partly = "" if arm.counted == arm.phases else f"counted in {arm.counted} of {arm.phases} phases"
        notes = [f"{', '.join(labels)} are one phase" for labels in arm.collapsed]
        control = ["unshifted control: one observation"] if not arm.stride else []
        numbers = (arm.phases, arm.chunkings, arm.chunks, arm.distinct_chunks)
        notes = [*control, *(notes if arm.stride else []), *([partly] if partly else [])]
        table.add_row(arm.arm, *(f"{one:,}" for one in numbers), "; ".join(notes))
    console.print(table)
    prompts = "sent to the generator" if size.generated else "rendered; no generator is asked"
    console.print(f"{size.cells:,} cells over {size.builds:,} index builds, {size.questions:,} questions asked in each")
    console.print(f"{size.prompts:,} prompts {prompts}")
    cost = estimate.cost
    console.print(
        f"{cost.evidence_tokens:,} evidence tokens in {cost.input_tokens:,} prompt tokens, "
        f"{cost.output_tokens:,} answer tokens"
    )
    console.print(f"about {cost.minutes:,.1f} minutes of work on one worker of this machine")
    if cost.cost is not None:
        console.print(f"cost {money(cost.cost)} at these prices" + ("" if size.generated else ": nothing is sent"))
    if estimate.calibration.questions != "development":
        console.print("Measured on questions of the population; no outcome of them was kept or shown.")


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


def stage_table(results: SweepResults, view: str, sample: str, title: str) -> Table:
    """Return a row per arm: complete support after each stage, mean over distinct phases, and what a phase changes.

    `one chunk` is the share of questions of which one chunk of the index holds a whole set; `n` the answerable
    questions; `phase changes` those supported in the prompt at some phases and not at others.
    """
    table = Table(title=title, title_justify="left")
    table.add_column("arm")
    for name in ("n", "phases", "one chunk", *(str(stage) for stage in STAGES[1:]), "phase changes"):
        table.add_column(name, justify="right")
    asked = [("single-unit-support", STAGES[0]), *((HEADLINE, stage) for stage in STAGES[1:])]
    place = {"view": view, "sample": sample, "segment": "overall"}
    for row in results.rows("arms_by_view", **place, metric=HEADLINE):
        shown, n, phases = [], 0, 0
        for metric, stage in asked:
            figures = results.rows("figures", **place, arm=row["arm"], metric=metric, stage=str(stage))
            by_phase = {one["phase"]: one for one in figures}
            values = [one["value"] for one in by_phase.values() if one["value"] is not None]
            n, phases = max((one["denominator"] for one in by_phase.values()), default=0), len(by_phase)
            shown.append(percent(sum(values) / len(values) if values else None))
        fragile = f"{len(row['fragile'])} ({percent(row['fragile_share'])})"
        table.add_row(row["arm"], str(n), str(phases), *shown, fragile)
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

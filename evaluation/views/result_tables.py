"""A sweep's report as rows for a page: strings with their denominators, ids with their texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluation.charts.support_by_phase import PhasePoint
from evaluation.domain.outcomes import Stage
from evaluation.domain.plan_words import MetricName
from evaluation.services.results import SweepResults
from evaluation.views.recorded_words import plain
from evaluation.views.wording import (
    FATES,
    count_of,
    counted_in,
    interval,
    interval_note,
    share,
    signature,
    signed,
    words,
)

SUPPORT = str(MetricName.COMPLETE_SUPPORT)
PACKED = str(Stage.PACKED)
OVERALL = "overall"
SAMPLE_WORDS = {
    "representative": "Representative questions",
    "enriched": "Enriched questions: added because a condition matters; never pooled with the others",
}


type Loss = tuple[str, list[str], list[tuple[str, ...]], list[int]]
"""(fate in words, "count of total" per arm, questions per arm, count per arm)"""


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
    """Candidate − baseline with its interval, or `undefined` with the reason; `tone` says which side of 0 it is."""

    value: str
    interval: str
    signature: str
    note: str
    undefined: str = ""
    counted_in: str = ""


@dataclass(frozen=True)
class SegmentRow:
    """One line of a results table. `n` counts answerable questions; `undefined` says why there is nothing to read."""

    segment: str
    name: str
    n: int
    average: tuple[ArmCell, ArmCell]
    worst: tuple[ArmCell, ArmCell]
    difference: Difference
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    counted: int
    undefined: str = ""


class Report:
    """A report and the rows pages make of it; `candidate` is the arm compared with the baseline."""

    def __init__(self, results: SweepResults, candidate: str) -> None:
        self.results = results
        self.data = results.data
        self.baseline = next(arm["arm"] for arm in self.data["arms"] if arm["role"] == "baseline")
        self.candidates = [arm["arm"] for arm in self.data["arms"] if arm["role"] != "baseline"]
        self.candidate = candidate
        self.arms = (self.baseline, candidate)
        self.labels = list(self.data["arms"][0]["phases"])

    @property
    def samples(self) -> list[str]:
        """Samples that occur, representative first."""
        return list(dict.fromkeys(row["sample"] for row in self.data["arms_by_view"]))

    @property
    def segments(self) -> list[str]:
        """Segments in the plan's order, all together first."""
        return list(dict.fromkeys(row["segment"] for row in self.data["arms_by_view"]))

    def place(self, view: str, sample: str) -> Place:
        """Return the place of a table."""
        return Place(self.baseline, self.candidate, view, sample)

    def segment_rows(self, place: Place) -> list[SegmentRow]:
        """Return one row per segment, all together last."""
        order = [one for one in self.segments if one != OVERALL] + [OVERALL]
        return [self.segment_row(place, segment) for segment in order]

    def segment_row(self, place: Place, segment: str) -> SegmentRow:
        """Return the row of one segment."""
        at = {"view": place.view, "sample": place.sample, "segment": segment, "metric": SUPPORT}
        pair = self.results.row("pairs", candidate=place.candidate, **at)
        whole = pair["cells"][0]
        arms = [self.results.row("arms_by_view", arm=arm, **at) for arm in (place.baseline, place.candidate)]
        points = [self.points(place, segment, arm) for arm in (place.baseline, place.candidate)]
        counted = sum(len(whole[name]) for name in ("both", "gained", "lost", "neither"))
        return SegmentRow(
            segment,
            "All segments together" if segment == OVERALL else words(segment),
            counted,
            (self._headline(place, arms[0], points[0]), self._headline(place, arms[1], points[1])),
            (self._worst(arms[0], points[0]), self._worst(arms[1], points[1])),
            difference(pair["mean"]),
            tuple(whole["gained"]),
            tuple(whole["lost"]),
            counted,
            "" if counted else _why(points[0]),
        )

    def points(self, place: Place, segment: str, arm: str, metric: str = SUPPORT) -> list[PhasePoint]:
        """Return an arm's figure at every shared label, in the labels' order."""
        rows = self.results.rows(
            "figures",
            arm=arm,
            view=place.view,
            sample=place.sample,
            segment=segment,
            metric=metric,
            stage=PACKED,
        )
        estimates = self.phase_estimates(place, segment, arm) if metric == SUPPORT else {}
        bounds = {label: (one["lower"], one["upper"]) for label, one in estimates.items()}
        return [
            PhasePoint(
                arm,
                row["label"],
                row["numerator"],
                row["denominator"],
                row["value"],
                row["reason"],
                *bounds.get(row["label"], (None, None)),
            )
            for row in rows
        ]

    def phase_estimates(self, place: Place, segment: str, arm: str) -> dict[str, Mapping[str, Any]]:
        """Return the recorded estimate at each label; none outside the primary view, where phases are not resampled."""
        at = {"view": place.view, "sample": place.sample, "segment": segment}
        return {
            label: one
            for row in self.results.rows("arm_phases", arm=arm, **at)
            for one in row["phases"]
            for label in one["labels"]
        }

    def phase_signature(self, place: Place, segment: str) -> str:
        """Return how the intervals of the phases were made, "" where there are none."""
        at = {"view": place.view, "sample": place.sample, "segment": segment}
        for row in self.results.rows("arm_phases", arm=place.candidate, **at):
            for one in row["phases"]:
                if one["lower"] is not None:
                    return signature(one)
        return ""

    def distinct(self, points: Sequence[PhasePoint]) -> list[PhasePoint]:
        """Return the points of distinct phases: labels that fell on one first cut are one phase."""
        cuts = next(arm["phases"] for arm in self.data["arms"] if arm["arm"] == points[0].arm) if points else {}
        first: dict[int, PhasePoint] = {}
        for point in points:
            first.setdefault(cuts[point.label], point)
        return list(first.values())

    def losses(self, place: Place, segment: str = OVERALL) -> list[Loss]:
        """Return what became of the runs over all shared phases and repeats, fates in stage order."""
        by_arm: list[dict[str, list[str]]] = []
        for arm in (place.baseline, place.candidate):
            found: dict[str, list[str]] = {}
            at = {"view": place.view, "sample": place.sample, "segment": segment, "metric": "usage"}
            for row in self.results.rows("figures", arm=arm, **at):
                for fate, names in row["losses"].items():
                    found.setdefault(fate, []).extend(names)
            by_arm.append(found)
        totals = [sum(len(names) for names in found.values()) for found in by_arm]
        order = [str(fate) for fate in FATES if str(fate) in by_arm[0] or str(fate) in by_arm[1]]
        return [
            (
                FATES[fate],
                [f"{len(found.get(fate, []))} of {total}" for found, total in zip(by_arm, totals, strict=True)],
                [tuple(dict.fromkeys(found.get(fate, []))) for found in by_arm],
                [len(found.get(fate, [])) for found in by_arm],
            )
            for fate in order
        ]

    def stages(self, place: Place, arm: str) -> dict[str, list[str]]:
        """Return the questions of each fate ("complete", a stage of loss, …) under an arm at any shared phase."""
        at = {"view": place.view, "sample": place.sample, "segment": OVERALL, "metric": "usage"}
        found: dict[str, list[str]] = {}
        for row in self.results.rows("figures", arm=arm, **at):
            for fate, names in row["losses"].items():
                found.setdefault(fate, []).extend(names)
        return found

    def changed(self, place: Place) -> dict[str, list[str]]:
        """Return the questions complete in every phase under one arm alone: lost and gained everywhere."""
        at = {"view": place.view, "sample": place.sample, "segment": OVERALL, "metric": SUPPORT}
        whole = self.results.row("pairs", candidate=place.candidate, **at)["cells"][0]
        return {"lost-everywhere": whole["lost"], "gained-everywhere": whole["gained"]}

    def metrics(self, place: Place, segment: str = OVERALL) -> list[tuple[str, ArmCell, ArmCell, Difference | None]]:
        """Return every other metric of the plan: both arms' averages over phases, and the paired difference if any."""
        found = []
        names = dict.fromkeys(row["metric"] for row in self.data["arms_by_view"])
        for metric in names:
            if metric == SUPPORT:
                continue
            at = {"view": place.view, "sample": place.sample, "segment": segment, "metric": metric}
            cells = [self._metric_cell(place, arm, at) for arm in (place.baseline, place.candidate)]
            pairs = list(self.results.rows("pairs", candidate=place.candidate, **at))
            found.append((words(metric), cells[0], cells[1], difference(pairs[0]["mean"]) if pairs else None))
        return found

    def oracle(self, sample: str, segment: str = OVERALL) -> list[tuple[str, list[ArmCell]]]:
        """Return every metric with the adjudicated evidence alone, one cell per oracle view."""
        found: dict[str, list[ArmCell]] = {}
        for row in self.results.rows("oracle", sample=sample, segment=segment):
            cell = ArmCell("undefined", "", row["reason"])
            if row["value"] is not None:
                cell = ArmCell(share(row["value"]), f"{row['numerator']} of {row['denominator']}")
            found.setdefault(words(row["metric"]), []).append(cell)
        return list(found.items())

    @property
    def oracle_titles(self) -> list[str]:
        """Return the oracle views' names: the production ceiling, and the diagnostic one with more room."""
        names = {"oracle": "Production ceiling", "oracle-roomy": "Diagnostic, more room"}
        views = dict.fromkeys(row["view"].partition(":")[::2] for row in self.data["oracle"])
        return [f"{names[kind]}: {int(tokens):,} tokens" for kind, tokens in views]

    def targeted(self, view: str) -> list[tuple[str, str, list[dict[str, Any]]]]:
        """Return (arm, count, rows) of the phases aimed at annotated spans, which stand in no average."""
        found = []
        for arm in self.arms:
            rows = list(self.results.rows("targeted", arm=arm, view=view))
            if rows:
                found.append((arm, f"{sum(row['complete'] for row in rows)} of {len(rows)}", rows))
        return found

    def sensitivity(self, place: Place, segment: str, arm: str) -> dict[str, str]:
        """Return an arm's support over distinct phases without failed runs, over feasible questions, and coverage."""
        at = {"view": place.view, "sample": place.sample, "segment": segment, "metric": SUPPORT, "stage": PACKED}
        rows = list({row["phase"]: row for row in self.results.rows("figures", arm=arm, **at)}.values())
        sums = {
            part: count_of(*(sum(row[part][name] for row in rows) for name in ("numerator", "denominator")))
            for part in ("without_failures", "feasible_only")
        }
        known = [row["coverage"] for row in rows if row["coverage"] is not None]
        sums["coverage"] = share(sum(known) / len(known)) if known else "undefined: no run"
        return sums

    def fates(self, place: Place, segment: str) -> list[tuple[str, list[str]]]:
        """Return, per question, its fate at each shared label: both, gained, lost, neither, or "" where uncounted."""
        at = {"view": place.view, "sample": place.sample, "segment": segment, "metric": SUPPORT}
        cells = self.results.row("pairs", candidate=place.candidate, **at)["cells"][1:]
        by_label = [{name: fate for fate in FOUR for name in cell[fate]} for cell in cells]
        names = sorted({name for one in by_label for name in one})
        return [(name, [one.get(name, "") for one in by_label]) for name in names]

    def _metric_cell(self, place: Place, arm: str, at: Mapping[str, Any]) -> ArmCell:
        row = self.results.row("arms_by_view", arm=arm, **at)
        if "mean" not in row:  # answer reversal: one figure over all phases
            if row["value"] is None:
                return ArmCell("undefined", "", row["reason"])
            note = "repeats were not run" if row["across_repeats"]["value"] is None else ""
            return ArmCell(share(row["value"]), f"{row['numerator']} of {row['denominator']} questions", note)
        points = self.points(place, at["segment"], arm, at["metric"])
        return self._average(row, points)

    def _headline(self, place: Place, row: Mapping[str, Any], points: Sequence[PhasePoint]) -> ArmCell:
        cell = self._average(row, points)
        feasible = self.sensitivity(place, row["segment"], row["arm"])["feasible_only"]
        known = self.distinct(points)
        every = count_of(sum(one.numerator for one in known), sum(one.denominator for one in known))
        return cell if feasible == every else replace(cell, beside=f"feasible only {feasible}")

    def _average(self, row: Mapping[str, Any], points: Sequence[PhasePoint]) -> ArmCell:
        if row["mean"] is None:
            return ArmCell("undefined", "", _why(points))
        distinct = self.distinct(points)
        total, of = sum(one.numerator for one in distinct), sum(one.denominator for one in distinct)
        return ArmCell(share(row["mean"]), f"{total} of {of} runs", plain(row["note"]))

    def _worst(self, row: Mapping[str, Any], points: Sequence[PhasePoint]) -> ArmCell:
        if row["worst"] is None:
            return ArmCell("undefined", "", _why(points))
        label = row["worst_labels"][0]
        at = next(one for one in points if one.label == label)
        more = f" and {len(row['worst_labels']) - 1} more" if len(row["worst_labels"]) > 1 else ""
        return ArmCell(
            share(row["worst"]), f"{at.numerator} of {at.denominator} at {label}{more}", plain(row["worst_note"])
        )


FOUR = ("both", "gained", "lost", "neither")


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


def finding(baseline: Sequence[PhasePoint], candidate: Sequence[PhasePoint]) -> str:
    """Return what a chart of support by phase shows, as its title."""
    pairs = [(b, c) for b, c in zip(baseline, candidate, strict=True) if b.value is not None and c.value is not None]
    if not pairs:
        return f"Complete support is undefined here: {_why(baseline)}"
    below = [pair for pair in pairs if pair[1].value < pair[0].value]  # type: ignore[operator]
    above = [pair for pair in pairs if pair[1].value > pair[0].value]  # type: ignore[operator]
    name = candidate[0].arm
    if not below and not above:
        return f"{name} supports as many questions as {baseline[0].arm} at every one of {len(pairs)} phases"
    lowest = min((c for _, c in pairs), key=lambda one: one.value or 0)
    parts = [f"fewer at {len(below)}"] * bool(below) + [f"more at {len(above)}"] * bool(above)
    return (
        f"{name} supports {' and '.join(parts)} of {len(pairs)} phases; its lowest is "
        f"{count_of(lowest.numerator, lowest.denominator)} at {lowest.label}"
    )


def phase_table(
    baseline: Sequence[PhasePoint], candidate: Sequence[PhasePoint]
) -> Iterator[tuple[str, PhasePoint, PhasePoint]]:
    """Yield (label, baseline, candidate) in the labels' order."""
    for before, after in zip(baseline, candidate, strict=True):
        yield before.label, before, after


def _why(points: Sequence[PhasePoint]) -> str:
    return next((one.why for one in points if one.why), "no phase was run")

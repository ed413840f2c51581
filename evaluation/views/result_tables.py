"""A sweep's report as rows for a page: strings with their denominators, by segment and phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluation.charts.support_by_phase import PhasePoint
from evaluation.services.results import SweepResults
from evaluation.views.phase_points import why
from evaluation.views.recorded_words import plain
from evaluation.views.result_cells import OVERALL, PACKED, SUPPORT, ArmCell, Difference, Place, difference
from evaluation.views.wording import count_of, share, signature, words


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
            "" if counted else why(points[0]),
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

    def _headline(self, place: Place, row: Mapping[str, Any], points: Sequence[PhasePoint]) -> ArmCell:
        cell = self.average(row, points)
        feasible = self.sensitivity(place, row["segment"], row["arm"])["feasible_only"]
        known = self.distinct(points)
        every = count_of(sum(one.numerator for one in known), sum(one.denominator for one in known))
        return cell if feasible == every else replace(cell, beside=f"feasible only {feasible}")

    def average(self, row: Mapping[str, Any], points: Sequence[PhasePoint]) -> ArmCell:
        """Return an arm's average over its distinct phases."""
        if row["mean"] is None:
            return ArmCell("undefined", "", why(points))
        distinct = self.distinct(points)
        total, of = sum(one.numerator for one in distinct), sum(one.denominator for one in distinct)
        return ArmCell(share(row["mean"]), f"{total} of {of} runs", plain(row["note"]))

    def _worst(self, row: Mapping[str, Any], points: Sequence[PhasePoint]) -> ArmCell:
        if row["worst"] is None:
            return ArmCell("undefined", "", why(points))
        label = row["worst_labels"][0]
        at = next(one for one in points if one.label == label)
        more = f" and {len(row['worst_labels']) - 1} more" if len(row["worst_labels"]) > 1 else ""
        return ArmCell(
            share(row["worst"]), f"{at.numerator} of {at.denominator} at {label}{more}", plain(row["worst_note"])
        )

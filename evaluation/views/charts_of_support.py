"""Charts of complete support: by phase, as paired differences by segment, and question by question."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.charts import heat_map, intervals, support_by_phase
from evaluation.charts.support_by_phase import PhasePoint
from evaluation.domain.plan_release import Gate
from evaluation.domain.plan_words import GateKind
from evaluation.views.chart_parts import SIGNATURE, Asked, Chart, signature_cells
from evaluation.views.phase_points import finding, phase_table
from evaluation.views.result_cells import OVERALL, SUPPORT
from evaluation.views.result_fates import fates_of
from evaluation.views.wording import count_of, counted, interval, share, signature, signed, words


def support_chart(asked: Asked) -> Chart:
    """Complete support at every shared phase, one line per arm, with intervals in the primary view."""
    report, place, segment = asked.report, asked.place, asked.segment
    points = [report.points(place, segment, arm) for arm in report.arms]
    n = points[0][0].denominator if points[0] else 0
    made = report.phase_signature(place, segment)
    columns = ("arm", "phase", "numerator", "denominator", "value", "lower", "upper", "status", *SIGNATURE)
    estimates = {arm: report.phase_estimates(place, segment, arm) for arm in report.arms}
    return Chart(
        "support-by-phase",
        finding(*points),
        ("Phase", *report.arms),
        tuple((label, _point(before), _point(after)) for label, before, after in phase_table(*points)),
        columns,
        tuple(
            (
                *(one.arm, one.label, one.numerator, one.denominator, one.value, one.lower, one.upper, one.why),
                *signature_cells(estimates[one.arm].get(one.label)),
            )
            for arm in points
            for one in arm
        ),
        f"n = {n} answerable questions and their repeats at each of {len(report.labels)} shared phases; "
        + (f"each phase by itself: {made}" if made else "observed shares, no interval"),
        lambda heading: support_by_phase.draw([*points[0], *points[1]], report.arms, heading),
    )


def forest_chart(asked: Asked) -> Chart:
    """The paired difference of averages with its interval, one line per segment; red ticks are tolerances."""
    report, place = asked.report, asked.place
    found = []
    for segment in [*(one for one in report.segments if one != OVERALL), OVERALL]:
        at = {"view": place.view, "sample": place.sample, "segment": segment, "metric": SUPPORT}
        mean = report.results.row("pairs", candidate=place.candidate, **at)["mean"]
        found.append((_named(segment), mean, _tolerance(asked, segment)))
    lines = [
        intervals.Line(
            name,
            mean["value"],
            mean["lower"],
            mean["upper"],
            mean["reason"] if mean["value"] is None else "",
            float(gate.tolerance) if gate else None,
        )
        for name, mean, gate in found
    ]
    known = [one for one in lines if one.value is not None]
    below = sum(one.upper is not None and one.upper < 0 for one in known)
    above = sum(one.lower is not None and one.lower > 0 for one in known)
    reach = max([0.1, *(abs(end) for one in known for end in (one.value, one.lower, one.upper) if end is not None)])
    limit = min(1.0, -(-reach * 10 // 1) / 10)
    columns = ("segment", "difference", "lower", "upper", "status", "reason", "tolerance", *SIGNATURE)
    return Chart(
        "differences",
        _sides(len(known), below, above),
        ("Segment", "Difference", "Interval", "A gate forgives"),
        tuple(
            (
                name,
                signed(mean["value"]) if mean["value"] is not None else f"undefined: {mean['reason']}",
                interval(mean) if mean["value"] is not None else "none",
                f"{gate.tolerance} ({gate.name})" if gate else "no gate reads this",
            )
            for name, mean, gate in found
        ),
        columns,
        tuple(
            (
                name,
                *(mean[part] for part in ("value", "lower", "upper", "status", "reason")),
                str(gate.tolerance) if gate else None,
                *signature_cells(mean),
            )
            for name, mean, gate in found
        ),
        f"{place.candidate} − {place.baseline}, paired by question. {signature(found[-1][1])}",
        lambda heading: intervals.draw(
            lines, "Difference of complete support", (-limit, limit), zero=True, heading=heading
        ),
        "The red tick is the loss a gate forgives." if any(one.tolerance is not None for one in lines) else "",
    )


def heat_chart(asked: Asked) -> Chart:
    """Every question at every phase under both arms, the most fragile first."""
    report = asked.report
    rows = fragile_first(fates_of(report, asked.place, asked.segment))
    moving = sum(len(set(fates) - {""}) > 1 for _, fates in rows)
    signs = {name: f"{glyph} {name}" for name, glyph, _ in heat_map.FATES}
    drawn = min(len(rows), heat_map.MOST)
    return Chart(
        "questions-by-phase",
        f"{moving} of {counted(len(rows), 'question')} change with the phase under either arm"
        if rows
        else "no question is counted here",
        ("Question", *report.labels),
        tuple((name, *(signs.get(fate, "not counted") for fate in fates)) for name, fates in rows),
        ("question", *report.labels),
        tuple((name, *(fate or None for fate in fates)) for name, fates in rows),
        f"● both arms  ▲ gained by {asked.place.candidate}  ▼ lost by it  ○ neither; most fragile first",
        lambda heading: heat_map.draw(rows, report.labels, heading),
        f"Drawn are the {drawn} most fragile of {len(rows)}; the table and the file hold all."
        if drawn < len(rows)
        else "",
    )


def fragile_first(rows: Sequence[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Return (question, fates) by how far each arm's verdict is from being the same everywhere, then losses, then key.

    An arm that is complete in c of p counted phases adds min(c, p − c).
    """

    def order(row: tuple[str, list[str]]) -> tuple[int, int, str]:
        name, fates = row
        known = [fate for fate in fates if fate]
        arms = [sum(fate in kept for fate in known) for kept in (("both", "lost"), ("both", "gained"))]
        return -sum(min(count, len(known) - count) for count in arms), -known.count("lost"), name

    return sorted(rows, key=order)


def _sides(known: int, below: int, above: int) -> str:
    """Return on which side of zero the intervals lie, in words."""
    if not known:
        return "no line has a difference"
    if not below and not above:
        return "no interval leaves zero out"
    told = [f"{count} {side} zero" for count, side in ((below, "below"), (above, "above")) if count]
    return f"{' and '.join(told)}, of {counted(known, 'line')} with a difference"


def _named(segment: str) -> str:
    return "All segments together" if segment == OVERALL else words(segment)


def _tolerance(asked: Asked, segment: str) -> Gate | None:
    """Return the strictest gate on the mean loss of support that reads this line."""
    kind, _, _ = asked.place.view.partition(":")
    found = [
        gate
        for gate in asked.plan.gates
        if gate.kind is GateKind.SUPPORT_LOSS
        and gate.sample == asked.place.sample
        and gate.view == kind
        and (gate.segment or OVERALL) == segment
    ]
    return min(found, key=lambda gate: float(gate.tolerance), default=None)


def _point(point: PhasePoint) -> str:
    if point.value is None:
        return f"undefined: {point.why}"
    bounds = f" [{share(point.lower)}, {share(point.upper)}]" if point.lower is not None else ""
    return count_of(point.numerator, point.denominator) + bounds

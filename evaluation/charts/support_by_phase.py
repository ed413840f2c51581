"""Complete support against the shared phase label, one line per arm, with the interval of each phase."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from evaluation.charts.look import COLOURS, DASHES, SHAPES, WIDTH, cycled, to_svg

HEIGHT = 240
#: How far apart arms stand at one phase, as a share of the way to the next.
APART = 0.12


@dataclass(frozen=True)
class PhasePoint:
    """One arm at one label. `value` is None where the figure is undefined: the line then has a gap, never a zero.

    `lower` and `upper` are its interval, None where there is none.
    """

    arm: str
    label: str
    numerator: int
    denominator: int
    value: float | None
    why: str = ""
    lower: float | None = None
    upper: float | None = None


def draw(points: Sequence[PhasePoint], arms: Sequence[str], heading: str = "") -> str:
    """Return the chart as SVG text whose colours are the page's CSS variables; `heading` is drawn only in downloads.

    Phases stand in the order they first occur. Importing altair takes a second the first time, drawing about 60 ms;
    equal charts are drawn once per process.
    """
    rows = [
        {"arm": one.arm, "phase": one.label, "support": one.value, "lower": one.lower, "upper": one.upper}
        for one in points
    ]
    return _draw(json.dumps(rows), tuple(arms), heading)


@lru_cache(maxsize=64)
def _draw(rows: str, arms: tuple[str, ...], heading: str) -> str:
    # Late on purpose: a page without a chart, a command and a forked worker must not pay for (or hang in) them.
    import altair as alt

    data = json.loads(rows)
    phases = list(dict.fromkeys(row["phase"] for row in data))

    def scale(choices: tuple[object, ...]) -> alt.Scale:
        return alt.Scale(domain=list(arms), range=cycled(choices, len(arms)))

    legend = alt.Legend(title=None, orient="top", symbolSize=90, symbolStrokeWidth=0, columnPadding=32, labelLimit=320)
    colour = alt.Color("arm:N", sort=None, scale=scale(COLOURS), legend=legend)
    # The arms stand beside each other at a phase, or one interval would hide the other: places are numbers, named by
    # the axis.
    aside = {arm: (number - (len(arms) - 1) / 2) * APART for number, arm in enumerate(arms)}
    for row in data:
        row["place"] = phases.index(row["phase"]) + aside[row["arm"]]
    axis = alt.Axis(
        values=list(range(len(phases))), labelExpr=f"{json.dumps(phases)}[datum.value]", labelAngle=0, grid=False
    )
    span = alt.Scale(domain=[-0.5, max(len(phases) - 0.5, 0.5)], nice=False)
    base = alt.Chart(alt.Data(values=data), width=WIDTH, height=HEIGHT).encode(
        x=alt.X("place:Q", title="First cut, as a share of the stride", axis=axis, scale=span)
    )
    ends = base.transform_filter("datum.lower != null && datum.upper != null")
    intervals = ends.mark_rule(strokeWidth=1.5, opacity=0.7).encode(y="lower:Q", y2="upper:Q", color=colour)
    y = alt.Y(
        "support:Q",
        title="Complete support",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2f"),
    )
    lines = base.mark_line(strokeWidth=1.5).encode(
        y=y,
        color=colour,
        strokeDash=alt.StrokeDash("arm:N", sort=None, scale=scale(DASHES), legend=None),
    )
    marks = base.mark_point(size=56, filled=True, opacity=1).encode(
        y=y, color=colour, shape=alt.Shape("arm:N", sort=None, scale=scale(SHAPES))
    )
    return to_svg(intervals + lines + marks, heading)

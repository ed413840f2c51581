"""Complete support against the shared phase label, one line per arm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

WIDTH, HEIGHT = 660, 240
#: Stroke, dash and mark of the arms in the plan's order, so that they differ without colour. Colours are the page's.
COLOURS = ("var(--arm-baseline)", "var(--arm-candidate)", "var(--set-b)", "var(--set-c)", "var(--set-d)")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4])
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross")


@dataclass(frozen=True)
class PhasePoint:
    """One arm at one label. `value` is None where the figure is undefined: the line then has a gap, never a zero."""

    arm: str
    label: str
    numerator: int
    denominator: int
    value: float | None
    why: str = ""


def draw(points: Sequence[PhasePoint], arms: Sequence[str], heading: str = "") -> str:
    """Return the chart as SVG text whose colours are the page's CSS variables; `heading` is drawn only in downloads.

    Phases stand in the order they first occur. Importing altair takes a second the first time, drawing about 60 ms;
    equal charts are drawn once per process.
    """
    rows = [
        {"arm": point.arm, "phase": point.label, "support": point.value, "n": point.denominator} for point in points
    ]
    return _draw(json.dumps(rows), tuple(arms), heading)


@lru_cache(maxsize=64)
def _draw(rows: str, arms: tuple[str, ...], heading: str) -> str:
    # Late on purpose: a page without a chart, a command and a forked worker must not pay for (or hang in) them.
    import altair as alt
    import vl_convert

    data = json.loads(rows)
    phases = list(dict.fromkeys(row["phase"] for row in data))
    some = [arms[index % len(arms)] for index in range(len(arms))]
    series = {
        "color": alt.Color(
            "arm:N",
            sort=None,
            scale=alt.Scale(domain=some, range=[COLOURS[index % len(COLOURS)] for index in range(len(some))]),
            legend=alt.Legend(
                title=None, orient="top", symbolSize=90, symbolStrokeWidth=0, columnPadding=32, labelLimit=320
            ),
        ),
        "shape": alt.Shape(
            "arm:N",
            sort=None,
            scale=alt.Scale(domain=some, range=[SHAPES[index % len(SHAPES)] for index in range(len(some))]),
        ),
    }
    base = alt.Chart(alt.Data(values=data), width=WIDTH, height=HEIGHT).encode(
        x=alt.X("phase:O", sort=phases, title="First cut, as a share of the stride", axis=alt.Axis(labelAngle=0)),
        y=alt.Y(
            "support:Q",
            title="Complete support",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2f"),
        ),
    )
    lines = base.mark_line(strokeWidth=2).encode(
        color=series["color"],
        strokeDash=alt.StrokeDash(
            "arm:N",
            sort=None,
            scale=alt.Scale(domain=some, range=[DASHES[index % len(DASHES)] for index in range(len(some))]),
            legend=None,
        ),
    )
    marks = base.mark_point(size=56, filled=True, opacity=1).encode(color=series["color"], shape=series["shape"])
    chart = (lines + marks).configure(**_look(alt))
    if heading:
        chart = chart.properties(title=alt.Title(heading, anchor="start", color="var(--ink)", fontSize=13))
    return str(vl_convert.vegalite_to_svg(chart.to_dict()))


def _look(alt: object) -> dict[str, object]:
    """Return the part of altair's configuration that is about looks."""
    axis = {
        "labelColor": "var(--ink-soft)",
        "titleColor": "var(--ink-soft)",
        "gridColor": "var(--hairline)",
        "domainColor": "var(--hairline)",
        "tickColor": "var(--hairline)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    return {
        "background": "transparent",
        "axis": axis,
        "axisX": {**axis, "grid": False},
        "legend": {"labelColor": "var(--ink)", "labelFontSize": 12},
        "view": {"stroke": None},
    }

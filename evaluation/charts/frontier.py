"""Support against what it costs, a panel per cost and a point per arm; dominated arms are hollow, a floor is a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

from evaluation.charts.look import COLOURS, SHAPES, WIDTH, cycled, shortened, to_svg

HEIGHT = 200
COLUMNS = 2


@dataclass(frozen=True)
class Arm:
    """One arm in one panel: its phase average of support with bounds, its cost, and whether another arm dominates it.

    `axis` is the panel: what its cost counts.
    """

    arm: str
    support: float
    lower: float | None
    upper: float | None
    cost: float
    dominated: bool
    axis: str


def draw(arms: Sequence[Arm], axes: Sequence[str], floor: float | None, heading: str = "") -> str:
    """Return the chart as SVG text, the panels in the order of `axes`."""
    rows = [{**asdict(one), "arm": shortened(one.arm)} for one in arms]
    return _draw(json.dumps(rows), tuple(axes), floor, heading)


@lru_cache(maxsize=32)
def _draw(rows: str, axes: tuple[str, ...], floor: float | None, heading: str) -> str:
    import altair as alt

    data = json.loads(rows)
    names = list(dict.fromkeys(row["arm"] for row in data))
    legend = alt.Legend(title=None, orient="top", columns=2, symbolSize=90)
    colour = alt.Color("arm:N", scale=alt.Scale(domain=names, range=cycled(COLOURS, len(names))), legend=legend)
    shape = alt.Shape("arm:N", scale=alt.Scale(domain=names, range=cycled(SHAPES, len(names))), legend=legend)
    panels = []
    for number, axis in enumerate(axes or ("Cost",)):
        own = [row for row in data if row["axis"] == axis]
        highest = max((row["cost"] for row in own), default=0.0)
        first = number % COLUMNS == 0
        base = alt.Chart(alt.Data(values=own), width=(WIDTH - 150) // COLUMNS, height=HEIGHT)
        x = alt.X("cost:Q", title=axis, scale=alt.Scale(domain=[0, highest * 1.1 or 1]), axis=alt.Axis(tickCount=5))
        y = alt.Y(
            "support:Q",
            title="Complete support" if first else None,
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format=".2f", tickCount=5),
        )
        layers = []
        if floor is not None:
            line = alt.Chart(alt.Data(values=[{"support": floor}]))
            layers.append(line.mark_rule(stroke="var(--ink-soft)", strokeDash=[4, 3]).encode(y=y))
        layers += [
            base.transform_filter("datum.lower != null && datum.upper != null")
            .mark_rule(strokeWidth=1.5, opacity=0.7)
            .encode(x=x, y=alt.Y("lower:Q"), y2="upper:Q", color=colour),
            base.transform_filter("!datum.dominated")
            .mark_point(size=90, filled=True, opacity=1)
            .encode(x=x, y=y, color=colour, shape=shape),
            base.transform_filter("datum.dominated")
            .mark_point(size=90, filled=False, strokeWidth=2)
            .encode(x=x, y=y, color=colour, shape=shape),
        ]
        panels.append(alt.layer(*layers))
    return to_svg(alt.concat(*panels, columns=COLUMNS, spacing=28), heading)

"""Support against what it costs, one point per arm; dominated arms are hollow, a declared floor is a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

from evaluation.charts.look import COLOURS, SHAPES, WIDTH, cycled, to_svg

HEIGHT = 260


@dataclass(frozen=True)
class Arm:
    """One arm: its phase average of support with bounds, its cost, and whether another arm dominates it."""

    arm: str
    support: float
    lower: float | None
    upper: float | None
    cost: float
    dominated: bool


def draw(arms: Sequence[Arm], unit: str, floor: float | None, heading: str = "") -> str:
    """Return the chart as SVG text; `unit` is what the cost counts."""
    return _draw(json.dumps([asdict(one) for one in arms]), unit, floor, heading)


@lru_cache(maxsize=32)
def _draw(rows: str, unit: str, floor: float | None, heading: str) -> str:
    import altair as alt

    data = json.loads(rows)
    names = [row["arm"] for row in data]
    base = alt.Chart(alt.Data(values=data), width=WIDTH - 60, height=HEIGHT)
    highest = max((row["cost"] for row in data), default=0.0)
    x = alt.X("cost:Q", title=unit, scale=alt.Scale(domain=[0, highest * 1.35 or 1]), axis=alt.Axis(tickCount=8))
    y = alt.Y(
        "support:Q",
        title="Complete support, average over phases",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".2f"),
    )
    colour = alt.Color("arm:N", scale=alt.Scale(domain=names, range=cycled(COLOURS, len(names))), legend=None)
    shape = alt.Shape("arm:N", scale=alt.Scale(domain=names, range=cycled(SHAPES, len(names))), legend=None)
    layers = []
    if floor is not None:
        line = alt.Chart(alt.Data(values=[{"support": floor}])).mark_rule(stroke="var(--ink-soft)", strokeDash=[4, 3])
        layers.append(line.encode(y=y))
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
        base.mark_text(align="left", dx=10, fontSize=12).encode(x=x, y=y, text="arm:N"),
    ]
    return to_svg(alt.layer(*layers), heading)

"""Estimates as points with their intervals, one line each: paired differences by segment, or agreement by measure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

from evaluation.charts.look import WIDTH, room_for, shortened, to_svg

ROW = 30
#: Labels of the axis, in Vega's expressions: a difference has its sign, and zero has none.
SIGNED = "datum.value === 0 ? '0' : format(datum.value, '+.2f')"
PLAIN = "format(datum.value, '.2f')"


@dataclass(frozen=True)
class Line:
    """One estimate. Without a value the line stays empty and says `why`; `tolerance` is what a gate forgives there."""

    name: str
    value: float | None
    lower: float | None
    upper: float | None
    why: str = ""
    tolerance: float | None = None


def draw(
    lines: Sequence[Line], axis: str, domain: tuple[float, float], *, zero: bool = False, heading: str = ""
) -> str:
    """Return the chart as SVG text; `zero` draws the line of no difference. Lines stand in the order given."""
    return _draw(json.dumps([asdict(one) for one in lines]), axis, domain, zero, heading)


@lru_cache(maxsize=64)
def _draw(rows: str, title: str, domain: tuple[float, float], zero: bool, heading: str) -> str:
    import altair as alt

    data = [{**row, "name": shortened(row["name"])} for row in json.loads(rows)]
    names = [row["name"] for row in data]
    x = alt.X(
        "value:Q",
        title=title,
        scale=alt.Scale(domain=list(domain)),
        axis=alt.Axis(labelExpr=SIGNED if zero else PLAIN, grid=True, tickCount=6, labelFlush=False, labelOverlap=True),
    )
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(grid=False, minExtent=room_for(names)))
    base = alt.Chart(alt.Data(values=data), width=WIDTH - 160, height=ROW * len(data)).encode(y=y)
    known = base.transform_filter("datum.value != null")
    layers = []
    if zero:
        line = alt.Chart(alt.Data(values=[{"value": 0}])).mark_rule(stroke="var(--ink-soft)", strokeWidth=1)
        layers.append(line.encode(x=x))
    layers += [
        base.transform_filter("datum.tolerance != null")
        .transform_calculate(value="-datum.tolerance")
        .mark_tick(size=ROW * 0.7, thickness=2, color="var(--reject)")
        .encode(x=x),
        known.transform_filter("datum.lower != null && datum.upper != null")
        .mark_rule(stroke="var(--arm-candidate)", strokeWidth=2)
        .encode(x=alt.X("lower:Q", scale=alt.Scale(domain=list(domain))), x2="upper:Q"),
        known.mark_point(size=70, filled=True, opacity=1, color="var(--arm-candidate)", shape="square").encode(x=x),
        base.transform_filter("datum.value == null")
        .transform_calculate(value=str(domain[0]))
        .mark_text(align="left", dx=4, fontSize=12, fontStyle="italic", color="var(--ink-soft)", limit=440)
        .encode(x=x, text="why:N"),
    ]
    return to_svg(alt.layer(*layers), heading)

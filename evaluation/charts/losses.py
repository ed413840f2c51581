"""A waterfall: all runs of answerable questions, what each stage lost of them, and what stood in the prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

from evaluation.charts.look import WIDTH, room_for, to_svg, two_lines

ROW = 32


@dataclass(frozen=True)
class Step:
    """One bar of one arm from `start` to `end` runs; `kind` is all, lost or left; `text` is written beside it."""

    arm: str
    name: str
    start: int
    end: int
    kind: str
    text: str


def draw(steps: Sequence[Step], heading: str = "") -> str:
    """Return the chart as SVG text, the arms below each other; steps stand in the order they first occur."""
    return _draw(json.dumps([asdict(one) for one in steps]), heading)


@lru_cache(maxsize=32)
def _draw(rows: str, heading: str) -> str:
    import altair as alt

    data = json.loads(rows)
    names, arms = (list(dict.fromkeys(row[key] for row in data)) for key in ("name", "arm"))
    most = max((row["start"] for row in data), default=0)
    kinds = {"all": "var(--hairline)", "lost": "var(--reject)", "left": "var(--accept)"}
    lines = {name: two_lines(name) for name in names}
    room = room_for(line for parts in lines.values() for line in parts)
    wide = WIDTH - 60 - room
    parts = []
    for arm in arms:
        own = [row for row in data if row["arm"] == arm]
        base = alt.Chart(
            alt.Data(values=own),
            width=wide,
            height=ROW * len(names),
            title=alt.Title(arm, anchor="start", color="var(--ink)", fontSize=12),
        ).encode(
            y=alt.Y(
                "name:N",
                sort=names,
                title=None,
                axis=alt.Axis(ticks=False, domain=False, minExtent=room, labelExpr=f"{json.dumps(lines)}[datum.value]"),
            ),
        )
        bars = base.mark_bar(height=14).encode(
            x=alt.X("end:Q", title="Runs", scale=alt.Scale(domain=[0, most * 1.3 or 1]), axis=alt.Axis(tickCount=4)),
            x2="start:Q",
            color=alt.Color("kind:N", scale=alt.Scale(domain=list(kinds), range=list(kinds.values())), legend=None),
        )
        texts = base.transform_calculate(most="max(datum.start, datum.end)").mark_text(align="left", dx=5, fontSize=11)
        parts.append(bars + texts.encode(x="most:Q", text="text:N"))
    return to_svg(alt.vconcat(*parts, spacing=16), heading)

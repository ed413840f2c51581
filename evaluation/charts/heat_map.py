"""Questions × phases: what each question's support came to under both arms, the most fragile first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from evaluation.charts.look import room_for, shortened, to_svg

ROW = 20
#: More rows would be an image nobody reads; the table and the file hold all of them.
MOST = 40
#: fate, glyph, colour: the glyph says it without colour.
FATES = (
    ("both", "●", "var(--set-a-soft)"),
    ("gained", "▲", "var(--accept-soft)"),
    ("lost", "▼", "var(--reject-soft)"),
    ("neither", "○", "var(--sunken)"),
)


def draw(rows: Sequence[tuple[str, Sequence[str]]], labels: Sequence[str], heading: str = "") -> str:
    """Return the chart as SVG text; `rows` are (question, fate at each label), drawn in this order, MOST at most."""
    cells = [
        {"question": shortened(name, 36), "phase": label, "fate": fate}
        for name, fates in rows[:MOST]
        for label, fate in zip(labels, fates, strict=True)
        if fate
    ]
    return _draw(json.dumps(cells), tuple(labels), heading)


@lru_cache(maxsize=32)
def _draw(cells: str, labels: tuple[str, ...], heading: str) -> str:
    import altair as alt

    data = json.loads(cells)
    glyphs = {name: glyph for name, glyph, _ in FATES}
    for row in data:
        row["glyph"] = glyphs[row["fate"]]
    names = list(dict.fromkeys(row["question"] for row in data))
    wide = max(26, min(48, 520 // max(1, len(labels))))
    base = alt.Chart(alt.Data(values=data), width=wide * len(labels), height=ROW * len(names)).encode(
        x=alt.X(
            "phase:O",
            sort=list(labels),
            title="First cut, as a share of the stride",
            axis=alt.Axis(labelAngle=0, orient="top"),
        ),
        y=alt.Y("question:N", sort=names, title=None, axis=alt.Axis(minExtent=room_for(names))),
    )
    ink = {"gained": "var(--accept)", "lost": "var(--reject)"}
    fates = [name for name, _, _ in FATES]
    scale = alt.Scale(domain=fates, range=[colour for _, _, colour in FATES])
    squares = base.mark_rect(stroke="var(--surface)", strokeWidth=2).encode(
        color=alt.Color("fate:N", scale=scale, legend=None)
    )
    signs = base.mark_text(fontSize=12).encode(
        text="glyph:N",
        color=alt.Color(
            "fate:N",
            scale=alt.Scale(domain=fates, range=[ink.get(name, "var(--ink-soft)") for name in fates]),
            legend=None,
        ),
    )
    return to_svg((squares + signs).resolve_scale(color="independent"), heading)

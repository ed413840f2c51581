"""What all charts share: the arms' colours, dashes and shapes, the look of axes, and the way to SVG text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

WIDTH = 660
#: Stroke, dash and mark of the arms in the plan's order, so that they differ without colour. Colours are the page's.
COLOURS = ("var(--arm-baseline)", "var(--arm-candidate)", "var(--set-b)", "var(--set-c)", "var(--set-d)")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4])
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross")


def cycled(choices: tuple[Any, ...], count: int) -> list[Any]:
    """Return `count` of the choices, from the first again where they are used up."""
    return [choices[number % len(choices)] for number in range(count)]


def to_svg(chart: Any, heading: str) -> str:
    """Return an altair chart as SVG text; `heading` is drawn only where it is not "" (in downloads)."""
    import altair as alt
    import vl_convert

    if heading:
        chart = chart.properties(title=alt.Title(heading, anchor="start", color="var(--ink)", fontSize=13))
    return str(vl_convert.vegalite_to_svg(chart.configure(**_look()).to_dict()))


def room_for(labels: Iterable[str]) -> int:
    """Return the width an axis keeps for its labels: a page's font is wider than the one drawings are measured by."""
    return round(7.6 * max((len(label) for label in labels), default=0))


def shortened(text: str, most: int = 44) -> str:
    """Return a label that fits beside a chart."""
    return text if len(text) <= most else text[: most - 1] + "…"


def two_lines(label: str, most: int = 22) -> list[str]:
    """Return a label in one line, or in two of about equal length where it has more than `most` characters."""
    if len(label) <= most or " " not in label:
        return [label]
    places = [place for place, sign in enumerate(label) if sign == " "]
    middle = min(places, key=lambda place: abs(place - len(label) / 2))
    return [label[:middle], label[middle + 1 :]]


def _look() -> dict[str, Any]:
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
        "labelLimit": 320,
    }
    header = {"labelColor": "var(--ink)", "labelFontSize": 12, "labelAnchor": "start", "titleColor": "var(--ink)"}
    return {
        "background": "transparent",
        "axis": axis,
        "axisX": {**axis, "grid": False},
        "legend": {"labelColor": "var(--ink)", "labelFontSize": 12, "labelLimit": 320, "columnPadding": 36},
        "header": header,
        "view": {"stroke": None},
        "text": {"color": "var(--ink)"},
    }

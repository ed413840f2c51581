"""The charts of a report by name, for a page or a file: drawing, finding, table and numbers come from the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404
from django.urls import reverse

from evaluation.charts import svg
from evaluation.views.chart_of_frontier import frontier_chart
from evaluation.views.chart_parts import Asked, Chart
from evaluation.views.charts_of_loss import agreement_chart, loss_chart
from evaluation.views.charts_of_support import forest_chart, heat_chart, support_chart
from evaluation.views.wording import words

CHARTS: dict[str, Callable[[Asked], Chart]] = {
    "support-by-phase": support_chart,
    "differences": forest_chart,
    "questions-by-phase": heat_chart,
    "losses": loss_chart,
    "frontier": frontier_chart,
    "agreement": agreement_chart,
}
"""The charts of a report by the name their files have."""


@dataclass(frozen=True)
class Drawing:
    """A drawing as a template prints it."""

    view_box: str
    pieces: tuple[svg.Piece, ...]


@dataclass(frozen=True)
class ChartFigure:
    """A chart as a page shows it: title, the numbers as a table, where its drawing is, and the two files.

    A page asks for the drawing apart (`drawing` is then None): making one takes as long as the rest of the page.
    """

    heading: str
    ident: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    signature: str
    note: str
    drawing_url: str
    svg_url: str
    csv_url: str
    drawing: Drawing | None = None

    @property
    def alternative(self) -> str:
        """The drawing in words, for whoever does not see it: its first rows, read out."""
        told = "; ".join(": ".join((row[0], ", ".join(row[1:]))) for row in self.rows[:12])
        more = f" and {len(self.rows) - 12} more rows, in the table below" if len(self.rows) > 12 else ""
        return f"{told}{more}."


def chart_of(name: str, asked: Asked) -> Chart:
    """Return a chart by its name. Raises Http404 for another name."""
    if name not in CHARTS:
        raise Http404(f"there is no chart {name}")
    return CHARTS[name](asked)


def title_of(name: str, asked: Asked, chart: Chart) -> str:
    """Return a chart's finding with the sample it is about; annotators agreed before any sample was drawn."""
    if name == "agreement":
        return f"{chart.heading[:1].upper()}{chart.heading[1:]}"
    return f"{words(asked.place.sample)}: {chart.heading}"


def figure_of(sweep: int, asked: Asked, name: str, *, drawn: bool = False) -> ChartFigure:
    """Return a chart ready for a page, with its drawing if it is to be `drawn`; equal ones are drawn once a process."""
    chart = chart_of(name, asked)
    place = asked.place
    query = urlencode(
        {"view": place.view, "sample": place.sample, "segment": asked.segment, "candidate": place.candidate}
    )
    svg_url, csv_url = (f"{reverse('results-chart', args=[sweep, name, kind])}?{query}" for kind in ("svg", "csv"))
    return ChartFigure(
        title_of(name, asked, chart),
        f"{name}-{place.sample}",
        chart.header,
        chart.rows,
        chart.signature,
        chart.note,
        f"{reverse('results-drawing', args=[sweep, name])}?{query}",
        svg_url,
        csv_url,
        drawing_of(chart) if drawn else None,
    )


def drawing_of(chart: Chart) -> Drawing:
    """Return a chart's drawing in the page's colours."""
    text = chart.draw("")
    return Drawing(svg.view_box(text), svg.pieces(text))

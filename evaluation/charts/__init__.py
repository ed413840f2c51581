"""Charts as SVG: built with altair, drawn by vl-convert, both imported only when a chart is asked for."""

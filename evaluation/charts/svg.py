"""From drawn SVG text to something a template may print with escaping on, and to a file with its colours resolved.

The page inlines a chart so that it follows the theme's CSS variables. It is not printed as trusted markup: the text is
parsed, only the elements and attributes on the lists below are kept, and the template writes each of them itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

from django.contrib.staticfiles import finders

TAGS = frozenset({"svg", "g", "path", "line", "rect", "circle", "text", "tspan"})
ATTRIBUTES = frozenset(
    (
        *("viewBox", "width", "height", "d", "transform", "opacity", "display", "fill", "fill-opacity"),
        *("stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-miterlimit"),
        *("x", "y", "dy", "x1", "x2", "y1", "y2", "cx", "cy", "r", "text-anchor", "font-size", "font-weight"),
    )
)
_NAMESPACE = re.compile(r"\{[^}]*\}")
_VARIABLE = re.compile(r"var\((--[a-z-]+)\)")
_TOKEN = re.compile(r"(--[a-z-]+):\s*(?:light-dark\((#[0-9a-f]+),[^;]*|([^;]+));")


@dataclass(frozen=True)
class Piece:
    """An opening tag (`tag`, `attributes`), a `text`, or a closing tag (`end`); the other members are empty."""

    tag: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    text: str = ""
    end: str = ""


@lru_cache(maxsize=64)
def pieces(svg: str) -> tuple[Piece, ...]:
    """Return the drawing inside the outermost <svg> as flat pieces, elements not on the list left out whole."""
    return tuple(piece for child in _root(svg) for piece in _flat(child))


def view_box(svg: str) -> str:
    """Return the drawing's viewBox."""
    return _root(svg).attrib["viewBox"]


def resolved(svg: str) -> str:
    """Return the drawing for a file: every CSS variable replaced by its colour in the light theme."""
    colours = _light_theme()
    return _VARIABLE.sub(lambda match: colours[match[1]], svg)


def _root(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own drawing, not somebody's file


def _flat(element: ElementTree.Element) -> Iterator[Piece]:
    tag = _NAMESPACE.sub("", element.tag)
    if tag not in TAGS:
        return
    kept = tuple((name, value) for name, value in element.attrib.items() if name in ATTRIBUTES)
    yield Piece(tag=tag, attributes=kept)
    if element.text and element.text.strip():
        yield Piece(text=element.text)
    for child in element:
        yield from _flat(child)
    yield Piece(end=tag)


@lru_cache(maxsize=1)
def _light_theme() -> dict[str, str]:
    """Return the custom properties of the light theme, from the one file that defines them."""
    path = finders.find("css/tokens.css")
    if not path:
        raise FileNotFoundError("static/css/tokens.css is missing: a chart's colours are defined there.")
    first_block = Path(str(path)).read_text(encoding="utf-8").split("}", 1)[0]
    return {name: light or plain for name, light, plain in _TOKEN.findall(first_block)}

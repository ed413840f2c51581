"""The row of links on every page of a sealed sweep, so that each of them is one click from the others."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from evaluation.models import Sweep

#: (words, route, whether the page is about one candidate), in the order in which they are read.
_TABS = (
    ("Results", "results", True),
    ("Fixed top-k", "results-top-k", True),
    ("Charts", "results-charts", True),
    ("Questions", "sweep-questions", True),
    ("Measures", "results-measures", True),
    ("Release", "release", False),
    ("How it ran", "sweep", False),
)


def sweep_tabs(sweep: Sweep, current: str, candidate: str = "") -> list[dict[str, Any]]:
    """Return the links of a sealed sweep; `current` is the route of the page shown, `candidate` the arm it is about."""
    query = f"?{urlencode({'candidate': candidate})}" if candidate else ""
    return [
        {
            "text": text,
            "url": reverse(name, args=[sweep.pk]) + (query if of_candidate else ""),
            "current": name == current,
        }
        for text, name, of_candidate in _TABS
    ]

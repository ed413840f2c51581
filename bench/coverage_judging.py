"""What every part of bench/coverage.py needs: seeds, scenarios of mean differences, and the product's own bounds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.coverage_model import Rates, Shape, flat
from evaluation.domain.estimation import Counted, Request, estimates
from evaluation.domain.resampling import UncertaintyRule

SEED = 20261021
REPLICATES = 599
BLOCK = 100
"""Samples that are judged together, from the same replicates."""

GATE_SAMPLES = 2000
"""Samples of each scenario in which a gate's false accepts are counted."""

MEAN_SHAPES = (
    (30, 6, False),
    (30, 10, True),
    (30, 30, False),
    (100, 10, False),
    (100, 20, True),
    (100, 60, False),
    (300, 12, True),
    (300, 20, False),
    (300, 40, True),
    (300, 100, True),
    (300, 300, False),
)

type Figures = dict[str, float]


def mean_scenarios() -> list[tuple[Shape, Rates]]:
    """Shapes and rates for differences of phase averages; the true loss is the tolerance of the gate."""
    shapes = [
        Shape(questions, clusters, 6, 0.3 if unequal else 0.5, 0.7, unequal=unequal)
        for questions, clusters, unequal in MEAN_SHAPES
    ]
    return [(one, flat(one.phases, rate, loss)) for one in shapes for rate, loss in ((0.8, 0.1), (0.95, 0.05))]


def seed_of(name: str) -> int:
    """A seed of each scenario's own, the same on every machine."""
    return SEED + sum(ord(letter) * (place + 1) for place, letter in enumerate(name))


def name_of(shape: Shape, rates: Rates) -> str:
    """A scenario's name in the figures."""
    sizes = "unequal" if shape.unequal else "equal"
    return (
        f"q{shape.questions} c{shape.clusters} {sizes} within{shape.within:g} drift{shape.drift:g} "
        f"rate{rates.baseline[0]:g} loss{-rates.mean:g}"
    )


def requests_of(shape: Shape, outcomes: np.ndarray, row: Callable[[np.ndarray], np.ndarray]) -> list[Request]:
    """The product's requests for each sample."""
    ones = np.ones(outcomes.shape[1:])
    return [Request(Counted(one, ones, shape.names, ""), row) for one in outcomes]


def bounds_of(requests: list[Request], rule: UncertaintyRule) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds, (R, K); where the product gives none, the widest there are (a gate never accepts)."""
    found = estimates(requests, rule)
    lower = np.array([[-1.0 if one.lower is None else one.lower for one in row] for row in found])
    upper = np.array([[1.0 if one.upper is None else one.upper for one in row] for row in found])
    return lower, upper

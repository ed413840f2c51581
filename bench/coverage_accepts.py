"""What a gate on a mean accepts: at a true loss equal to its tolerance, where nothing changed, and of one arm's share.

The default interval beside `studentised`, the default before it, on the same samples.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.coverage_judging import BLOCK, REPLICATES, Figures, bounds_of, mean_scenarios, name_of, requests_of, seed_of
from bench.coverage_model import Rates, Shape, draw, flat
from bench.coverage_table import NOUNS
from evaluation.domain.estimation import Request
from evaluation.domain.plan_words import IntervalMethod, Sidedness
from evaluation.domain.resampling import UncertaintyRule
from evaluation.domain.statistics import mean_of_phases

METHODS = (IntervalMethod.STUDENTISED_SCORE, IntervalMethod.STUDENTISED)
TOLERANCES = (0.05, 0.10)


def harsh_scenarios() -> list[tuple[Shape, Rates]]:
    """Shapes that are harder than those of `mean_scenarios` (stronger clusters, rarer losses), and two without any."""
    shapes = [
        (Shape(250, 10, 8, 0.2, 0.5), 0.9, 0.05),
        (Shape(400, 25, 8, 0.7, 0.5, unequal=True), 0.98, 0.03),
        (Shape(600, 16, 8, 0.7, 0.5), 0.9, 0.05),
        (Shape(500, 50, 8, 0.7, 0.5, unequal=True), 0.9, 0.05),
        (Shape(500, 50, 8, 0.7, 0.5, unequal=True), 0.98, 0.03),
        (Shape(120, 120, 1, 0.0, 0.0), 0.8, 0.1),
        (Shape(200, 200, 6, 0.0, 0.7), 0.98, 0.05),
    ]
    return [(shape, flat(shape.phases, rate, loss)) for shape, rate, loss in shapes]


def unchanged_scenarios() -> list[tuple[Shape, Rates]]:
    """The shapes of `mean_scenarios` from 10 clusters on, and one without clusters, where the arms have one rate."""
    shapes = [shape for shape, _ in mean_scenarios()[::2] if shape.clusters >= 10]
    return [
        (shape, flat(shape.phases, rate)) for shape in (*shapes, Shape(120, 120, 1, 0.0, 0.0)) for rate in (0.8, 0.95)
    ]


def measure_accepts(job: tuple[Shape, Rates, int]) -> tuple[str, Figures]:
    """Coverage at 95 % two-sided; false accept and reject of 95 % one-sided at a tolerance that is the true loss."""
    shape, rates, samples = job
    name = name_of(shape, rates)
    rng = np.random.default_rng(seed_of(name))
    counts = {method: np.zeros(3, dtype=int) for method in METHODS}
    for start in range(0, samples, BLOCK):
        requests = _averages(shape, draw(shape, rates, min(BLOCK, samples - start), rng))
        for method in METHODS:
            rule = _rule(method, start)
            low, high = bounds_of(requests, rule)
            lower, upper = bounds_of(requests, replace(rule, sidedness=Sidedness.TWO_SIDED))
            inside = (lower <= rates.mean + 1e-9) & (rates.mean - 1e-9 <= upper)
            passed, failed = low >= rates.mean - 1e-9, high < rates.mean - 1e-9
            counts[method] += [int(inside.sum()), int(passed.sum()), int(failed.sum())]
    found: Figures = {"samples": samples}
    for noun, *values in zip(NOUNS, *counts.values(), strict=True):
        found |= {f"{method} {noun}": float(value / samples) for method, value in zip(METHODS, values, strict=True)}
    return name, found


def measure_unchanged(job: tuple[Shape, Rates, int]) -> tuple[str, Figures]:
    """How often a gate accepts at each tolerance where nothing changed: what the default costs."""
    shape, rates, samples = job
    name = name_of(shape, rates)
    rng = np.random.default_rng(seed_of(name))
    counts = {(tolerance, method): 0 for tolerance in TOLERANCES for method in METHODS}
    for start in range(0, samples, BLOCK):
        requests = _averages(shape, draw(shape, rates, min(BLOCK, samples - start), rng))
        for method in METHODS:
            low, _ = bounds_of(requests, _rule(method, start))
            for tolerance in TOLERANCES:
                counts[tolerance, method] += int((low >= -tolerance - 1e-9).sum())
    shares = {f"{method}, tolerance {tolerance:g}": count / samples for (tolerance, method), count in counts.items()}
    return name.removesuffix(" loss-0"), {"samples": samples} | shares


def measure_arm(job: tuple[Shape, float, int]) -> tuple[str, Figures]:
    """As `measure_accepts`, for one arm's share against its true value: an attribution gate reads such a bound."""
    shape, rate, samples = job
    rates = flat(shape.phases, rate)
    name = name_of(shape, rates).removesuffix(" loss-0")
    rng = np.random.default_rng(seed_of(name))
    counts = {method: np.zeros(3, dtype=int) for method in METHODS}
    for start in range(0, samples, BLOCK):
        outcomes = draw(shape, rates, min(BLOCK, samples - start), rng)[:, :, 1:]
        requests = _averages(shape, outcomes)
        for method in METHODS:
            rule = _rule(method, start)
            low, high = bounds_of(requests, rule)
            lower, upper = bounds_of(requests, replace(rule, sidedness=Sidedness.TWO_SIDED))
            inside = (lower <= rate + 1e-9) & (rate - 1e-9 <= upper)
            counts[method] += [int(inside.sum()), int((low > rate + 1e-9).sum()), int((high < rate - 1e-9).sum())]
    found: Figures = {"samples": samples}
    for noun, *values in zip(("coverage", "lower bound above", "upper bound below"), *counts.values(), strict=True):
        found |= {f"{method} {noun}": float(value / samples) for method, value in zip(METHODS, values, strict=True)}
    return name, found


def _averages(shape: Shape, outcomes: np.ndarray) -> list[Request]:
    # Every question counts in every phase, so phases averaged first give the same mean at a sixth of the work.
    return requests_of(shape, outcomes.mean(axis=3, keepdims=True), mean_of_phases)


def _rule(method: IntervalMethod, start: int) -> UncertaintyRule:
    # Samples of a block share their replicates; another seed for each block keeps their chance from adding up.
    return UncertaintyRule(method, replicates=REPLICATES, seed=1 + start // BLOCK, minimum_clusters=2)

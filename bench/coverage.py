"""Do the intervals hold what they promise? Samples with known truth, judged by the product's own functions.

    python bench/coverage.py --json coverage.json            # a few minutes on two cores
    python bench/coverage.py --quick --json coverage.json    # seconds; too few samples to judge by
    python bench/coverage.py --part accepts --part gate --write    # some parts only, the other tables stay

Six things are asked over 30 to 600 questions, 6 to 472 clusters, equal and unequal, rates near 1 and phases that move
together: how often each interval of a mean difference, and of one arm, holds the truth; how often a gate accepts at a
true loss *equal to its tolerance* (and how often it rejects there); how often where nothing changed; bias and coverage
of every estimator of the worst phase; how often the permutation nulls reject where no phase is special; whether shares
and power are what they say. `bench/coverage.md` holds the tables and what follows from them; `--write` renews them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.coverage_accepts import (
    METHODS,
    harsh_scenarios,
    measure_accepts,
    measure_arm,
    measure_unchanged,
    unchanged_scenarios,
)
from bench.coverage_judging import (
    BLOCK,
    GATE_SAMPLES,
    REPLICATES,
    SEED,
    Figures,
    bounds_of,
    mean_scenarios,
    name_of,
    requests_of,
    seed_of,
)
from bench.coverage_model import Rates, Shape, cluster_sums, dip, draw, flat, wave
from bench.coverage_table import NOUNS, bands, write_page
from bench.coverage_worst import worst_differences
from evaluation.domain.bounds import effective_clusters, proportion_bounds
from evaluation.domain.permutation import permuted_extremes
from evaluation.domain.plan_words import IntervalMethod, Sidedness
from evaluation.domain.power import Assumptions, gate_power
from evaluation.domain.resampling import UncertaintyRule
from evaluation.domain.statistics import each_phase, mean_of_phases

POWER_SIZES = ((30, 30), (60, 20), (100, 30), (100, 100), (200, 60), (300, 100))
PARTS = ("means", "accepts", "harsh", "unchanged", "arms", "worst", "gate", "null", "shares", "power")
PAGE = Path(__file__).resolve().parent / "coverage.md"


def worst_scenarios() -> list[tuple[str, Shape, Rates]]:
    """What a worst-phase estimator meets; the first is the one in which the plug-in minimum was found out."""
    wide = Shape(472, 100, 16)
    small = Shape(100, 30, 16)
    control = replace(wide, wobble=(0.0, 0.3))
    return [
        ("control and window, 472 questions, no effect", Shape(472, 472, 16, 0.3, 0.0, (0.0, 0.3)), flat(16, 0.8)),
        ("control and window, 100 clusters, no effect", control, flat(16, 0.8)),
        ("two windows, no effect", wide, flat(16, 0.8)),
        ("two windows, candidate wobbles more", replace(wide, wobble=(0.05, 0.5)), flat(16, 0.8)),
        ("one phase 0.05 lower", wide, dip(16, 0.8, 0.05)),
        ("one phase 0.15 lower", wide, dip(16, 0.8, 0.15)),
        ("both vary by 0.1", wide, wave(16, 0.8, 0.1)),
        ("phases drift together (0.9)", replace(wide, drift=0.9), dip(16, 0.8, 0.05)),
        ("30 clusters, no effect", small, flat(16, 0.8)),
        ("30 clusters, candidate wobbles more", replace(small, wobble=(0.05, 0.5)), flat(16, 0.8)),
        ("30 clusters, rate 0.95, one phase 0.1 lower", small, dip(16, 0.95, 0.1)),
        ("30 unequal clusters, one phase 0.1 lower", replace(small, unequal=True), dip(16, 0.8, 0.1)),
        ("12 clusters of 30 questions, 8 phases", Shape(30, 12, 8), flat(8, 0.8)),
        ("20 clusters, rate 0.98, no effect", Shape(100, 20, 8), flat(8, 0.98)),
    ]


def measure_means(job: tuple[Shape, Rates, int]) -> tuple[str, Figures]:
    """Coverage of each method at 95 % two-sided; false accept and reject of 95 % one-sided at the tolerance."""
    shape, rates, samples = job
    name = name_of(shape, rates)
    requests = requests_of(shape, draw(shape, rates, samples, np.random.default_rng(seed_of(name))), mean_of_phases)
    found: Figures = {}
    for method in IntervalMethod:
        rule = UncertaintyRule(method, "0.95", Sidedness.TWO_SIDED, REPLICATES, 1, 2)
        lower, upper = bounds_of(requests, rule)
        inside = (lower <= rates.mean + 1e-9) & (rates.mean - 1e-9 <= upper)
        found[f"{method} coverage"] = float(inside.mean())
        found[f"{method} width"] = float((upper - lower).mean())
        lower, upper = bounds_of(requests, replace(rule, sidedness=Sidedness.ONE_SIDED))
        found[f"{method} false accept"] = float((lower >= rates.mean - 1e-9).mean())
        found[f"{method} false reject"] = float((upper < rates.mean - 1e-9).mean())
    return name, found


def measure_worst(job: tuple[str, Shape, Rates, int]) -> tuple[str, Figures]:
    """Bias, coverage (95 % two-sided) and width of each estimator of the worst-phase difference."""
    name, shape, rates, samples = job
    rng = np.random.default_rng(seed_of(name))
    distinct = (1 if not shape.wobble[0] else shape.phases, shape.phases)
    rows: dict[str, list[np.ndarray]] = {}
    for start in range(0, samples, 50):
        sums = cluster_sums(shape, draw(shape, rates, min(50, samples - start), rng))
        for estimator, (point, lower, upper) in worst_differences(
            sums, shape.sizes.astype(float), distinct, 499, 0.025, SEED + start
        ).items():
            inside = (lower <= rates.worst + 1e-9) & (rates.worst - 1e-9 <= upper)
            rows.setdefault(estimator, []).append(np.stack([point - rates.worst, inside, upper - lower], axis=1))
    found: Figures = {}
    for estimator, parts in rows.items():
        bias, inside, width = np.concatenate(parts).mean(axis=0)
        found |= {f"{estimator} bias": bias, f"{estimator} coverage": inside, f"{estimator} width": width}
    return name, found


def measure_gate(job: tuple[str, Shape, Rates, int]) -> tuple[str, Figures]:
    """The worst-phase gate (intersection–union) at tolerance 0.1: how often it accepts, how often it rejects."""
    name, shape, rates, samples = job
    rng = np.random.default_rng(seed_of(name))
    accepts = rejects = 0
    for start in range(0, samples, BLOCK):
        requests = requests_of(shape, draw(shape, rates, min(BLOCK, samples - start), rng), each_phase)
        rule = UncertaintyRule(replicates=REPLICATES, seed=1 + start // BLOCK, minimum_clusters=2)
        lower, _ = bounds_of(requests, rule)
        _, upper = bounds_of(requests, replace(rule, comparisons=shape.phases))
        accepted = (lower >= -0.1 - 1e-9).all(axis=1)
        rejected = (upper < -0.1 - 1e-9).any(axis=1)
        accepts += int(accepted.sum())
        rejects += int((rejected & ~accepted).sum())
    return name, {"samples": samples, "accepts": accepts / samples, "rejects": rejects / samples}


def gate_scenarios() -> list[tuple[str, Shape, Rates]]:
    """Losses at, above and below the tolerance of 0.1, in one phase or all."""
    shape, small = Shape(300, 100), Shape(100, 30)
    return [
        ("300 questions: loss = tolerance in one phase", shape, dip(8, 0.8, 0.1)),
        ("300 questions: loss = tolerance in all phases", shape, flat(8, 0.8, 0.1)),
        ("300 questions: no loss", shape, flat(8, 0.8)),
        ("300 questions: loss 0.2 in one phase", shape, dip(8, 0.8, 0.2)),
        ("100 questions: loss = tolerance in one phase", small, dip(8, 0.8, 0.1)),
        ("100 questions: no loss", small, flat(8, 0.8)),
    ]


def measure_null(job: tuple[str, Shape, int]) -> tuple[str, Figures]:
    """How often the null of the worst phase, and of the spread, is rejected at 5 % where every phase has one rate."""
    name, shape, samples = job
    outcomes = draw(shape, flat(shape.phases, 0.8), samples, np.random.default_rng(seed_of(name)))[:, :, 1]
    member = np.zeros((shape.clusters, shape.questions))
    member[shape.codes, np.arange(shape.questions)] = 1
    found: Figures = {}
    for unit, sums, sizes in (
        ("per cluster", np.einsum("gq,rqp->rgp", member, outcomes, optimize=True), shape.sizes),
        ("per question", outcomes, np.ones(shape.questions)),
    ):
        worst = spread = 0
        totals = np.broadcast_to(sizes[:, None].astype(float), sums.shape[1:])
        for number, one in enumerate(sums):
            shares = one.sum(axis=0) / shape.questions
            worsts, spreads = permuted_extremes(one, totals, 199, number)
            worst += (1 + (worsts <= shares.min() + 1e-12).sum()) / 200 <= 0.05
            spread += (1 + (spreads >= np.ptp(shares) - 1e-12).sum()) / 200 <= 0.05
        found |= {f"worst phase, {unit}": worst / samples, f"spread, {unit}": spread / samples}
    return name, found


def null_scenarios() -> list[tuple[str, Shape]]:
    """Documents whose phases move together, more and less."""
    return [
        (
            f"{questions} questions, {clusters} clusters, within {within:g}, drift {drift:g}",
            Shape(questions, clusters, 8, within, drift),
        )
        for questions, clusters in ((100, 20), (300, 30))
        for within, drift in ((0.3, 0.0), (0.7, 0.0), (0.7, 0.8))
    ]


def measure_shares(job: tuple[Shape, float, int]) -> tuple[str, Figures]:
    """Coverage of the exact bounds of a single share on effective clusters, and without minding clusters."""
    shape, rate, samples = job
    name = f"share {rate:g}, {shape.questions} questions, {shape.clusters} clusters, within {shape.within:g}"
    outcomes = draw(replace(shape, phases=1), flat(1, rate), samples, np.random.default_rng(seed_of(name)))
    trials = effective_clusters(shape.sizes.tolist())
    found: Figures = {}
    for unit, count in (("effective clusters", trials), ("questions", float(shape.questions))):
        held = 0
        for share in outcomes[:, :, 0, 0].mean(axis=1):
            bounds = proportion_bounds(min(share, 1.0) * count, count, 0.025)
            held += bounds.lower <= rate <= bounds.upper
        found[f"by {unit}"] = held / samples
    return name, found


def measure_power(job: tuple[Shape, int]) -> tuple[str, Figures]:
    """The simulated chance that a mean gate at tolerance 0.1 accepts where nothing changed, beside the formula's."""
    shape, samples = job
    name = f"{shape.questions} questions, {shape.clusters} clusters, within {shape.within:g}"
    outcomes = draw(shape, flat(shape.phases, 0.8), samples, np.random.default_rng(seed_of(name)))
    requests = requests_of(shape, outcomes, mean_of_phases)
    lower, _ = bounds_of(requests, UncertaintyRule(replicates=REPLICATES, seed=1, minimum_clusters=2))
    differences = (outcomes[:, :, 1] - outcomes[:, :, 0]).mean(axis=2)
    size = shape.questions / shape.clusters
    # What the formula asks for, as this model has it: how many questions differ, how much, and how alike in a cluster.
    differs = np.abs(differences) > 1e-9
    square = float((differences**2).mean())
    sums = np.stack([differences[:, shape.codes == code].sum(axis=1) for code in range(shape.clusters)], axis=1)
    effect = float((sums**2).mean() / (size * square))
    correlation = min(max((effect - 1) / (size - 1), 0.0), 1.0) if size > 1 else 0.0
    step = float(np.sqrt((differences[differs] ** 2).mean()))
    assumed = Assumptions(0.1, float(differs.mean()), step, 0.0, correlation, size)
    return name, {
        "simulated": float((lower[:, 0] >= -0.1).mean()),
        "formula": gate_power(assumed, shape.questions),
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure everything, print it, and write figures, versions and machine; returns 0."""
    parser = argparse.ArgumentParser(description="Measure what intervals, gates and nulls hold of what they promise.")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="few samples of a few scenarios: does it run?")
    parser.add_argument("--part", action="append", help=f"{', '.join(PARTS)} (all)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--write", action="store_true", help="renew the tables in bench/coverage.md")
    options = parser.parse_args(arguments)
    many, some, most = (40, 25, 25) if options.quick else (400, 300, GATE_SAMPLES)
    half, step = most // 2, 12 if options.quick else 1
    parts: dict[str, tuple[Callable[..., tuple[str, Figures]], list[tuple[object, ...]]]] = {
        "means": (measure_means, [(*one, many) for one in mean_scenarios()[::step]]),
        "accepts": (measure_accepts, [(*one, most) for one in mean_scenarios()[::step]]),
        "harsh": (measure_accepts, [(*one, most) for one in harsh_scenarios()[::step]]),
        "unchanged": (measure_unchanged, [(*one, many) for one in unchanged_scenarios()[::step]]),
        "arms": (measure_arm, [(shape, rates.baseline[0], half) for shape, rates in unchanged_scenarios()[:-2:step]]),
        "worst": (measure_worst, [(*one, some) for one in worst_scenarios()[::step]]),
        "gate": (measure_gate, [(*one, most) for one in gate_scenarios()]),
        "null": (measure_null, [(*one, some) for one in null_scenarios()]),
        "shares": (
            measure_shares,
            [
                (Shape(questions, clusters, 1, within), rate, many)
                for questions, clusters in ((30, 30), (100, 20), (300, 100))
                for within in (0.3, 0.7)
                for rate in (0.5, 0.9, 0.98)
            ],
        ),
        "power": (
            measure_power,
            [(Shape(questions, clusters, within=0.3), some) for questions, clusters in POWER_SIZES],
        ),
    }
    wanted = options.part or list(PARTS)
    if unknown := sorted(set(wanted) - set(PARTS)):
        parser.error(f"--part: no part is named {', '.join(unknown)}; there are {', '.join(PARTS)}")
    began = time.perf_counter()
    results: dict[str, dict[str, Figures]] = {}
    with ProcessPoolExecutor(options.workers) as pool:
        for part, (function, jobs) in parts.items():
            if part not in wanted:
                continue
            results[part] = {}
            for name, figures in pool.map(function, jobs):
                results[part][name] = figures
                shown = ", ".join(f"{key} {value:.3f}" for key, value in figures.items())
                print(f"{part:6} {name}: {shown}", flush=True)
    for name, row in results.get("accepts", {}).items():
        # More samples say more about these methods than the comparison with the others does.
        if name in results.get("means", {}):
            keys = [f"{method} {noun}" for method in METHODS for noun in NOUNS]
            results["means"][name] |= {key: row[key] for key in keys}
    figures = {
        f"{part} / {name} / {key}": round(float(value), 4)
        for part, scenarios in results.items()
        for name, row in scenarios.items()
        for key, value in row.items()
    }
    figures |= {f"band / {key}": round(value, 4) for key, value in bands(results.get("means", {})).items()}
    figures["seconds"] = round(time.perf_counter() - began, 1)
    if options.json:
        packages = {name: version(name) for name in ("numpy", "scipy")}
        machine = {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
        options.json.write_text(json.dumps({"figures": figures, "versions": packages, "machine": machine}, indent=1))
    if options.write:
        write_page(PAGE, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())

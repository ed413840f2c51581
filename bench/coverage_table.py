"""Tables of bench/coverage.md, and the bands of cluster numbers by which the product warns."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from evaluation.domain.bounds import proportion_bounds

BANDS = ((5, 9), (10, 19), (20, 49), (50, 99), (100, 10**9))
"""Numbers of clusters that are read together."""

METHODS = ("studentised-score", "studentised", "percentile", "basic", "bca")

NOUNS = ("coverage", "false accept", "false reject")

type Rows = dict[str, dict[str, float]]

type Results = dict[str, Rows]


def band_name(band: tuple[int, int]) -> str:
    """Return "10 to 19" or "100 or more"."""
    return f"{band[0]} or more" if band[1] >= 10**9 else f"{band[0]} to {band[1]}"


def bands(means: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return, per method and band, the lowest coverage and the highest rate of false accepts over its scenarios."""
    found: dict[str, float] = {}
    for band in BANDS:
        inside = [row for name, row in means.items() if band[0] <= int(re.findall(r" c(\d+) ", name)[0]) <= band[1]]
        if not inside:
            continue
        for method in METHODS:
            for noun, choose in (("coverage", min), ("false accept", max), ("false reject", max)):
                found[f"{method}, {band_name(band)}: {noun}"] = choose(row[f"{method} {noun}"] for row in inside)
    return found


def write_page(page: Path, results: Results) -> None:
    """Replace what stands between the page's marks by new tables of the parts that were measured."""
    text = page.read_text(encoding="utf-8")
    tables: tuple[tuple[str, str, Callable[[Rows], str]], ...] = (
        ("bands", "means", _bands),
        ("accepts", "accepts", _rates),
        ("harsh", "harsh", _rates),
        ("unchanged", "unchanged", _rates),
        ("arms", "arms", _rates),
        ("worst", "worst", _worst),
        ("gate", "gate", _rates),
        ("null", "null", _plain),
        ("shares", "shares", _plain),
        ("power", "power", _plain),
    )
    for mark, part, table in tables:
        if part not in results:
            continue
        begin, end = f"<!-- {mark} -->", f"<!-- end {mark} -->"
        before, rest = text.split(begin)
        text = before + begin + "\n" + table(results[part]) + end + rest.split(end)[1]
    page.write_text(text, encoding="utf-8")


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _bands(means: dict[str, dict[str, float]]) -> str:
    found = bands(means)
    lines = [_row(["clusters", *METHODS]), _row(["---"] * (len(METHODS) + 1))]
    for band in BANDS:
        name = band_name(band)
        if f"{METHODS[0]}, {name}: coverage" not in found:
            continue
        cells = [
            " / ".join(
                f"{found[f'{method}, {name}: {noun}']:.3f}" for noun in ("coverage", "false accept", "false reject")
            )
            for method in METHODS
        ]
        lines.append(_row([name, *cells]))
    return "".join(lines)


def _worst(worst: dict[str, dict[str, float]]) -> str:
    estimators = [key.removesuffix(" bias") for key in next(iter(worst.values())) if key.endswith(" bias")]
    lines = [_row(["scenario", *estimators]), _row(["---"] * (len(estimators) + 1))]
    for name, row in worst.items():
        cells = [
            f"{row[f'{one} bias']:+.3f} / {row[f'{one} coverage']:.3f} / {row[f'{one} width']:.2f}"
            for one in estimators
        ]
        lines.append(_row([name, *cells]))
    lowest = [f"**{min(row[f'{one} coverage'] for row in worst.values()):.3f}**" for one in estimators]
    lines.append(_row(["lowest coverage", *lowest]))
    return "".join(lines)


def _plain(rows: Rows) -> str:
    keys = list(next(iter(rows.values())))
    lines = [_row(["scenario", *keys]), _row(["---"] * (len(keys) + 1))]
    lines += [_row([name, *(f"{row[key]:.3f}" for key in keys)]) for name, row in rows.items()]
    return "".join(lines)


def _rates(rows: Rows) -> str:
    """Set each rate with its exact binomial 95 % interval over the samples."""
    keys = [key for key in next(iter(rows.values())) if key != "samples"]
    lines = [_row(["scenario", *keys]), _row(["---"] * (len(keys) + 1))]
    for name, row in rows.items():
        samples = row["samples"]
        found = [proportion_bounds(round(row[key] * samples), samples, 0.025) for key in keys]
        shown = [f"{one.events / samples:.3f} ({one.lower:.3f}–{one.upper:.3f})" for one in found]
        lines.append(_row([name, *shown]))
    return "".join(lines)

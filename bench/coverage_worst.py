"""Estimators of a worst-phase difference side by side, each as (point, lower, upper) per sample.

`intersection` is the product's own function; the others are what it was chosen among.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.stats import norm, t

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evaluation.domain.bounds import effective_clusters
from evaluation.domain.worst_phase import intersection_bounds

type Interval = tuple[np.ndarray, np.ndarray, np.ndarray]

SPLITS = 10
"""Random halvings of the clusters that the cross-fitted estimator averages."""


def worst_differences(
    sums: np.ndarray, sizes: np.ndarray, distinct: tuple[int, int], replicates: int, alpha: float, seed: int
) -> dict[str, Interval]:
    """Return every estimator's (R,) points and bounds from cluster sums (R, G, 2, P); `alpha` is the error per bound.

    `distinct` counts the phases of baseline and candidate (1: an unshifted control).
    """
    rng = np.random.default_rng(seed)
    samples, groups = sums.shape[:2]
    arms = [sums[:, :, arm, : distinct[arm]] for arm in (0, 1)]
    total = sizes.sum()
    points = [arm.sum(axis=1) / total for arm in arms]
    weights = rng.multinomial(groups, np.full(groups, 1 / groups), size=replicates).astype(float)
    drawn = [_drawn(weights, arm, sizes) for arm in arms]
    plug_in = points[1].min(axis=1) - points[0].min(axis=1)
    minima = drawn[1].min(axis=2) - drawn[0].min(axis=2)
    low, high = np.quantile(minima, [alpha, 1 - alpha], axis=0)
    bias = minima.mean(axis=0) - plug_in
    error = minima.std(axis=0, ddof=1) * norm.ppf(1 - alpha)
    found: dict[str, Interval] = {
        "plug-in, percentile": (plug_in, low, high),
        "plug-in, basic": (plug_in, 2 * plug_in - high, 2 * plug_in - low),
        "bias-corrected, normal": (plug_in - bias, plug_in - bias - error, plug_in - bias + error),
        "bias-corrected, shifted percentile": (plug_in - bias, low - 2 * bias, high - 2 * bias),
        "cross-fitted": _cross_fitted(arms, sizes, alpha, rng),
        "m out of n": _m_out_of_n(arms, sizes, plug_in, replicates, alpha, rng),
    }
    trials = effective_clusters(sizes.tolist())
    bounds = [
        intersection_bounds((points[1][one], drawn[1][:, one].T), (points[0][one], drawn[0][:, one].T), alpha, trials)
        for one in range(samples)
    ]
    found["intersection"] = (
        np.array([one.point for one in bounds]),
        np.array([one.lower for one in bounds]),
        np.array([one.upper for one in bounds]),
    )
    return found


def _drawn(weights: np.ndarray, arm: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the replicates of one arm's phases, (B, R, P)."""
    return np.einsum("bg,rgp->brp", weights, arm, optimize=True) / (weights @ sizes)[:, None, None]


def _m_out_of_n(
    arms: list[np.ndarray],
    sizes: np.ndarray,
    plug_in: np.ndarray,
    replicates: int,
    alpha: float,
    rng: np.random.Generator,
) -> Interval:
    groups = len(sizes)
    fewer = max(3, round(groups ** (2 / 3)))
    weights = rng.multinomial(fewer, np.full(groups, 1 / groups), size=replicates).astype(float)
    drawn = [_drawn(weights, arm, sizes) for arm in arms]
    moved = np.sqrt(fewer / groups) * (drawn[1].min(axis=2) - drawn[0].min(axis=2) - plug_in)
    low, high = np.quantile(moved, [alpha, 1 - alpha], axis=0)
    return plug_in, plug_in - high, plug_in - low


def _cross_fitted(arms: list[np.ndarray], sizes: np.ndarray, alpha: float, rng: np.random.Generator) -> Interval:
    """Choose the worst phase on one half of the clusters, estimate it on the other, both ways, over random halvings."""
    samples, groups = arms[0].shape[:2]
    points, variances = np.zeros(samples), np.zeros(samples)
    for _ in range(SPLITS):
        half = np.zeros(groups, dtype=bool)
        half[rng.permutation(groups)[: groups // 2]] = True
        for chosen, read in ((half, ~half), (~half, half)):
            sums = np.zeros((samples, int(read.sum())))
            for arm, sign in zip(arms, (-1, 1), strict=True):
                worst = arm[:, chosen].sum(axis=1).argmin(axis=1)
                sums += sign * np.take_along_axis(arm[:, read], worst[:, None, None], axis=2)[..., 0]
            count = sizes[read].sum()
            value = sums.sum(axis=1) / count
            residuals = (sums - value[:, None] * sizes[read]) / count
            points += value / (2 * SPLITS)
            variances += (residuals**2).sum(axis=1) / 4 * groups / (groups - 2) / SPLITS
    reach = t.ppf(1 - alpha, groups - 1) * np.sqrt(variances)
    return points, points - reach, points + reach

"""Samples with known truth: clusters, correlated phases, paired arms.

Every outcome is 1 where a latent normal variable lies below the threshold of its arm's and phase's rate, so the rates
are exact whatever the correlations are. The latent variable is made of a level (shared by the arms, which is what
pairing is about), a part of the arm's own, and a part that changes with the phase as an AR(1) series; each of them is
mixed of a cluster's and a question's draw, which makes questions of a cluster move together in level and in phase.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri


@dataclass(frozen=True)
class Shape:
    """A scenario. `unequal` clusters have sizes falling like rank^-0.7; `within` is the latent correlation in clusters.

    `wobble` (baseline, candidate) is the share of latent variance that changes with the phase (0: an unshifted
    control), `drift` the correlation of neighbouring phases.
    """

    questions: int
    clusters: int
    phases: int = 8
    within: float = 0.3
    drift: float = 0.5
    wobble: tuple[float, float] = (0.3, 0.3)
    unequal: bool = False
    own: float = 0.1

    @property
    def sizes(self) -> np.ndarray:
        """Questions per cluster, (G,)."""
        if not self.unequal:
            return np.bincount(np.arange(self.questions) % self.clusters, minlength=self.clusters)
        weights = np.arange(1, self.clusters + 1) ** -0.7
        sizes = np.maximum(1, np.floor(weights / weights.sum() * self.questions)).astype(int)
        place = 0
        while sizes.sum() != self.questions:
            step = 1 if sizes.sum() < self.questions else -1
            if step > 0 or sizes[place % self.clusters] > 1:
                sizes[place % self.clusters] += step
            place += 1
        return sizes

    @property
    def codes(self) -> np.ndarray:
        """Each question's cluster, (Q,)."""
        return np.repeat(np.arange(self.clusters), self.sizes)

    @property
    def names(self) -> np.ndarray:
        """Each question's cluster by name, (Q,)."""
        return np.array([f"d{code:05d}" for code in self.codes])


@dataclass(frozen=True)
class Rates:
    """True rates per phase of both arms."""

    baseline: np.ndarray
    candidate: np.ndarray
    label: str = field(default="")

    @property
    def mean(self) -> float:
        """True difference of phase averages."""
        return float(self.candidate.mean() - self.baseline.mean())

    @property
    def worst(self) -> float:
        """True difference of worst phases."""
        return float(self.candidate.min() - self.baseline.min())


def flat(phases: int, baseline: float, loss: float = 0.0) -> Rates:
    """Equal rates in every phase; the candidate loses `loss` in each."""
    return Rates(np.full(phases, baseline), np.full(phases, baseline - loss), "flat")


def dip(phases: int, baseline: float, depth: float) -> Rates:
    """The candidate is worse in one phase only."""
    candidate = np.full(phases, baseline)
    candidate[-1] -= depth
    return Rates(np.full(phases, baseline), candidate, f"one phase {depth:g} lower")


def wave(phases: int, baseline: float, depth: float) -> Rates:
    """Both arms share a smooth course over phases."""
    course = baseline - depth * np.abs(np.sin(np.pi * np.arange(phases) / phases))
    return Rates(course, course.copy(), f"both arms vary by {depth:g}")


def draw(shape: Shape, rates: Rates, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Return `samples` samples of outcomes, (R, Q, 2, P), of 0.0 and 1.0."""
    codes, groups = shape.codes, shape.clusters
    size = (samples, shape.questions)

    def mixed(own: np.ndarray, cluster: np.ndarray) -> np.ndarray:
        return np.sqrt(shape.within) * cluster[:, codes] + np.sqrt(1 - shape.within) * own

    def level() -> np.ndarray:
        return mixed(rng.standard_normal(size), rng.standard_normal((samples, groups)))

    def series(count: int) -> np.ndarray:
        steps = rng.standard_normal((samples, count, shape.phases))
        for phase in range(1, shape.phases):
            steps[..., phase] = shape.drift * steps[..., phase - 1] + np.sqrt(1 - shape.drift**2) * steps[..., phase]
        return steps

    shared = level()
    out = np.empty((samples, shape.questions, 2, shape.phases))
    for arm, (rate, wobble) in enumerate(zip((rates.baseline, rates.candidate), shape.wobble, strict=True)):
        latent = (np.sqrt(1 - wobble - shape.own) * shared + np.sqrt(shape.own) * level())[..., None]
        if wobble:
            latent = latent + np.sqrt(wobble) * mixed(series(shape.questions), series(groups))
        out[:, :, arm] = latent < ndtri(rate)
    return out


def cluster_sums(shape: Shape, outcomes: np.ndarray) -> np.ndarray:
    """Return the sums over clusters, (R, G, 2, P)."""
    member = np.zeros((shape.clusters, shape.questions))
    member[shape.codes, np.arange(shape.questions)] = 1
    return np.einsum("gq,rqap->rgap", member, outcomes, optimize=True)

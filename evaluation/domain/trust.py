"""Where intervals may be trusted: what bench/coverage.py measured, so that a result can say so beside its number."""

from __future__ import annotations

from evaluation.domain.resampling import UncertaintyRule


def caution(rule: UncertaintyRule, clusters: int) -> str:
    """Return a warning."""
    return ""

"""Recall, success, reciprocal rank and nDCG over ranked chunks: diagnostics that stand beside support, never for it.

A run lists chunks best first, per question; judgements grade chunks, per question (0: not relevant). Definitions are
those of trec_eval, so that its users meet their own numbers:

* recall@k: relevant chunks among the first k ÷ relevant chunks (Buckley and Voorhees, trec_eval, `recall`);
* success@k: 1 if any of the first k is relevant, else 0 (trec_eval, `success`);
* reciprocal rank: 1 ÷ rank of the first relevant chunk, 0 without one; @k looks at the first k (Voorhees, TREC-8);
* nDCG@k: Σ grade ÷ log2(rank + 1) over the first k, divided by the same sum of the best possible order (Järvelin and
  Kekäläinen 2002, with linear gain, as trec_eval's `ndcg_cut`).

Every judged question is scored. A question the run does not hold, or for which no chunk is relevant (its span is cut
everywhere), scores 0: what the index cannot find is a miss, not a question to be left out. Chunks overlap where an arm
overlaps, so several chunks can hold one span, and recall asks for all of them: figures of arms with different overlap
are not comparable by recall, which is why support is counted over unions of intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log2

type Run = Mapping[str, Sequence[str]]
"""Question id → chunk ids, best first."""

type Judgements = Mapping[str, Mapping[str, int]]
"""Question id → chunk id → grade."""


@dataclass(frozen=True)
class RankFigures:
    """Means over all judged questions; `denominator` is their number."""

    depth: int
    denominator: int
    recall: float
    success: float
    reciprocal_rank: float
    ndcg: float


def recall_at(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Share of the relevant chunks among the first `k`; 0 when none is relevant."""
    relevant = {chunk for chunk, grade in grades.items() if grade > 0}
    return len(relevant.intersection(ranked[:k])) / len(relevant) if relevant else 0.0


def success_at(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """1 if a relevant chunk is among the first `k`, else 0."""
    return float(any(grades.get(chunk, 0) > 0 for chunk in ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, int], k: int | None = None) -> float:
    """1 ÷ rank of the first relevant chunk among the first `k` (None: all), 0 without one."""
    for rank, chunk in enumerate(ranked[:k], 1):
        if grades.get(chunk, 0) > 0:
            return 1.0 / rank
    return 0.0


def ndcg_at(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Discounted cumulative gain of the first `k` by that of the best order; 0 when nothing is relevant."""
    best = _gain(sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k])
    return _gain([max(grades.get(chunk, 0), 0) for chunk in ranked[:k]]) / best if best else 0.0


def rank_figures(run: Run, judgements: Judgements, k: int) -> RankFigures:
    """Return the means at depth `k` over all judged questions. Raises ValueError for `k` below 1 or no question."""
    if k < 1:
        raise ValueError(f"rank figures need a depth of at least 1, got {k}")
    if not judgements:
        raise ValueError("rank figures need at least one judged question; the mean of none is undefined")
    pairs = [(run.get(question, ()), grades) for question, grades in sorted(judgements.items())]
    count = len(pairs)
    return RankFigures(
        k,
        count,
        fsum(recall_at(ranked, grades, k) for ranked, grades in pairs) / count,
        fsum(success_at(ranked, grades, k) for ranked, grades in pairs) / count,
        fsum(reciprocal_rank(ranked, grades, k) for ranked, grades in pairs) / count,
        fsum(ndcg_at(ranked, grades, k) for ranked, grades in pairs) / count,
    )


def _gain(grades: Sequence[int]) -> float:
    return fsum(grade / log2(rank + 1) for rank, grade in enumerate(grades, 1))

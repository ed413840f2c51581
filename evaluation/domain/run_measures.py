"""What runs came to beside support: spans reached, evidence wasted, ranks needed, confidence without evidence.

All are sums over completed runs, so that a page can print numerator and denominator; the shares follow from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

from evaluation.domain.metrics import Run
from evaluation.domain.outcomes import Stage

#: Scores are kept as integers in units of 1e-6.
SCORE_UNIT = 1_000_000


@dataclass(frozen=True)
class RunMeasures:
    """Sums over the completed runs of a selection, in the plan's tokenizer's tokens and in bytes.

    `supported` counts runs whose reader has a sufficient set; of them `whole`, `partial` and `nothing` say how much of
    the best set stood in the prompt, and `complete_at_k`, `complete_beyond_k` and `never_complete` where in the ranking
    it became complete. `median_rank` and `last_rank` are over the ranks at which it did (None without any).
    `unsupported` counts runs without such a set: `confident` of them had a hit with a score above zero, `median_score`
    and `top_score` are in units of 1e-6, `asserted` were answered all the same.
    """

    runs: int
    supported: int
    whole: int
    partial: int
    nothing: int
    needed_spans: int
    covered_spans: int
    spans_at_threshold: int
    severed_spans: int
    needed_bytes: int
    covered_bytes: int
    relevant_bytes: int
    shown_bytes: int
    evidence_tokens: int
    unique_tokens: int
    repeated_tokens: int
    duplicate_pairs: int
    compared_pairs: int
    structural_units: int
    complete_at_k: int
    complete_beyond_k: int
    never_complete: int
    median_rank: int | None
    last_rank: int | None
    unsupported: int
    confident: int
    asserted: int
    median_score: int | None
    top_score: int | None
    denials: int
    fallbacks: int
    outdated: int
    foreign: int


def run_measures(runs: Sequence[Run], k: int) -> RunMeasures:
    """Return the sums over the completed ones of `runs`; `k` is the plan's top-k, read on the retriever's own ranks.

    Raises ValueError for a `k` below 1.
    """
    if k < 1:
        raise ValueError(f"k counts ranks and is at least 1, got {k}")
    done = [outcome for _, outcome in runs if not outcome.failed]
    supported = [one for one in done if one.needed_bytes]
    unsupported = [one for one in done if not one.needed_bytes]
    ranks = [one.rank_of_completion for one in supported if one.rank_of_completion]
    scores = [one.top_score for one in unsupported]
    whole = sum(one.complete.get(Stage.PACKED, False) for one in supported)
    nothing = sum(not one.covered_bytes for one in supported)

    def total(name: str) -> int:
        return sum(getattr(one, name) for one in done)

    def of_supported(name: str) -> int:
        return sum(getattr(one, name) for one in supported)

    return RunMeasures(
        runs=len(done),
        supported=len(supported),
        whole=whole,
        partial=len(supported) - whole - nothing,
        nothing=nothing,
        needed_spans=of_supported("needed_spans"),
        covered_spans=of_supported("covered_spans"),
        spans_at_threshold=of_supported("spans_at_threshold"),
        severed_spans=of_supported("severed_spans"),
        needed_bytes=of_supported("needed_bytes"),
        covered_bytes=of_supported("covered_bytes"),
        # An unanswerable question has no relevant byte, so precision is read over the others.
        relevant_bytes=of_supported("relevant_bytes"),
        shown_bytes=of_supported("shown_bytes"),
        evidence_tokens=total("evidence_tokens"),
        unique_tokens=total("unique_tokens"),
        repeated_tokens=total("repeated_tokens"),
        duplicate_pairs=total("duplicate_pairs"),
        compared_pairs=total("compared_pairs"),
        structural_units=total("structural_units"),
        complete_at_k=sum(rank <= k for rank in ranks),
        complete_beyond_k=sum(rank > k for rank in ranks),
        never_complete=len(supported) - len(ranks),
        median_rank=median_low(ranks) if ranks else None,
        last_rank=max(ranks, default=None),
        unsupported=len(unsupported),
        confident=sum(score > 0 for score in scores),
        asserted=sum(one.answered for one in unsupported),
        median_score=median_low(scores) if scores else None,
        top_score=max(scores, default=None),
        denials=total("denials"),
        fallbacks=total("fallbacks"),
        outdated=total("outdated"),
        foreign=total("foreign"),
    )

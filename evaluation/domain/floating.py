"""Names in a plan that do not pin what they stand for: the same plan may run against something else tomorrow.

Tokenizers and dumps are pinned by digest and packages by version; a system over HTTP says nothing about itself.
"""

from __future__ import annotations

from evaluation.domain.plan import Plan
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.plan_words import FOREIGN_RETRIEVER, FUSING_RETRIEVER


def floating_of(plan: Plan, arm: Arm) -> tuple[str, ...]:
    """Return the addresses `arm` asks, sorted; empty where everything it uses is pinned."""
    retrieval = plan.retrieval_of(arm)
    asked = retrieval.fuse if retrieval.retriever == FUSING_RETRIEVER else (retrieval.retriever,)
    if FOREIGN_RETRIEVER not in asked:
        return ()
    return tuple(sorted({address for address in (retrieval.endpoint, retrieval.reindex_hook) if address}))


def floating_names(plan: Plan) -> tuple[str, ...]:
    """Return what floats in any arm, sorted."""
    return tuple(sorted({name for arm in plan.arms for name in floating_of(plan, arm)}))

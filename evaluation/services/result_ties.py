"""Ties that straddle k: how often the tie rule alone decides which chunks are among the first k, and whose support
depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evaluation.models import Sweep
from evaluation.services.outcome_table import OutcomeTable
from evaluation.services.population import block_of
from evaluation.services.result_keys import RETRIEVAL
from evaluation.services.result_rows import primary_view
from ledger.selectors.records import results


def tie_rows(sweep: Sweep, table: OutcomeTable) -> Iterator[dict[str, Any]]:
    """Yield, per arm and distinct shared phase, how many answerable questions of the population were asked in the first
    repeat, of how many the ranks k and k + 1 tie, and for how many of these support becomes complete at a rank of the
    tied group: another order of equal scores could complete it within k, or beyond."""
    view, answerable = (
        primary_view(table.plan, table.views),
        {one.question_id for one in table.questions if one.answerable},
    )
    tied: dict[tuple[str, int], dict[str, tuple[int, int]]] = {}
    for row in results(scopes=[sweep.scope], kinds=[RETRIEVAL]).iterator(chunk_size=20):
        _, arm, phase, block, repeat, _ = row.key.split("/")
        if int(repeat):
            continue
        questions = block_of(table.asked, int(block), sweep.block_size)
        found = {questions[at].question_id: (first, last) for at, first, last in row.value["ties_at_k"]}
        tied.setdefault((arm, int(phase)), {}).update(found)
    for arm_value in table.plan.arms:
        shared = table.phases[arm_value.name].shared
        for number in sorted(set(shared.values())):
            place = (arm_value.name, number)
            outcomes = table.cells.get((*place, view, 0), {})
            asked = [outcomes[one] for one in sorted(answerable) if one in outcomes]
            ranges = [(one, tied.get(place, {}).get(one.question_id)) for one in asked]
            yield {
                "arm": arm_value.name,
                "phase": number,
                "labels": [label for label, cut in shared.items() if cut == number],
                "k": table.plan.budget.top_k,
                "asked": len(asked),
                "tied": sum(ranks is not None for _, ranks in ranges),
                "decisive": sum(
                    ranks is not None and ranks[0] <= one.rank_of_completion <= ranks[1] for one, ranks in ranges
                ),
            }

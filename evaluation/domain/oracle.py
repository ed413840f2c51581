"""Oracle prompts: the adjudicated evidence as the only evidence.

For each question the cheapest sufficient set its reader may read (by packed tokens; the set is named in the record)
is packed alone. The *production* oracle keeps the production ceiling; a *diagnostic* one has more room, is named
apart, and shows nothing about deployable performance. A question without a readable set is asked with no evidence at
all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.bm25 import Ranking
from evaluation.domain.cell import Retrieved, ViewResult, view_result
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.measure import Meter, Readers, smallest_set
from evaluation.domain.outcomes import QuestionOutcome
from evaluation.domain.packing import Packer
from evaluation.domain.payloads import oracle_payload
from evaluation.domain.pipeline import Payload, PipelineSettings, Policies, PreparedCorpus, Unit

PRODUCTION = "oracle"
DIAGNOSTIC = "oracle-roomy"


@dataclass(frozen=True)
class OracleResult:
    """Outcomes per view (`oracle:N`, `oracle-roomy:M`) and one record per view."""

    outcomes: Mapping[str, tuple[QuestionOutcome, ...]]
    payloads: tuple[tuple[str, Payload], ...]


def run_oracle(
    prepared: PreparedCorpus,
    questions: Sequence[FrozenQuestion],
    settings: PipelineSettings,
    policies: Policies,
    diagnostic_ceiling: int | None = None,
) -> OracleResult:
    """Ask each question from its smallest sufficient set, under the primary ceiling and, if given, a wider one.

    Raises `ValueError` for a diagnostic ceiling that is not above the production one.
    """
    ceiling = settings.budget.primary_evidence_tokens
    if diagnostic_ceiling is not None and diagnostic_ceiling <= ceiling:
        raise ValueError(
            f"the diagnostic oracle needs more room than the production ceiling of {ceiling} tokens, "
            f"got {diagnostic_ceiling}"
        )
    packer = Packer(prepared, settings.budget)
    readers = Readers(prepared)
    asked = [readers.asked(question) for question in questions]
    smallest = [smallest_set(packer, one) for one in asked]
    stages = [_given(units) for units, _, _ in smallest]
    outcomes: dict[str, tuple[QuestionOutcome, ...]] = {}
    payloads: list[tuple[str, Payload]] = []
    rooms = [(PRODUCTION, ceiling)] + ([(DIAGNOSTIC, diagnostic_ceiling)] if diagnostic_ceiling else [])
    for kind, room in rooms:
        view: ViewResult = view_result(
            f"{kind}:{room}",
            packer,
            None,
            settings,
            policies,
            asked,
            [Meter(one) for one in asked],
            stages,
            packer.under_ceiling([units for units, _, _ in smallest], room),
            [index < 0 or size <= room for _, size, index in smallest],
        )
        outcomes[view.name] = view.outcomes
        chosen = [index for _, _, index in smallest]
        payloads.append(("oracle", oracle_payload(prepared, view, [q.question_id for q in questions], chosen)))
    return OracleResult(outcomes, tuple(payloads))


def _given(units: tuple[Unit, ...]) -> Retrieved:
    """The set as if every stage had handed it on."""
    nothing = np.zeros(0, dtype=np.int64)
    return Retrieved(Ranking(nothing, nothing, 0), units, units, units, units, units, rechecked=0)

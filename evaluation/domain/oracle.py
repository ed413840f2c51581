"""Oracle prompts: the adjudicated evidence as the only evidence.

For each question the cheapest sufficient set its reader may read (by packed tokens; the set is named in the record)
is packed alone. The *production* oracle keeps the production ceiling; a *diagnostic* one has more room, is named
apart, and shows nothing about deployable performance. A question without a readable set is asked with no evidence at
all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.answers import Answered, answers
from evaluation.domain.evidence import LazyEvidence
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.measure import Meter, nothing_counted, view_columns
from evaluation.domain.outcome_payload import OutcomeColumns, ViewColumns
from evaluation.domain.outcomes import STAGES, QuestionOutcome, Stage
from evaluation.domain.packed import Packed
from evaluation.domain.packing import Packer, Ready
from evaluation.domain.pipeline import Payload, PipelineSettings, Policies, PreparedCorpus
from evaluation.domain.verdicts import SOURCE
from evaluation.domain.whole_packing import hits_of_units

PRODUCTION = "oracle"
DIAGNOSTIC = "oracle-roomy"

#: Every stage between the index and the prompt hands the set on as it is.
_HANDED_ON = tuple(stage for stage in STAGES if stage not in {Stage.CHUNKED, Stage.PACKED})


@dataclass(frozen=True)
class OracleResult:
    """Outcomes per view (`oracle:N`, `oracle-roomy:M`) in columns and one record per view."""

    columns: OutcomeColumns
    payloads: tuple[tuple[str, Payload], ...]

    @property
    def outcomes(self) -> Mapping[str, tuple[QuestionOutcome, ...]]:
        """Outcomes per view, one object per question."""
        return {view: self.columns.outcomes(view) for view in self.columns.views}


def run_oracle(
    prepared: PreparedCorpus,
    questions: Sequence[FrozenQuestion],
    settings: PipelineSettings,
    policies: Policies,
    diagnostic_ceiling: int | None = None,
    packer: Packer | None = None,
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
    packer = packer or Packer(prepared, settings.budget)
    ready = packer.ready(questions, settings)
    given = hits_of_units(ready.smallest)
    meter = Meter(ready.block)
    unfailed = ("",) * len(questions)
    columns: dict[str, ViewColumns] = {}
    payloads: list[tuple[str, Payload]] = []
    rooms = [(PRODUCTION, ceiling)] + ([(DIAGNOSTIC, diagnostic_ceiling)] if diagnostic_ceiling else [])
    for kind, room in rooms:
        packed = packer.under_ceiling(given, room)
        answered = None
        if policies.generator is not None:
            evidence = LazyEvidence(packer, (given,), packed)
            answered = answers(prepared, policies.generator, ready.block.asked, ready.heads, evidence, unfailed)
        name = f"{kind}:{room}"
        columns[name] = view_columns(
            meter,
            None,
            dict.fromkeys(_HANDED_ON, given),
            STAGES,
            packed,
            settings.budget,
            packer.token_base,
            ready.head_tokens,
            ready.feasible(room),
            nothing_counted(len(questions)),
            unfailed,
            answered,
            packer.structure,
        )
        payloads.append(("oracle", _payload(prepared, name, ready, packed, columns[name], answered)))
    return OracleResult(OutcomeColumns(ready.block.question_ids, columns), tuple(payloads))


def _payload(
    prepared: PreparedCorpus,
    name: str,
    ready: Ready,
    packed: Packed,
    columns: ViewColumns,
    answered: Sequence[Answered] | None,
) -> Payload:
    """Oracle record of one view: the readable set given (−1: none), its packed units, answers and verdicts.

    `intervals` holds document, start and end of every packed unit, `units` how many each question has.
    """
    kind, _, ceiling = name.partition(":")
    valid = packed.units.valid
    places = np.stack((packed.units.document[valid], packed.units.start[valid], packed.units.end[valid]), axis=1)
    given = answered or ()
    return {
        "view": name,
        "room": "production" if kind == PRODUCTION else "diagnostic",
        "ceiling": int(ceiling),
        "corpus": prepared.digest,
        "documents": [document.digest for document in prepared.documents],
        "questions": list(ready.block.question_ids),
        "set": ready.smallest_set.tolist(),
        "feasible": columns.numbers["feasible"].tolist(),
        "evidence_tokens": packed.tokens.tolist(),
        "units": packed.units.count.tolist(),
        "intervals": places.reshape(-1).tolist(),
        "complete": columns.complete[:, -1].astype(np.int64).tolist(),
        "verdict_source": SOURCE,
        "text": [one.answer.text for one in given],
        "class": [str(one.answer_class) for one in given],
        "prompts": [hashlib.sha256(one.prompt).hexdigest() for one in given],
        "rendered_tokens": [one.tokens for one in given],
    }

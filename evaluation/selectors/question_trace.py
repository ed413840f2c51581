"""One question at one phase through both arms, read back from the recorded results and never computed again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.domain.boundary import recorded_chunks, recorded_cuts
from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.domain.outcome_payload import columns_from_payload
from evaluation.domain.outcomes import STAGES, QuestionOutcome, Stage
from evaluation.domain.pipeline import Unit, stage_order
from evaluation.domain.plan_words import RecoveryPolicy
from evaluation.domain.recorded import (
    RecordedChunks,
    RecordedHit,
    RecordedUnit,
    budget_view,
    recorded_hits,
    recorded_refusals,
    recorded_units,
)
from evaluation.domain.rendering import prompt_head
from evaluation.models import Sweep
from evaluation.services.arm_phases import CONTROL, arm_phases
from evaluation.services.frozen_world import World, load_world
from evaluation.services.pipeline_of import ORACLE, arm_settings, oracle_views, pipeline_settings
from evaluation.services.result_keys import (
    ANSWER,
    BOUNDARY,
    BUDGET,
    CITATION,
    FAILURE,
    OUTCOME,
    RETRIEVAL,
    build_key,
    cell_key,
)
from ledger.selectors.records import results


@dataclass(frozen=True)
class Cited:
    """A citation of the answer: document −1 when it resolves to nothing shown."""

    number: int
    document: int
    start: int
    end: int
    verdict: str


@dataclass(frozen=True)
class Answer:
    """The answer as it was recorded; `failed` is the reason of a failure."""

    text: str
    failed: str
    verdict: str
    condition: str
    source: str
    generator: str
    citations: tuple[Cited, ...]
    attributed: bool


@dataclass(frozen=True)
class ArmTrace:
    """What one arm did with the question. `missing` says why there is nothing to show (not computed, failed).

    `order` is that in which this arm runs the stages; `cuts` are interior cuts in bytes per document; `refused` maps
    ranks to reasons; `parts` are the prompt as (bytes, document, start, end), document −1 for what stands between the
    units; `matches` says whether that reconstruction has the recorded digest. Without a generator none was made or
    recorded: `prompt_digest` is "" and the parts show what one would hold. `outcome` is the sealed one; `chunks` are
    [start, end) in bytes per document.
    """

    name: str
    role: str
    phase: int
    missing: str = ""
    order: tuple[Stage, ...] = STAGES
    cuts: tuple[tuple[int, ...], ...] = ()
    hits: tuple[RecordedHit, ...] = ()
    candidates: int = 0
    denied: int = 0
    outdated: int = 0
    tie_at_k: bool = False
    packed: tuple[RecordedUnit, ...] = ()
    refused: Mapping[int, str] | None = None
    complete: Mapping[Stage, bool] | None = None
    single: Mapping[Stage, bool] | None = None
    lost_after: str = ""
    completed_at: int = 0
    severed: int = 0
    feasible: bool = True
    evidence_tokens: int = 0
    prompt_tokens: int = 0
    limit: str = ""
    leaks: int = 0
    superseded: int = 0
    answer: Answer | None = None
    prompt_digest: str = ""
    parts: tuple[tuple[bytes, int, int, int], ...] = ()
    matches: bool = False
    outcome: QuestionOutcome | None = None
    chunks: tuple[tuple[tuple[int, int], ...], ...] = ()


@dataclass(frozen=True)
class QuestionTrace:
    """A question, the documents its indices refer to, and what each arm did at `label` in `view`."""

    question: FrozenQuestion
    documents: tuple[Document, ...]
    labels: tuple[str, ...]
    label: str
    view: str
    views: tuple[str, ...]
    arms: tuple[ArmTrace, ...]
    repeat: int = 0
    repeats: int = 1
    oracle: QuestionOutcome | None = None


def question_trace(
    sweep: Sweep, question_id: str, arms: Sequence[str], label: str = "", view: str = "", repeat: int = 0
) -> QuestionTrace:
    """Return the trace of a question of a sweep; the first label and view unless given. One query beyond the plan's.

    Raises LookupError for a question, label, view, arm or repeat that the sweep does not have. Texts stand in it whole:
    whoever shows them compares them with the reader's labels first.
    """
    world = load_world(sweep.plan)
    place = next((i for i, one in enumerate(world.asked) if one.question_id == question_id), -1)
    if place < 0:
        raise LookupError(f"the sweep asked no question {question_id!r}")
    views = pipeline_settings(world.plan).views
    view = view or next(one for one in views if one == f"budget:{world.plan.budget.primary_evidence_tokens}")
    phases = {
        name: arm_phases(world.plan, arm_settings(world.plan.arm(name)), world.prepared, world.questions).shared
        for name in arms
    }
    labels = tuple(next(iter(phases.values())))
    label = label or (labels[0] if labels else "")
    if label not in labels or view not in views or not 0 <= repeat < world.plan.generation.repeats:
        raise LookupError(f"the plan has no phase {label!r}, view {view!r} or repeat {repeat}")
    block, at = divmod(place, sweep.block_size)
    keys = {name: _keys(sweep.plan.digest, name, phases[name][label], block, repeat, view) for name in arms}
    oracle = cell_key(sweep.plan.digest, ORACLE, CONTROL, block, repeat, OUTCOME)
    wanted = [oracle, *(key for one in keys.values() for key in one.values())]
    found = {row.key: row.value for row in results(scopes=[sweep.scope]).filter(key__in=wanted)}
    question = world.asked[place]
    traces = [
        _arm(
            world,
            question,
            name,
            phases[name][label],
            view,
            at,
            {kind: found.get(key) for kind, key in keys[name].items()},
        )
        for name in arms
    ]
    alone = _outcome(found[oracle], oracle_views(world.plan)[0], at) if oracle in found else None
    repeats = world.plan.generation.repeats
    documents = world.prepared.documents
    return QuestionTrace(
        question, documents, labels, label, view, views, tuple(traces), repeat=repeat, repeats=repeats, oracle=alone
    )


def _keys(plan: str, arm: str, phase: int, block: int, repeat: int, view: str) -> dict[str, str]:
    keys = {
        kind: cell_key(plan, arm, phase, block, repeat, kind, view if kind in {ANSWER, CITATION} else "")
        for kind in (RETRIEVAL, BUDGET, ANSWER, CITATION, OUTCOME, FAILURE)
    }
    return {BOUNDARY: build_key(plan, arm, phase, BOUNDARY), **keys}


def _arm(
    world: World,
    question: FrozenQuestion,
    name: str,
    phase: int,
    view: str,
    at: int,
    records: Mapping[str, Any],
) -> ArmTrace:
    """Read one arm; `at` is the question's place in its block."""
    arm = world.plan.arm(name)
    role, recovery = str(arm.role), world.plan.recovery_of(arm)
    order = stage_order(recovery.moment, expands=recovery.policy is not RecoveryPolicy.NONE)
    boundary, retrieval, budget = records[BOUNDARY], records[RETRIEVAL], records[BUDGET]
    if boundary is None or retrieval is None or budget is None or records[OUTCOME] is None:
        failure = records[FAILURE]
        return ArmTrace(
            name, role, phase, f"The run failed: {failure['label']}" if failure else "Not computed yet", order
        )
    outcome = _outcome(records[OUTCOME], view, at)
    if outcome.failed and not retrieval["count"][at]:
        return ArmTrace(name, role, phase, f"The run failed: {outcome.failed}", order)
    chunks, shown = RecordedChunks(boundary), budget_view(budget, view)
    packed = recorded_units(chunks, retrieval, shown, at)
    parts = _prompt(world, question, packed)
    answer = _answer(records[ANSWER], records[CITATION], question.question_id)
    prompt_digest = records[ANSWER]["prompts"][at] if records[ANSWER] else ""
    return ArmTrace(
        name,
        role,
        phase,
        order=order,
        cuts=tuple(tuple(recorded_cuts(one).tolist()) for one in boundary["documents"]),
        hits=recorded_hits(chunks, retrieval, at),
        candidates=retrieval["candidates"][at],
        denied=retrieval["denied"][at],
        outdated=retrieval["outdated"][at],
        tie_at_k=any(question_at == at for question_at, _, _ in retrieval["ties_at_k"]),
        packed=packed,
        refused=recorded_refusals(retrieval, shown, at),
        complete=outcome.complete,
        single=outcome.single_unit,
        lost_after=str(outcome.lost_after or ""),
        completed_at=outcome.rank_of_completion,
        severed=outcome.severed_spans,
        feasible=outcome.feasible,
        evidence_tokens=outcome.evidence_tokens,
        prompt_tokens=outcome.prompt_tokens,
        limit=f"ceiling {shown['ceiling']:,} tokens" if shown["ceiling"] else f"k = {shown['k']}",
        leaks=sum(outcome.leaks.values()),
        superseded=sum(outcome.superseded.values()),
        answer=answer,
        prompt_digest=prompt_digest,
        parts=parts,
        matches=hashlib.sha256(b"".join(part[0] for part in parts)).hexdigest() == prompt_digest,
        outcome=outcome,
        chunks=tuple(
            tuple(zip(*(edge.tolist() for edge in recorded_chunks(one)), strict=True)) for one in boundary["documents"]
        ),
    )


def _outcome(record: Mapping[str, Any], view: str, at: int) -> QuestionOutcome:
    return columns_from_payload(record["outcomes"]).outcomes(view)[at]


def _answer(record: Mapping[str, Any] | None, citations: Mapping[str, Any] | None, question_id: str) -> Answer | None:
    if record is None or citations is None or question_id not in record["questions"]:
        return None
    at = record["questions"].index(question_id)
    if at >= len(record["text"]):
        return None
    generator = record["generator"]
    return Answer(
        record["text"][at],
        record["failed"][at],
        record["class"][at],
        record["condition"][at],
        record["verdict_source"],
        generator["generator"] if isinstance(generator, dict) else str(generator),
        tuple(Cited(one[0], one[2], one[3], one[4], one[5]) for one in citations["citations"][at]),
        bool(citations["attributed"][at]),
    )


def _prompt(
    world: World, question: FrozenQuestion, packed: Sequence[RecordedUnit]
) -> tuple[tuple[bytes, int, int, int], ...]:
    """Render the prompt again by the packer's own rule and cut it where the source text begins and ends."""
    units = [Unit(one.document, one.start, one.end, 0, 0, one.rank, ()) for one in packed]
    context, spans = world.packer.rendering.context(units)
    parts: list[tuple[bytes, int, int, int]] = [(prompt_head(pipeline_settings(world.plan), question), -1, 0, 0)]
    at = 0
    for one, (begin, end) in zip(packed, spans, strict=True):
        parts.append((context[at:begin], -1, 0, 0))
        parts.append((context[begin:end], one.document, one.start, one.end))
        at = end
    parts.append((context[at:], -1, 0, 0))
    return tuple(part for part in parts if part[0])

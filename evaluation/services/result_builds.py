"""What the cuts of each arm made of the corpus, phase by phase: sizes, broken structure, repeated text, moved cuts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evaluation.domain.chunk_measures import chunk_measures, moved_cuts
from evaluation.domain.chunks import ChunkingRefused, CorpusChunks, join
from evaluation.domain.outcomes import Status
from evaluation.domain.pipeline import ArmSettings, PreparedCorpus
from evaluation.models import Sweep
from evaluation.services.arm_phases import CONTROL
from evaluation.services.frozen_world import load_world
from evaluation.services.outcome_table import OutcomeTable
from evaluation.services.pipeline_of import arm_settings
from evaluation.services.result_keys import MANIFEST
from evaluation.services.result_rows import Rows
from ledger.selectors.records import results


def build_rows(sweep: Sweep, table: OutcomeTable) -> Rows:
    """Return the measures of every index build of the shared phases, per arm and phase.

    Chunks are arithmetic on what was frozen and are cut again here. An arm whose chunks were made elsewhere and cannot
    be made again has rows of status `failed` with the reason, and no `measures`.
    """
    distinct = [(arm.name, sorted(set(table.phases[arm.name].shared.values()))) for arm in table.plan.arms]
    return Rows(sum(len(phases) for _, phases in distinct), _rows(sweep, table, distinct))


def chunkings(sweep: Sweep, table: OutcomeTable) -> dict[str, int]:
    """Return by arm how many different chunkings its shared phases came to, from the manifests: phases with the same
    chunks are one observation, however many labels they have."""
    found: dict[str, set[str]] = {}
    for row in results(scopes=[sweep.scope], kinds=[MANIFEST]).iterator(chunk_size=50):
        manifest = row.value
        if manifest["phase"] in table.phases[manifest["arm"]].shared.values():
            found.setdefault(manifest["arm"], set()).add(manifest["chunk_ids"])
    return {arm: len(different) for arm, different in found.items()}


def _rows(sweep: Sweep, table: OutcomeTable, distinct: list[tuple[str, list[int]]]) -> Iterator[dict[str, Any]]:
    prepared = load_world(sweep.plan).prepared
    for name, phases in distinct:
        arm = arm_settings(table.plan.arm(name))
        shared = table.phases[name].shared
        usual: CorpusChunks | None = None
        for phase in phases:
            place = {"arm": name, "phase": phase, "labels": [label for label, cut in shared.items() if cut == phase]}
            try:
                usual = usual or _chunks(arm, prepared, arm.segmenter.stride or None)
                made = usual if phase in {CONTROL, arm.segmenter.stride} else _chunks(arm, prepared, phase)
            except ChunkingRefused as refused:
                yield place | {
                    "status": str(Status.FAILED),
                    "reason": str(refused),
                    "measures": None,
                    "moved_cuts": None,
                }
                continue
            moved, cuts = moved_cuts(made, usual)
            yield place | {
                "status": str(Status.VALUE),
                "reason": "",
                "measures": chunk_measures(prepared.documents, prepared.tokenized, made),
                "moved_cuts": {"moved": moved, "cuts": cuts},
            }


def _chunks(arm: ArmSettings, prepared: PreparedCorpus, phase: int | None) -> CorpusChunks:
    pairs = zip(prepared.documents, prepared.tokenized, strict=True)
    tables = [arm.segmenter.chunks(document, text, phase) for document, text in pairs]
    return join(tables, prepared.tokenized)

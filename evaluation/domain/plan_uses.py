"""Settings that nothing reads, and settings that are missing where something needs them.

A setting without an effect is a plan that says something else than it does, so it is refused; what a plug-in reads it
declares itself (`KnownNames.uses`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

from evaluation.domain.plan import Plan
from evaluation.domain.plan_pipeline import Arm, Recovery, Reranking, Retrieval
from evaluation.domain.plan_schema import KnownNames, PlanProblem
from evaluation.domain.plan_words import FUSING_RETRIEVER, ParentKind, RecoveryPolicy

#: Settings of a table that belong to no plug-in: the engine reads them for every one.
_COMMON_ARM = frozenset({"name", "role", "segmenter", "factor", "unit", "retrieval", "reranking", "recovery"})
_COMMON_RETRIEVAL = frozenset({"retriever", "candidates", "analyser", "stop_words", "tie_rule", "filters"})
_HEX_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*\Z")

_RECOVERY_USES: Mapping[RecoveryPolicy, frozenset[str]] = {
    RecoveryPolicy.NONE: frozenset(),
    RecoveryPolicy.SENTENCE_WINDOW: frozenset({"moment", "reach"}),
    RecoveryPolicy.NEIGHBOURS: frozenset({"moment", "reach"}),
    RecoveryPolicy.PARENT: frozenset({"moment", "parent"}),
    RecoveryPolicy.AUTO_MERGE: frozenset({"moment", "parent_capacity", "merge_share"}),
}


def use_problems(plan: Plan, known: KnownNames) -> Iterator[PlanProblem]:
    """Yield every setting of arms, retrieval, reranking and recovery that has no effect or is missing."""
    for index, arm in enumerate(plan.arms):
        yield from _arm(arm, f"arms[{index}]", known)
    for where, retrieval in _places(plan, "retrieval"):
        yield from _retrieval(retrieval, where, known)
    for where, reranking in _places(plan, "reranking"):
        yield from _reranking(reranking, where, known)
    for where, recovery in _places(plan, "recovery"):
        yield from _recovery(plan, recovery, where)


def _places(plan: Plan, section: str) -> Iterator[tuple[str, Any]]:
    """The plan's own table, then those of arms."""
    yield section, getattr(plan, section)
    for index, arm in enumerate(plan.arms):
        if getattr(arm, section) is not None:
            yield f"arms[{index}].{section}", getattr(arm, section)


def _arm(arm: Arm, where: str, known: KnownNames) -> Iterator[PlanProblem]:
    use = known.uses.get("segmenters", {}).get(arm.segmenter)
    if use is None:
        return
    said = f"the segmenter “{arm.segmenter}”"
    yield from _unused(arm, use.uses | _COMMON_ARM, where, said)
    yield from _missing(arm, use.needs, where, said)
    if use.units and arm.unit not in use.units:
        yield PlanProblem(
            f"{where}.unit",
            f"is “{arm.unit}”, which {said} does not count.",
            f"Write {' or '.join(f'"{unit}"' for unit in sorted(use.units))}.",
        )
    if "splitter" in use.uses and arm.splitter and not _CLASS.match(arm.splitter):
        yield PlanProblem(f"{where}.splitter", f"is “{arm.splitter}”.", "Write it as package.module:Class.")
    if "chunks_digest" in use.uses and arm.chunks_digest and not _HEX_DIGEST.match(arm.chunks_digest):
        yield PlanProblem(
            f"{where}.chunks_digest", "is no SHA-256.", "Write the 64 hexadecimal digits that sha256sum prints."
        )


def _retrieval(retrieval: Retrieval, where: str, known: KnownNames) -> Iterator[PlanProblem]:
    declared = known.uses.get("retrievers", {})
    use = declared.get(retrieval.retriever)
    if use is None:
        return
    said = f"the retriever “{retrieval.retriever}”"
    used = use.uses | _COMMON_RETRIEVAL
    if retrieval.retriever == FUSING_RETRIEVER:
        if FUSING_RETRIEVER in retrieval.fuse or len(retrieval.fuse) < 2:
            what = "fuses itself." if FUSING_RETRIEVER in retrieval.fuse else "fuses fewer than two retrievers."
            yield PlanProblem(f"{where}.fuse", what, 'Name two or more others, like ["bm25", "lsa"].')
        if any(name not in declared for name in retrieval.fuse):
            return
        used = used.union(*(declared[name].uses for name in retrieval.fuse))
        for name in retrieval.fuse:
            yield from _missing(retrieval, declared[name].needs - {"fuse"}, where, f"the fused retriever “{name}”")
    else:
        yield from _missing(retrieval, use.needs, where, said)
    yield from _unused(retrieval, used, where, said)


def _reranking(reranking: Reranking, where: str, known: KnownNames) -> Iterator[PlanProblem]:
    use = known.uses.get("rerankers", {}).get(reranking.reranker)
    if use is not None:
        said = f"the reranker “{reranking.reranker}”"
        yield from _unused(reranking, use.uses | {"reranker"}, where, said)
        yield from _missing(reranking, use.needs, where, said)


def recovery_uses(recovery: Recovery) -> frozenset[str]:
    """Return which settings this recovery reads beside its policy."""
    used = _RECOVERY_USES[recovery.policy]
    if recovery.policy is RecoveryPolicy.PARENT and recovery.parent is ParentKind.LARGER_CHUNK:
        used |= {"parent_capacity"}
    return used


def _recovery(plan: Plan, recovery: Recovery, where: str) -> Iterator[PlanProblem]:
    said = f"the recovery “{recovery.policy}”"
    used = recovery_uses(recovery)
    yield from _unused(recovery, used | {"policy"}, where, said)
    if "parent_capacity" not in used:
        return
    yield from _missing(recovery, frozenset({"parent_capacity"}), where, said)
    for arm in plan.arms:
        if plan.recovery_of(arm) is not recovery or arm.unit != "tokens" or not recovery.parent_capacity:
            continue
        if arm.capacity >= recovery.parent_capacity:
            yield PlanProblem(
                f"{where}.parent_capacity",
                f"is {recovery.parent_capacity}, no larger than the {arm.capacity} tokens of a chunk of “{arm.name}”.",
                "Use a parent that can hold more than one chunk.",
            )


def _unused(table: object, used: frozenset[str], where: str, said: str) -> Iterator[PlanProblem]:
    for item in fields(table):  # type: ignore[arg-type]
        if item.name not in used and item.default is not MISSING and getattr(table, item.name) != item.default:
            yield PlanProblem(f"{where}.{item.name}", f"is set, but {said} does not read it.", "Remove it.")


def _missing(table: object, needed: frozenset[str], where: str, said: str) -> Iterator[PlanProblem]:
    for item in fields(table):  # type: ignore[arg-type]
        if item.name in needed and not getattr(table, item.name):
            yield PlanProblem(f"{where}.{item.name}", f"is missing, and {said} needs it.", "Add it.")

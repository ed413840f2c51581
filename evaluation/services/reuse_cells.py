"""Take deterministic cells' results from an earlier sweep of the same plan instead of computing them again.

Only what was sealed is taken, and only where everything it depends on is the same: the plan's and the fixture set's
digest, the cell's place and questions, the tokenizer, the packages, the plug-ins, the segmenters and this program's own
code. Repeats, plug-ins that declare no determinism and plans with a latency limit are always computed, and so is every
cell of a sweep that was started with `recompute`.
"""

from __future__ import annotations

import hashlib
import platform
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

from django.db import connection, transaction

from evaluation.domain.index_build import package_pins
from evaluation.models import Attempt, Cell, Sweep
from evaluation.plugins.registry import Kind, Plugin
from evaluation.services.claim import Lease, close
from evaluation.services.frozen_world import World, load_world
from evaluation.services.limit_sweep import limits_of
from evaluation.services.pipeline_of import ORACLE, arm_settings, policies_of
from evaluation.services.plugins import installed_plugins
from evaluation.services.report_attempt import Origin, report_attempt
from evaluation.services.result_keys import BOUNDARY, FAILURE, MANIFEST, OUTCOME, build_key, cell_key
from ledger.domain.canonical import canonical_bytes, digest
from ledger.services import LedgerError, ResultConflict, put_results, sealed_leaves, stored_entries

_ROOT = Path(__file__).resolve().parent.parent.parent
#: Cells finished in one transaction: long enough that what they share weighs little, short enough for other writers.
_AT_ONCE = 64
#: The code results come from; pages and commands are left out.
_PARTS = ("evaluation/domain", "evaluation/plugins", "evaluation/services", "ledger/domain", "annotate/domain")

#: By world and arm; a world that is dropped takes its own along.
_engines: WeakKeyDictionary[World, dict[str, str]] = WeakKeyDictionary()


def reuse_cells(lease: Lease) -> int:
    """Finish the leased cell, and waiting ones behind it, from an earlier sweep's results; return how many cells.

    0, and nothing written, where the leased one must be computed: also when what is stored is damaged or not what its
    sweep was sealed with (`verify_ledger` says so), and when the lease or the sweep was lost. One transaction, whose
    first statement is the fence, as in `finish_cell`.
    """
    cell = Cell.objects.select_related("sweep__plan__fixture_set").get(pk=lease.cell_id)
    if cell.sweep.recompute:
        return 0
    world = load_world(cell.sweep.plan)
    source = _source(world, cell)
    if source is None:
        return 0
    try:
        return _taken(world, lease, cell, source)
    except (LedgerError, ResultConflict):
        return 0


def _taken(world: World, lease: Lease, cell: Cell, source: Sweep) -> int:
    kept = _leaves(source.scope, source.root)
    names, there = tuple(kept), _done_in(source)
    engines = {arm: engine_of(world, arm) for arm, *_ in there if _reusable(world, arm)}
    with transaction.atomic():
        if not close(lease, Cell.State.DONE) or not _runs(cell.sweep_id):
            transaction.set_rollback(True)
            return 0
        took: list[Cell] = []
        keys: set[str] = set()
        for one in (cell, *_waiting(cell)):
            own = set(_keys(world, one, names))
            kinds = {kept[key][0] for key in own}
            same = one.arm in engines and there.get(_place(one)) == engines[one.arm]
            if same and OUTCOME in kinds and FAILURE not in kinds:
                took.append(one)
                keys |= own
        if cell not in took:
            transaction.set_rollback(True)
            return 0
        others = [one.pk for one in took[1:]]
        Cell.objects.filter(pk__in=others).update(
            state=Cell.State.DONE, attempt=1, worker=lease.worker, claimed_at=lease.claimed_at
        )
        put_results(cell.sweep.scope, stored_entries(source.scope, {key: kept[key] for key in sorted(keys)}))
        for one in took:
            report_attempt(
                cell_id=one.pk,
                number=lease.attempt if one.pk == cell.pk else 1,
                worker=lease.worker,
                started_at=lease.claimed_at,
                outcome=Attempt.Outcome.DONE,
                origin=Origin(engines[one.arm], source.pk),
            )
    return len(took)


def _runs(sweep_id: int) -> bool:
    return Sweep.objects.filter(pk=sweep_id, state=Sweep.State.RUNNING).exists()


def _waiting(cell: Cell) -> list[Cell]:
    """Cells of the sweep nobody began, locked; none where a cap counts each cell that is begun."""
    if limits_of(cell.sweep).any:
        return []
    free = Cell.objects.filter(sweep_id=cell.sweep_id, state=Cell.State.PENDING, attempt=0)
    return list(free.select_for_update(skip_locked=connection.features.has_select_for_update_skip_locked)[:_AT_ONCE])


type _Place = tuple[str, int, int, int]


def _place(cell: Cell) -> _Place:
    return cell.arm, cell.phase, cell.block, cell.repeat


def _done_in(source: Sweep) -> dict[_Place, str]:
    """The engine of every cell that is done in a sweep."""
    rows = Attempt.objects.filter(cell__sweep=source, cell__state=Cell.State.DONE, outcome=Attempt.Outcome.DONE)
    places = rows.values_list("cell__arm", "cell__phase", "cell__block", "cell__repeat", "engine")
    return {(arm, phase, block, repeat): engine for arm, phase, block, repeat, engine in places}


def engine_of(world: World, arm: str) -> str:
    """Return the digest of all that makes a cell's results beside its plan and fixture set: pins, plug-ins, code.

    `arm` is an arm of the plan or the oracle.
    """
    known = _engines.setdefault(world, {})
    if arm not in known:
        known[arm] = _engine(world, arm)
    return known[arm]


def _engine(world: World, arm: str) -> str:
    # Every cell is held against the baseline's first build, so that counts too.
    arms = {world.plan.baseline.name, world.plan.baseline.name if arm == ORACLE else arm}
    tokenizer = world.prepared.tokenizer
    made_of = {
        "code": _code(),
        "python": platform.python_version(),
        "packages": package_pins(),
        "tokenizer": [tokenizer.name, tokenizer.digest, tokenizer.version],
        "corpus": world.prepared.digest,
        "segmenters": {name: _text(arm_settings(world.plan.arm(name)).segmenter.describe()) for name in arms},
        "plugins": sorted([str(one.kind), one.name, one.version] for name in arms for one in _plugins(world, name)),
    }
    return digest(canonical_bytes(made_of))


@cache
def _code() -> str:
    """Digest of the source this process runs, read once: a mended fault must not be answered from before."""
    state = hashlib.sha256()
    for part in _PARTS:
        for path in sorted((_ROOT / part).rglob("*.py")):
            state.update(f"{path.relative_to(_ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()


def _text(described: Mapping[str, str | int]) -> dict[str, str]:
    return {name: str(value) for name, value in described.items()}


def _plugins(world: World, name: str) -> Iterator[Plugin]:
    plan, plugins = world.plan, installed_plugins()
    arm = plan.arm(name)
    yield plugins.get(Kind.SEGMENTER, arm.segmenter)
    yield plugins.get(Kind.RETRIEVER, plan.retrieval_of(arm).retriever)
    yield plugins.get(Kind.RERANKER, plan.reranking_of(arm).reranker)
    yield plugins.get(Kind.EXPANSION, str(plan.recovery_of(arm).policy))
    yield plugins.get(Kind.GENERATOR, plan.generation.generator)


def _reusable(world: World, arm: str) -> bool:
    """Whether two computations of the arm's cells must come out alike, and nothing is asked that only a real one
    says."""
    plan = world.plan
    if plan.generation.repeats > 1 or plan.resources.latency_ms is not None:
        return False
    name = plan.baseline.name if arm == ORACLE else arm
    steps = policies_of(plan, plan.arm(name))
    declared = all(one.deterministic for one in _plugins(world, name))
    generated = steps.generator is None or steps.generator.deterministic
    return declared and steps.retriever.deterministic and generated


def _source(world: World, cell: Cell) -> Sweep | None:
    """Return the newest sealed sweep of the same plan in which this very cell was done by the same engine; None where
    the cell may not be taken at all."""
    if not _reusable(world, cell.arm):
        return None
    plan = cell.sweep.plan
    sealed = Sweep.objects.filter(
        state=Sweep.State.SEALED,
        block_size=cell.sweep.block_size,
        plan__study=plan.study_id,
        plan__digest=plan.digest,
        plan__fixture_set__digest=plan.fixture_set.digest,
    )
    done = Attempt.objects.filter(
        outcome=Attempt.Outcome.DONE,
        engine=engine_of(world, cell.arm),
        cell__in=Cell.objects.filter(
            sweep__in=sealed,
            state=Cell.State.DONE,
            arm=cell.arm,
            phase=cell.phase,
            block=cell.block,
            repeat=cell.repeat,
        ),
    )
    return Sweep.objects.filter(pk__in=done.values("cell__sweep")).order_by("-pk").first()


@lru_cache(maxsize=2)
def _leaves(scope: str, root: str) -> Mapping[str, tuple[str, str]]:
    """Leaves of a sealed scope, in the order of their keys, after their root was computed again from them.

    `root` is the root in the sweep's row. Raises LedgerError where the seal, the row and the leaves do not agree.
    """
    return sealed_leaves(scope, root)


def _keys(world: World, cell: Cell, kept: tuple[str, ...]) -> Iterator[str]:
    """Yield the keys of a cell's own records and of those of its build among `kept`, which is sorted."""
    own = cell_key(world.plan_digest, cell.arm, cell.phase, cell.block, cell.repeat, "")
    prefixes = [own, *(build_key(world.plan_digest, cell.arm, cell.phase, kind) for kind in (MANIFEST, BOUNDARY))]
    for prefix in prefixes:
        for key in kept[bisect_left(kept, prefix) :]:
            if not key.startswith(prefix):
                break
            yield key

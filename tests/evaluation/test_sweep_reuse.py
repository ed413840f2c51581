"""Cells of a second sweep of one plan: taken from the first where nothing changed, computed everywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django.fixtures import Settings

from annotate.permissions import OPERATOR
from evaluation.domain.sweep_limits import Limits
from evaluation.models import Attempt, Cell, Sweep
from evaluation.plugins.tokenizers import SHIPPED_PATH
from evaluation.selectors.latency import latencies_of
from evaluation.services import frozen_world, run_cell
from evaluation.services.claim import claim
from evaluation.services.fail_cell import fail_cell
from evaluation.services.operations import operations_of
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from ledger.models import Result
from ledger.services import verify
from tests.annotate.tampering import tampering
from tests.evaluation.retrieval_server import Reply, serving
from tests.evaluation.sweeps import plan_toml, small_study, started

pytestmark = pytest.mark.django_db
CELLS = 18


def sealed(sweep: Sweep) -> Sweep:
    drain("w", sweep_id=sweep.pk)
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED
    return sweep


def again(first: Sweep, key: str = "again", **more: object) -> Sweep:
    """Return another sweep of the same plan, sealed."""
    given = {"block_size": first.block_size} | more
    return sealed(start_sweep(OPERATOR, first.plan, idempotency_key=key, **given))  # type: ignore[arg-type]


def reused(sweep: Sweep) -> int:
    """Return how many cells of a sweep were taken from an earlier one."""
    return Attempt.objects.filter(cell__sweep=sweep, reused_from__isnull=False).count()


def test_second_sweep_takes_every_cell_and_has_the_same_root() -> None:
    first = sealed(started())
    second = again(first)
    assert second.root == first.root != ""
    assert reused(first) == 0
    assert reused(second) == second.cells.count() == CELLS
    assert set(second.cells.values_list("state", "attempt")) == {("done", 1)}
    assert operations_of(second)["reused"] == {first.scope: CELLS}
    assert operations_of(first)["reused"] == {}
    # A third one has two to choose from.
    assert again(second, "third").root == first.root
    assert verify().findings == ()


def test_reused_cell_measures_nothing() -> None:
    first = sealed(started())
    second = again(first)
    assert latencies_of(first)
    assert latencies_of(second) == ()
    assert set(Attempt.objects.filter(cell__sweep=second).values_list("query_us", "index_us", "cold", "asked")) == {
        (None, None, None, None)
    }
    assert operations_of(second)["used"]["minutes"] == 0


def test_recomputing_takes_nothing_and_comes_to_the_same_root() -> None:
    first = sealed(started())
    second = again(first, recompute=True)
    assert reused(second) == 0
    assert second.root == first.root
    assert Attempt.objects.filter(cell__sweep=second, query_us__gt=0).count() == CELLS
    assert verify().findings == ()


def test_cells_of_another_tokenizer_file_are_computed(tmp_path: Path) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes(SHIPPED_PATH.read_bytes())
    first = sealed(started(toml=plan_toml({"cutline-bpe-4k": str(tokenizer)})))
    tokenizer.write_bytes(SHIPPED_PATH.read_bytes() + b"\n")
    for kept in (frozen_world._prepared, frozen_world._world):
        kept.cache_clear()
    run_cell._builds.clear()
    run_cell._indexed.clear()
    second = again(first)
    assert reused(second) == 0
    # The manifests name another file: the same plan, and not the same results.
    assert second.root != first.root


def test_cells_of_another_program_are_computed() -> None:
    first = sealed(started())
    with tampering():
        Attempt.objects.filter(cell__sweep=first).update(engine="0" * 64)
    assert reused(again(first)) == 0


def test_cells_of_other_blocks_are_computed() -> None:
    first = sealed(started())
    assert reused(again(first, block_size=3)) == 0


def test_failed_cell_is_computed_and_all_others_are_taken(settings: Settings) -> None:
    settings.MAX_ATTEMPTS = 1
    first = started()
    lease = claim("w")
    assert lease is not None
    assert not fail_cell(lease, "disk full")
    sealed(first)
    failed = Cell.objects.get(pk=lease.cell_id)
    second = again(first)
    assert reused(second) == CELLS - 1
    own = second.cells.get(arm=failed.arm, phase=failed.phase, block=failed.block)
    assert own.attempts.get().reused_from is None
    assert second.root != first.root
    assert not Result.objects.filter(scope=second.scope, kind="failure").exists()
    # What the second holds is whole, so the third takes that cell from there.
    assert again(second, "third").root == second.root
    assert verify().findings == ()


def test_sweep_that_is_not_sealed_gives_nothing() -> None:
    first = started()
    drain("w", sweep_id=first.pk, stop=lambda: Cell.objects.filter(sweep=first, state=Cell.State.DONE).exists())
    assert reused(again(first)) == 0


@pytest.mark.parametrize(
    "setting",
    [
        {'generator = "extractive"': 'generator = "extractive"\nrepeats = 2'},
        {"[decision]": '[resources]\nlatency_ms = 1000\nlatency_state = "warm"\n\n[decision]'},
    ],
    ids=["repeats", "latency"],
)
def test_what_only_a_real_run_can_say_is_never_taken(setting: dict[str, str]) -> None:
    first = sealed(started(toml=plan_toml(setting, grid=2)))
    second = again(first)
    assert reused(second) == 0
    assert second.root == first.root


def test_arm_of_a_plug_in_that_declares_no_determinism_is_asked_again(settings: Settings) -> None:
    plain = 'segmenter = "token-window"\ncapacity = 40\noverlap = 0\nfactor = "overlap"\n'
    with serving(lambda path, request: Reply(status=500)) as server:
        settings.RETRIEVAL_HOSTS_ALLOWED = [f"127.0.0.1:{server.port}"]
        arm = (
            'segmenter = "token-window"\ncapacity = 40\noverlap = 12\nfactor = "retrieval"\n[arms.retrieval]\n'
            f'retriever = "http"\ncandidates = 10\nendpoint = "{server.address()}"\nattempts = 1\n'
        )
        first = sealed(started(toml=plan_toml({plain: arm, '"splitter"': '"indexing-policy"'}, grid=2)))
        # Whichever arm's cell comes first in the order, and takes the others along.
        later = [again(first, f"seed {seed}", seed=seed) for seed in range(3)]
    for second in later:
        assert set(second.cells.filter(attempts__reused_from=None).values_list("arm", flat=True)) == {"plain"}
        assert 0 < reused(second) < second.cells.count()


@pytest.mark.parametrize("change", ["payload", "digest", "gone"])
def test_results_that_are_not_what_was_sealed_are_computed(change: str) -> None:
    first = sealed(started())
    row = Result.objects.filter(scope=first.scope, kind="outcome").order_by("key")[0]
    other = Result.objects.filter(scope=first.scope, kind="outcome").order_by("key")[1]
    rows = Result.objects.filter(scope=first.scope, key=row.key)
    with tampering():
        if change == "gone":
            rows.delete()
        elif change == "payload":
            rows.update(payload=other.payload, encoding=other.encoding)
        else:
            rows.update(payload=other.payload, encoding=other.encoding, payload_digest=other.payload_digest)
    second = again(first)
    assert reused(second) < CELLS
    assert second.root == first.root


def test_cap_counts_cells_that_are_taken() -> None:
    first = sealed(started())
    second = start_sweep(OPERATOR, first.plan, idempotency_key="capped", block_size=4, limits=Limits(max_cells=5))
    drain("w", sweep_id=second.pk)
    second.refresh_from_db()
    assert second.state == Sweep.State.CAPPED
    assert reused(second) == second.cells.filter(state=Cell.State.DONE).count() == 5


def test_command_reuses_by_default_and_recomputes_when_told(tmp_path: Path) -> None:
    small_study()
    plan = tmp_path / "plan.toml"
    plan.write_text(plan_toml(grid=2), encoding="utf-8")
    command = ("sweep", str(plan), "--study", "small")
    with pytest.raises(CommandError, match="--recompute needs --again"):
        call_command(*command, "--recompute")
    for more in ((), ("--again",), ("--again", "--recompute")):
        call_command(*command, *more)
        drain("w")
    first, second, third = Sweep.objects.order_by("pk")
    assert (reused(second), reused(third)) == (second.cells.count(), 0)
    assert first.root == second.root == third.root != ""

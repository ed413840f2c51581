"""A pause: a state of its own, in which work is kept and none begun, until a person lets the sweep go on."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models.functions import Now

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.permissions import OPERATOR, NotAllowed
from evaluation.domain.sweep_limits import Limits
from evaluation.models import Attempt, Cell, Sweep
from evaluation.records import SWEEP_CAPPED
from evaluation.services.cancel_sweep import cancel_sweep
from evaluation.services.claim import Lease, claim
from evaluation.services.limit_sweep import limits_of, resume_sweep
from evaluation.services.pause_sweep import pause_sweep
from evaluation.services.problems import Conflict
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain, work_on
from ledger.models import Record
from ledger.services import append, verify
from tests.evaluation.rows import bare_sweep
from tests.factories.studies import make_member
from tests.factories.sweeps import make_plan, make_sealed_sweep, make_sweep

pytestmark = pytest.mark.django_db
in_threads = pytest.mark.django_db(transaction=True)

SAID = f"Paused by {OPERATOR.username}: The endpoint is rebooted."


def state(sweep: Sweep) -> str:
    return Sweep.objects.values_list("state", flat=True).get(pk=sweep.pk)


def capped_sweep() -> Sweep:
    sweep = start_sweep(OPERATOR, make_plan(), idempotency_key="capped", block_size=3, limits=Limits(max_cells=1))
    drain("w", sweep_id=sweep.pk)
    assert state(sweep) == Sweep.State.CAPPED
    return sweep


def test_paused_sweep_keeps_what_was_in_work_begins_nothing_and_is_sealed_once_it_goes_on() -> None:
    sweep = make_sweep()
    lease = claim("w", sweep_id=sweep.pk)
    assert lease is not None
    paused = pause_sweep(OPERATOR, sweep, reason="The endpoint is rebooted.")
    assert (paused.state, paused.problem) == (Sweep.State.PAUSED, SAID)
    assert claim("w", sweep_id=sweep.pk) is None
    assert work_on(lease) == 1
    assert Cell.objects.get(pk=lease.cell_id).state == Cell.State.DONE
    assert Attempt.objects.get(cell_id=lease.cell_id).outcome == Attempt.Outcome.DONE
    assert pause_sweep(OPERATOR, sweep).problem == paused.problem
    record = Record.objects.get(kind="sweep.paused", scope=sweep.scope)
    assert record.value == {
        "plan": sweep.plan.digest,
        "by": OPERATOR.username,
        "reason": "The endpoint is rebooted.",
    }
    assert not Record.objects.filter(kind="sweep.capped").exists()
    assert verify().ok
    resume_sweep(OPERATOR, sweep, limits_of(sweep))
    drain("w", sweep_id=sweep.pk)
    sweep.refresh_from_db()
    assert (sweep.state, sweep.problem) == (Sweep.State.SEALED, "")
    other = make_sealed_sweep(sweep.plan)
    assert sweep.root == other.root
    assert verify().ok


def test_sweep_that_does_not_run_is_not_paused_and_only_a_lead_pauses() -> None:
    sweep = make_sweep()
    with pytest.raises(NotAllowed):
        pause_sweep(make_member(sweep.plan.study, Role.OBSERVER), sweep)
    cancel_sweep(OPERATOR, sweep)
    with pytest.raises(Conflict, match="cancelled"):
        pause_sweep(OPERATOR, sweep)
    with pytest.raises(Conflict, match="is capped; only a running sweep can be paused"):
        pause_sweep(OPERATOR, capped_sweep())
    with pytest.raises(BadInput):
        pause_sweep(OPERATOR, make_sweep(), reason="nul\x00")


def test_last_cell_of_a_paused_sweep_is_kept_and_the_sweep_sealed_only_when_it_goes_on() -> None:
    sweep = make_sweep()
    last: list[Lease] = []
    while (lease := claim("w", sweep_id=sweep.pk)) is not None:
        if not Cell.objects.filter(sweep=sweep, state=Cell.State.PENDING).exists():
            last.append(lease)
            break
        work_on(lease)
    pause_sweep(OPERATOR, sweep)
    work_on(last[0])
    assert state(sweep) == Sweep.State.PAUSED
    resume_sweep(OPERATOR, sweep, limits_of(sweep))
    drain("w", sweep_id=sweep.pk)
    assert state(sweep) == Sweep.State.SEALED


def test_cell_of_a_worker_that_died_waits_for_the_end_of_the_pause() -> None:
    sweep = bare_sweep(2)
    lease = claim("dies", sweep_id=sweep.pk)
    assert lease is not None
    pause_sweep(OPERATOR, sweep)
    Cell.objects.filter(pk=lease.cell_id).update(lease_until=Now() - timedelta(seconds=1))
    assert claim("other", sweep_id=sweep.pk) is None
    resume_sweep(OPERATOR, sweep, limits_of(sweep))
    again = claim("other", sweep_id=sweep.pk)
    assert again is not None
    assert (again.cell_id, again.attempt) == (lease.cell_id, 2)
    assert Attempt.objects.get(cell_id=lease.cell_id).outcome == Attempt.Outcome.EXPIRED


def test_cap_that_is_reached_meanwhile_leaves_a_paused_sweep_paused() -> None:
    sweep = start_sweep(OPERATOR, make_plan(), idempotency_key="k", block_size=3, limits=Limits(max_cells=1))
    lease = claim("w", sweep_id=sweep.pk)
    assert lease is not None
    pause_sweep(OPERATOR, sweep)
    work_on(lease)
    assert drain("w").cells == 0
    assert state(sweep) == Sweep.State.PAUSED
    with pytest.raises(Conflict, match="1 of at most 1 cells"):
        resume_sweep(OPERATOR, sweep, limits_of(sweep))
    assert state(sweep) == Sweep.State.PAUSED
    resume_sweep(OPERATOR, sweep, Limits(max_cells=2))
    drain("w")
    assert state(sweep) == Sweep.State.CAPPED
    assert cancel_sweep(OPERATOR, sweep).state == Sweep.State.CANCELLED
    assert verify().ok


def test_paused_sweep_can_be_cancelled() -> None:
    sweep = make_sweep()
    pause_sweep(OPERATOR, sweep, reason="For now.")
    assert cancel_sweep(OPERATOR, sweep, reason="For good.").problem == "For good."
    with pytest.raises(Conflict, match="cancelled"):
        resume_sweep(OPERATOR, sweep, Limits())
    assert verify().ok


@in_threads
def test_pause_and_cancel_at_once_leave_one_state_and_its_own_record() -> None:
    sweep = make_sweep()
    start = threading.Barrier(2)

    def act(name: str) -> str:
        try:
            start.wait()
            {"pause": pause_sweep, "cancel": cancel_sweep}[name](OPERATOR, Sweep.objects.get(pk=sweep.pk), reason=name)
        except Conflict as conflict:
            return str(conflict)
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(2) as pool:
        refused, ended = pool.map(act, ["pause", "cancel"])
    assert ended == ""
    assert state(sweep) == Sweep.State.CANCELLED
    kinds = list(
        Record.objects.filter(scope=sweep.scope, kind__in=["sweep.paused", "sweep.cancelled"])
        .order_by("seq")
        .values_list("kind", flat=True)
    )
    assert kinds == (["sweep.cancelled"] if refused else ["sweep.paused", "sweep.cancelled"])
    assert verify().ok


@pytest.mark.parametrize(
    ("changed", "kind", "said"),
    [
        ({"state": "capped"}, "sweep.state", "its row says capped, and by what was recorded last it is paused."),
        ({"state": "running"}, "sweep.state", "its row says running, and by what was recorded last it is paused."),
        ({"state": "cancelled"}, "sweep.state", "its row says cancelled, and by what was recorded last it is paused."),
        ({"problem": SAID[:-1]}, "row.differs", "it is paused with another note than was recorded."),
    ],
)
def test_ledger_finds_a_pause_that_was_changed_behind_its_back(changed: dict[str, str], kind: str, said: str) -> None:
    sweep = make_sweep()
    pause_sweep(OPERATOR, sweep, reason="The endpoint is rebooted.")
    assert verify().findings == ()
    Sweep.objects.filter(pk=sweep.pk).update(**changed)
    found = [(one.kind, one.where, one.message) for one in verify().findings]
    assert found == [(kind, sweep.scope, said)]


def test_ledger_finds_a_pause_nobody_recorded_and_a_cap_with_another_note() -> None:
    sweep, capped = make_sweep(), capped_sweep()
    assert verify().findings == ()
    Sweep.objects.filter(pk=sweep.pk).update(state=Sweep.State.PAUSED, problem=SAID)
    Sweep.objects.filter(pk=capped.pk).update(problem=SAID)
    found = {(one.where, one.message) for one in verify().findings}
    assert found == {
        (sweep.scope, "its row says paused, and by what was recorded last it is running."),
        (capped.scope, "it is capped with another note than was recorded."),
    }


@pytest.mark.django_db(transaction=True)
def test_migration_tells_pauses_from_caps_by_their_note_and_the_ledger_agrees() -> None:
    paused, capped, running = make_sweep(), capped_sweep(), make_sweep()
    # As a pause was kept before it was a state: a cap's state and record, with `by`, and the note as its reason.
    with transaction.atomic():
        Sweep.objects.filter(pk=paused.pk).update(state="capped", problem=SAID)
        append(SWEEP_CAPPED, {"plan": paused.plan.digest, "reason": SAID, "by": OPERATOR.username}, paused.scope)
    try:
        call_command("migrate", "evaluation", "0007", verbosity=0)
        assert {state(one) for one in (paused, capped)} == {"capped"}
    finally:
        call_command("migrate", verbosity=0)
    assert [state(one) for one in (paused, capped, running)] == ["paused", "capped", "running"]
    assert verify().findings == ()
    call_command("migrate", "evaluation", "0007", verbosity=0)
    assert state(paused) == "capped"
    call_command("migrate", verbosity=0)
    assert state(paused) == "paused"
    resume_sweep(OPERATOR, paused, Limits())
    assert state(paused) == "running"
    assert verify().findings == ()

"""Caps: a sweep stops cleanly at them, goes on when they are raised, and neither loses nor doubles a record."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.permissions import OPERATOR, NotAllowed
from evaluation.domain.sweep_limits import Limits, Used, reached, read_limits
from evaluation.models import Attempt, Cell, Sweep
from evaluation.services.cancel_sweep import cancel_sweep
from evaluation.services.claim import claim, give_back, report
from evaluation.services.limit_sweep import limits_of, resume_sweep, set_limits, used_by
from evaluation.services.problems import Conflict
from evaluation.services.report_attempt import Measured
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from ledger.models import Record, Result
from ledger.services import verify
from tests.evaluation.rows import bare_sweep
from tests.evaluation.sweeps import locked, plan_toml, small_study
from tests.factories.studies import make_member

pytestmark = pytest.mark.django_db
in_threads = pytest.mark.django_db(transaction=True)


def capped(cells: int, **limits: Any) -> Sweep:
    sweep = bare_sweep(cells)
    set_limits(OPERATOR, sweep, Limits(**limits))
    return sweep


def state(sweep: Sweep) -> str:
    return Sweep.objects.values_list("state", flat=True).get(pk=sweep.pk)


def done(sweep: Sweep) -> int:
    return Cell.objects.filter(sweep=sweep, state=Cell.State.DONE).count()


def test_cap_on_cells_stops_and_a_raised_one_goes_on_to_the_same_root() -> None:
    plan = locked(small_study(), plan_toml(grid=2))
    free = start_sweep(OPERATOR, plan, idempotency_key="free", block_size=2)
    drain("w", sweep_id=free.pk)
    sweep = start_sweep(OPERATOR, plan, idempotency_key="held", block_size=2, limits=Limits(max_cells=3))
    assert drain("w").cells == 3
    sweep.refresh_from_db()
    assert (sweep.state, done(sweep)) == (Sweep.State.CAPPED, 3)
    assert "3 of at most 3 cells" in sweep.problem
    assert drain("w").cells == 0
    with pytest.raises(Conflict, match="3 of at most 3"):
        resume_sweep(OPERATOR, sweep, Limits(max_cells=3))
    resume_sweep(OPERATOR, sweep, Limits(max_cells=5))
    assert drain("w").cells == 2
    assert state(sweep) == Sweep.State.CAPPED
    resume_sweep(OPERATOR, sweep, Limits())
    drain("w")
    free.refresh_from_db()
    sweep.refresh_from_db()
    assert (sweep.state, sweep.problem) == (Sweep.State.SEALED, "")
    assert sweep.root == free.root
    kinds = list(Record.objects.filter(scope=sweep.scope).order_by("seq").values_list("kind", flat=True))
    assert [kinds.count(kind) for kind in ("sweep.limited", "sweep.capped", "sweep.closed")] == [3, 2, 1]
    assert Result.objects.filter(scope=sweep.scope).count() == Result.objects.filter(scope=free.scope).count()
    assert verify().findings == ()


def test_caps_that_two_people_change_at_one_moment_hold_both() -> None:
    plan = locked(small_study(), plan_toml(grid=2))
    sweep = start_sweep(OPERATOR, plan, idempotency_key="k", limits=Limits(max_cells=2))
    one, two = (Sweep.objects.get(pk=sweep.pk) for _ in range(2))
    resume_sweep(OPERATOR, one, {"max_minutes": "9"})
    # Read before the first was written.
    resume_sweep(OPERATOR, two, {"max_cells": "7"})
    assert limits_of(Sweep.objects.get(pk=sweep.pk)) == Limits(max_cells=7, max_minutes=9)
    resume_sweep(OPERATOR, one, {"max_cells": "none"})
    assert limits_of(Sweep.objects.get(pk=sweep.pk)) == Limits(max_minutes=9)
    with pytest.raises(BadInput, match="no price"):
        resume_sweep(OPERATOR, one, {"max_cost": "1"})
    assert verify().ok


def test_cap_that_covers_every_cell_lets_the_sweep_be_sealed() -> None:
    plan = locked(small_study(), plan_toml(grid=2))
    sweep = start_sweep(OPERATOR, plan, idempotency_key="k", limits=Limits(max_cells=5))
    drain("w")
    assert sweep.cells.count() == 5
    assert state(sweep) == Sweep.State.SEALED


@in_threads
def test_two_workers_at_once_never_begin_more_cells_than_the_cap() -> None:
    plan = locked(small_study(), plan_toml(grid=4))
    sweep = start_sweep(OPERATOR, plan, idempotency_key="k", block_size=1, limits=Limits(max_cells=7))
    start = threading.Barrier(2)

    def work(name: str) -> int:
        try:
            start.wait()
            return drain(name, sweep_id=sweep.pk).cells
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        shares = list(pool.map(work, ["w1", "w2"]))
    # The last to finish may have left before it could put the sweep into its state; whoever asks next does.
    drain("w3", sweep_id=sweep.pk)
    assert sum(shares) == done(sweep) == Attempt.objects.filter(cell__sweep=sweep).count() == 7
    assert Result.objects.filter(scope=sweep.scope, kind="outcome").count() == 7
    assert state(sweep) == Sweep.State.CAPPED
    assert Record.objects.filter(kind="sweep.capped").count() == 1


def test_cell_in_work_is_waited_for_and_one_that_was_begun_is_finished() -> None:
    sweep = capped(4, max_cells=2)
    first, second = claim("w1"), claim("w2")
    assert first is not None
    assert second is not None
    assert claim("w3") is None
    assert state(sweep) == Sweep.State.RUNNING, "two cells are still in work"
    give_back(first)
    again = claim("w3")
    assert again is not None
    assert again.cell_id == first.cell_id, "a cell that was begun before needs no room"
    Cell.objects.filter(pk__in=[first.cell_id, second.cell_id]).update(state=Cell.State.DONE)
    assert claim("w3") is None
    assert state(sweep) == Sweep.State.CAPPED


def test_capped_sweep_keeps_no_worker_from_the_next() -> None:
    capped(20, max_cells=1)
    other = bare_sweep(2, name="other")
    taken = [claim("w") for _ in range(4)]
    assert [one.sweep_id == other.pk for one in taken if one] == [False, True, True]


def test_cap_on_minutes_counts_tries_that_ended_and_cells_in_work() -> None:
    sweep = capped(3, max_minutes=2)
    lease = claim("w")
    assert lease is not None
    Cell.objects.filter(pk=lease.cell_id).update(claimed_at=Now() - timedelta(minutes=3))
    assert 170 < used_by(sweep).seconds < 190
    assert claim("w") is None
    assert state(sweep) == Sweep.State.RUNNING
    started = Cell.objects.get(pk=lease.cell_id).claimed_at
    assert started is not None
    held = type(lease)(lease.cell_id, lease.sweep_id, lease.attempt, lease.worker, started)
    Cell.objects.filter(pk=lease.cell_id).update(state=Cell.State.DONE)
    report(held, Attempt.Outcome.DONE)
    assert claim("w") is None
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.CAPPED
    assert "of at most 2 minutes" in sweep.problem


def test_cap_on_cost_counts_the_tokens_of_finished_tries() -> None:
    sweep = capped(3, max_cost=Decimal("0.5"), price_input=Decimal(2), price_output=Decimal(10))
    lease = claim("w")
    assert lease is not None
    Cell.objects.filter(pk=lease.cell_id).update(state=Cell.State.DONE)
    report(lease, Attempt.Outcome.DONE, measured=Measured(0, 1, 1, True, 0, 200_000, 20_000))
    assert claim("w") is None
    sweep.refresh_from_db()
    assert sweep.problem == "The cap was reached: 0.60 of at most 0.50 were spent."
    resume_sweep(OPERATOR, sweep, read_limits({"max_cost": "0.61"}, limits_of(sweep)))
    assert claim("w") is not None


def test_capped_sweep_can_be_cancelled_and_a_cancelled_one_not_resumed() -> None:
    sweep = capped(1, max_cells=1)
    Sweep.objects.filter(pk=sweep.pk).update(state=Sweep.State.CAPPED)
    assert cancel_sweep(OPERATOR, sweep, reason="enough").state == Sweep.State.CANCELLED
    with pytest.raises(Conflict, match="cancelled"):
        resume_sweep(OPERATOR, sweep, Limits())


def test_only_a_lead_raises_a_cap() -> None:
    sweep = capped(2, max_cells=1)
    with pytest.raises(NotAllowed):
        resume_sweep(make_member(sweep.plan.study, Role.OBSERVER), sweep, Limits())


def test_ledger_finds_a_cap_that_was_changed_behind_its_back() -> None:
    sweep = start_sweep(OPERATOR, locked(small_study()), idempotency_key="k")
    set_limits(OPERATOR, sweep, Limits(max_cells=1))
    assert verify().findings == ()
    Sweep.objects.filter(pk=sweep.pk).update(max_cells=99)
    assert [(one.kind, one.where) for one in verify().findings] == [("row.differs", sweep.scope)]


def test_ledger_finds_a_cap_nobody_recorded() -> None:
    sweep = start_sweep(OPERATOR, locked(small_study()), idempotency_key="k")
    assert verify().findings == ()
    Sweep.objects.filter(pk=sweep.pk).update(max_cells=99)
    assert [one.message for one in verify().findings] == ["max_cells: it is set and no record says so."]


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"max_cells": "0"}, "max_cells"),
        ({"max_cells": "-1"}, "max_cells"),
        ({"max_cells": "1.5"}, "max_cells"),
        ({"max_cells": "²"}, "max_cells"),
        ({"max_cells": "99999999999"}, "max_cells"),
        ({"max_minutes": "True"}, "max_minutes"),
        ({"max_cost": "NaN", "price_input": "1"}, "max_cost"),
        ({"max_cost": "0", "price_input": "1"}, "max_cost"),
        ({"max_cost": "1"}, "max_cost"),
        ({"price_input": "-1"}, "price_input"),
        ({"price_output": "1e400"}, "price_output"),
        ({"price_output": "Infinity"}, "price_output"),
    ],
)
def test_cap_that_is_none_is_refused_by_name(given: dict[str, str], where: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_limits(given)
    assert refused.value.where == where
    assert refused.value.mend


def test_caps_are_read_kept_and_taken_away() -> None:
    limits = read_limits({"max_cells": " 10 ", "max_cost": "2.50", "price_input": "0.15", "price_output": ""})
    assert limits == Limits(10, None, Decimal("2.50"), Decimal("0.15"), None)
    assert limits.as_text() == {"max_cells": "10", "max_cost": "2.5", "price_input": "0.15"}
    assert read_limits({"max_cells": "none", "max_minutes": "3"}, limits) == Limits(
        None, 3, Decimal("2.50"), Decimal("0.15"), None
    )
    assert reached(limits, Used(9, 1e9, 16_000_000, 0)) == ""
    assert "2.55 of at most 2.50" in reached(limits, Used(9, 1e9, 17_000_000, 0))

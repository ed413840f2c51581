"""Fix a plan before its first cell runs."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from annotate.permissions import By, actor_for, person_or_none, require
from evaluation.models import Plan, Sweep
from evaluation.services.problems import PlanLocked
from ledger.domain.canonical import parse_canonical
from ledger.services.append import append

PLAN_LOCKED = "plan.locked"


def lock_plan(*, by: By, plan: Plan) -> Plan:
    """Lock `plan`: digest, author and time are recorded and nothing about it changes any more.

    A plan locked after any sweep opened the held-out partition of the same fixture set (same digest) is post hoc: it
    can reject or explore, it cannot accept. Permission `plan.lock`. Raises PlanLocked for a locked plan, NotAllowed.
    """
    require(actor_for(by, plan.study), "plan.lock")
    with transaction.atomic():
        # Held until the commit, so that a sweep of the same fixture set cannot start between the look and the lock.
        locked = Plan.objects.select_for_update().get(pk=plan.pk)
        post_hoc = Sweep.objects.filter(plan__fixture_set__digest=plan.fixture_set.digest, held_out=True).exists()
        taken = Plan.objects.filter(pk=plan.pk, locked_at=None).update(
            locked_at=Now(), locked_by=person_or_none(by), post_hoc=post_hoc
        )
        if not taken:
            raise PlanLocked(
                f"The plan “{locked.name}” was locked on {locked.locked_at:%Y-%m-%d %H:%M} UTC and cannot be locked or "
                "changed again. Write another plan; the locked one stays beside it."
            )
        plan.refresh_from_db()
        append(
            PLAN_LOCKED,
            {
                "digest": plan.digest,
                "fixture_set": plan.fixture_set.digest,
                "name": plan.name,
                "plan": parse_canonical(bytes(plan.canonical)),
                "post_hoc": plan.post_hoc,
                "locked_by": by.username,
            },
            scope=f"study:{plan.study.slug}",
        )
    return plan

"""Fix a plan before its first cell runs."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from annotate.domain.scopes import study_scope
from annotate.models import FixtureSet
from annotate.permissions import By, person_or_none
from annotate.services.authorise import authorise
from evaluation.models import Plan, Sweep
from evaluation.records import PLAN_LOCKED, plan_locked_payload
from evaluation.services.check_arms import check_arms
from evaluation.services.frozen_world import load_world
from evaluation.services.problems import PlanLocked
from ledger.services import append


def lock_plan(by: By, plan: Plan) -> Plan:
    """Lock `plan`: digest, author and time are recorded and nothing about it changes any more.

    A plan locked after any sweep opened the held-out partition of the same fixture set (same digest) is post hoc: it
    can reject or explore, it cannot accept. A plan that cannot run here is not locked, since nobody could mend it then.

    Permission `plan.lock`. Raises PlanLocked for a locked plan, NotAllowed, and BadInput for a tokenizer that cannot be
    loaded, a fixture set that is no corpus, or an arm whose plug-ins, splitter or chunk dump cannot be used here.
    """
    authorise(by, plan.study, "plan.lock")
    world = load_world(plan)
    check_arms(world)
    with transaction.atomic():
        # Starting a sweep locks this row too: a plan is post hoc or not by who comes first, never by both at once.
        FixtureSet.objects.select_for_update().get(pk=plan.fixture_set_id)
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
        append(PLAN_LOCKED, {**plan_locked_payload(plan), "by": by.username}, study_scope(plan.study.slug))
    return plan

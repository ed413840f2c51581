"""Write a plan down for a fixture set. It can still be changed by writing another; locking fixes it."""

from __future__ import annotations

from django.db import transaction

from annotate.models import FixtureSet
from annotate.permissions import By, person_or_none
from annotate.services.authorise import authorise
from evaluation.domain.plan import Plan as PlanValue
from evaluation.domain.plan_toml import parse_plan, plan_from_payload, plan_payload
from evaluation.models import Plan
from evaluation.services.plugins import installed_plugins
from ledger.domain.canonical import canonical_bytes, digest, parse_canonical


def write_plan(by: By, *, fixture_set: FixtureSet, toml: str) -> Plan:
    """Read a plan's TOML and keep it, with the canonical payload that will be locked, for `fixture_set`.

    Permission `plan.write`. Raises `PlanRefused` with every problem and its line, and `NotAllowed`. Nothing is kept
    then. The same text written twice is one plan as long as it is not locked.
    """
    study = fixture_set.study
    authorise(by, study, "plan.write")
    value = parse_plan(toml, installed_plugins().known_names())
    canonical = canonical_bytes(plan_payload(value))
    with transaction.atomic():
        same = Plan.objects.filter(
            fixture_set=fixture_set, digest=digest(canonical), toml=toml, locked_at=None, written_by=person_or_none(by)
        ).first()
        if same is not None:
            return same
        return Plan.objects.create(
            study=study,
            fixture_set=fixture_set,
            name=value.name,
            toml=toml,
            canonical=canonical,
            digest=digest(canonical),
            written_by=person_or_none(by),
        )


def plan_digest(value: PlanValue) -> str:
    """Return the digest a plan is locked under."""
    return digest(canonical_bytes(plan_payload(value)))


def plan_value(plan: Plan) -> PlanValue:
    """Return the plan as it is locked: from its canonical payload, never from the TOML a person wrote.

    Raises `PlanRefused` when this version no longer reads a plan of that form, CanonicalError when the row is damaged.
    """
    return plan_from_payload(parse_canonical(bytes(plan.canonical)), installed_plugins().known_names())

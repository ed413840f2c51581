"""Every arm ever run on a fixture set's held-out questions: whoever chooses among arms sees all that were tried."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from annotate.models import FixtureSet
from annotate.permissions import By
from evaluation.domain.plan_words import ArmRole
from evaluation.selectors.pages import sweeps_visible_to
from ledger.domain.canonical import parse_canonical


@dataclass(frozen=True)
class HeldOutArm:
    """One arm of one sweep that asked held-out questions, cancelled and failed sweeps included.

    `candidate` says whether the plan would release it; `comparisons` how many candidates that plan chose among.
    """

    arm: str
    role: str
    segmenter: str
    capacity: int
    overlap: int
    candidate: bool
    comparisons: int
    plan: str
    plan_digest: str
    post_hoc: bool
    sweep: int
    state: str
    started: datetime


def held_out_arms(by: By, fixture_set: FixtureSet) -> tuple[HeldOutArm, ...]:
    """Return the arms in the order their sweeps were started, as far as the person may see the study. One query."""
    sweeps = sweeps_visible_to(by).filter(plan__fixture_set=fixture_set, held_out=True).order_by("started_at", "pk")
    found = []
    for sweep in sweeps:
        # Read as it was locked: a plan that this version would refuse was run all the same, and counts.
        plan = parse_canonical(bytes(sweep.plan.canonical))
        for arm in plan["arms"]:
            found.append(
                HeldOutArm(
                    arm["name"],
                    arm["role"],
                    arm["segmenter"],
                    arm["capacity"],
                    arm["overlap"],
                    arm["name"] == plan["decision"]["candidate"],
                    sum(one["role"] == ArmRole.CANDIDATE for one in plan["arms"]),
                    sweep.plan.name,
                    sweep.plan.digest,
                    sweep.plan.post_hoc,
                    sweep.pk,
                    str(sweep.state),
                    sweep.started_at,
                )
            )
    return tuple(found)

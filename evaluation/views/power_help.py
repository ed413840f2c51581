"""How many questions a plan's tolerances need, by the assumptions of whoever asks: help before a plan is locked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from annotate.domain.errors import BadInput
from annotate.models import FixtureSet
from evaluation.domain.plan import Plan
from evaluation.domain.plan_release import Gate
from evaluation.domain.plan_words import GateKind, GateStatistic, PlanPartition
from evaluation.domain.power import Assumptions, Need, questions_needed
from evaluation.views.wording import percent, words
from ledger.domain.canonical import parse_canonical

#: What may be supposed, by the name of its field: label, hint, value at the start.
FIELDS = {
    "discordance": ("Questions on which the arms differ", "a share: 0.3 is 30 %", "0.3"),
    "step": ("By how much those differ", "1 at one phase; about 0.4 when phases are averaged", "0.5"),
    "change": ("True change expected", "0: none; −0.01: a loss of 1 %", "0"),
    "correlation": ("Correlation within a document cluster", "0 to 1", "0.3"),
    "per_cluster": ("Questions in a cluster", "1 or more", "3"),
    "power": ("Chance to accept", "0.8: four of five such studies", "0.8"),
}
_MOST = 40


@dataclass(frozen=True)
class PowerRow:
    """A gate with what it needs and what the fixture set has for it."""

    gate: str
    tolerance: str
    needs: str
    has: int
    enough: bool | None
    note: str


@lru_cache(maxsize=32)
def _counts(digest: str) -> Mapping[tuple[str, str, str], int]:
    """Count a frozen set's questions by (partition, sample, segment); equal digests are equal sets."""
    fixture_set = FixtureSet.objects.filter(digest=digest).order_by("pk")[0]
    found: dict[tuple[str, str, str], int] = {}
    for canonical in fixture_set.fixtures.values_list("canonical", flat=True).iterator(200):
        one = parse_canonical(bytes(canonical))
        place = (one["partition"], one["sample"], one["segment"])
        found[place] = found.get(place, 0) + 1
    return found


def power_help(plan: Plan, fixture_set: FixtureSet, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return the form, and, where it was sent, a row per gate or the problem with what was supposed."""
    values = {name: asked.get(name, "").strip() or start for name, (_, _, start) in FIELDS.items()}
    form = [(name, label, hint, values[name]) for name, (label, hint, _) in FIELDS.items()]
    found: dict[str, Any] = {"form": form, "rows": None, "problem": None}
    if "power" not in asked:
        return found
    try:
        numbers = {name: _number(FIELDS[name][0], text) for name, text in values.items()}
        found["rows"] = [_row(plan, gate, fixture_set, numbers) for gate in plan.gates]
    except BadInput as bad:
        found["problem"] = bad
    except ValueError as wrong:
        found["problem"] = BadInput("assumptions", str(wrong).rstrip("."), "Change what is supposed.")
    return found


def _row(plan: Plan, gate: Gate, fixture_set: FixtureSet, numbers: Mapping[str, float]) -> PowerRow:
    has = _has(plan, gate, fixture_set)
    name, tolerance = words(gate.name), percent(gate.tolerance)
    if gate.kind is GateKind.ATTRIBUTION:
        return PowerRow(name, tolerance, "not a difference", has, None, "A single share, read by its own interval.")
    if not Decimal(gate.tolerance):
        return PowerRow(name, tolerance, "no number", has, None, "A tolerance of 0 accepts no difference at all.")
    need = _need(plan, gate, numbers)
    if need.questions is None:
        return PowerRow(name, tolerance, "no number", has, False, f"{need.reason}.")
    worst = gate.statistic is GateStatistic.WORST_PHASE
    note = (
        f"Each of {len(plan.phase_labels)} phases must clear, so more. {need.reason}." if worst else f"{need.reason}."
    )
    wanted = max(need.questions, gate.minimum_questions)
    needs = f"{'more than ' if worst else ''}{wanted:,}"
    return PowerRow(name, tolerance, needs, has, has >= wanted and not worst if not worst else None, note)


def _need(plan: Plan, gate: Gate, numbers: Mapping[str, float]) -> Need:
    sides = 2 if plan.statistics.sidedness == "two-sided" else 1
    assumed = Assumptions(
        tolerance=float(gate.tolerance),
        discordance=numbers["discordance"],
        step=1.0 if gate.statistic is GateStatistic.WORST_PHASE else numbers["step"],
        change=numbers["change"],
        correlation=numbers["correlation"],
        per_cluster=numbers["per_cluster"],
        error=float((1 - Decimal(plan.statistics.confidence)) / sides),
    )
    return _needed(assumed, numbers["power"])


_needed = lru_cache(maxsize=256)(questions_needed)


def _has(plan: Plan, gate: Gate, fixture_set: FixtureSet) -> int:
    segments = {str(one) for one in plan.population.segments}
    partition = plan.population.partition
    return sum(
        count
        for (where, sample, segment), count in _counts(fixture_set.digest).items()
        if partition in {PlanPartition.ALL, where}
        and sample == gate.sample
        and segment in segments
        and gate.segment in {None, segment}
    )


def _number(label: str, text: str) -> float:
    try:
        found = Decimal(text.replace("−", "-"))
    except InvalidOperation as error:
        raise BadInput(label, f"“{text[:_MOST]}” is no number", "Write it like 0.3.") from error
    # The exponent first: of what has a huge one, nothing can be computed.
    if not found.is_finite() or abs(found.adjusted()) > 12 or abs(found) > 1_000_000:
        raise BadInput(label, f"“{text[:_MOST]}” is out of range", "Write it like 0.3.")
    return float(found)

"""By which rule a frozen set is divided into development and held-out, and what stands on each side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotate.domain.partition import DOCUMENT, TEMPLATE_RULE
from annotate.domain.scopes import study_scope
from annotate.domain.vocabulary import Partition
from annotate.models import FixtureSet
from annotate.records_passes import FIXTURES_FROZEN
from annotate.selectors.fixtures import fixture_values
from annotate.selectors.frozen_shares import documents_by_digest, shares_of
from ledger.selectors.records import records

GROUP, CLUSTER = "question group", "cluster"


@dataclass(frozen=True)
class SideCount:
    """How many questions and distinct names stand in one partition, or (`partition` None) on both sides at once."""

    partition: Partition | None
    questions: int
    groups: int
    documents: int
    templates: int
    clusters: int


@dataclass(frozen=True)
class FrozenPartition:
    """What the freeze kept on one side (`apart`, question groups always among it), and the counts of each side.

    `apart` is None where the ledger has no record of the freeze.
    """

    apart: tuple[str, ...] | None
    sides: tuple[SideCount, ...]
    both: SideCount


def frozen_partition(fixture_set: FixtureSet) -> FrozenPartition:
    """Return how a set is divided. A question without support counts for its cluster's document, as the freeze did.

    Two queries, whatever the number of fixtures.
    """
    values = fixture_values(fixture_set)
    document_of = documents_by_digest(fixture_set)
    names = {side: _names([value for value in values if value["partition"] == side], document_of) for side in Partition}
    sides = tuple(
        _count(side, sum(value["partition"] == side for value in values), found)
        for side, found in names.items()
        if any(value["partition"] == side for value in values)
    )
    shared = {what: frozenset.intersection(*(found[what] for found in names.values())) for what in _WHAT}
    return FrozenPartition(kept_on_one_side(fixture_set), sides, _count(None, 0, shared))


_WHAT = (GROUP, DOCUMENT, TEMPLATE_RULE, CLUSTER)


def _names(values: Iterable[Mapping[str, Any]], document_of: Mapping[str, str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {what: set() for what in _WHAT}
    for value in values:
        found[GROUP].update([value["group"]] if value["group"] else [])
        shares = shares_of(value, document_of)
        found[DOCUMENT].update(shares.documents)
        found[TEMPLATE_RULE].update(shares.templates)
        found[CLUSTER].update({value["cluster"]} - {""})
    return {what: frozenset(names) for what, names in found.items()}


def _count(side: Partition | None, questions: int, found: Mapping[str, frozenset[str]]) -> SideCount:
    return SideCount(side, questions, *(len(found[what]) for what in _WHAT))


def kept_on_one_side(fixture_set: FixtureSet) -> tuple[str, ...] | None:
    """Return what the freeze's record says was kept on one side; None without a record of this set."""
    rows = records(scopes=[study_scope(fixture_set.study.slug)], labels=[], kinds=[FIXTURES_FROZEN])
    for row in rows:
        told = row.value
        if (told["name"], told["digest"]) == (fixture_set.name, fixture_set.digest):
            return (GROUP, *(word for word in (DOCUMENT, TEMPLATE_RULE) if word in told.get("apart", ())))
    return None

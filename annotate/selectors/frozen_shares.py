"""What frozen questions share with others across the partition: documents and templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotate.domain.partition import Shares, template_of
from annotate.domain.vocabulary import Partition
from annotate.models import Fixture, FixtureSet, Study
from ledger.domain.canonical import parse_canonical


def documents_by_digest(fixture_set: FixtureSet) -> dict[str, str]:
    """Return the document id of each source version of a set; of two with equal bytes the first by id stands."""
    found: dict[str, str] = {}
    for source in parse_canonical(bytes(fixture_set.canonical))["sources"]:
        found.setdefault(source["digest"], source["document_id"])
    return found


def shares_of(value: Mapping[str, Any], document_of: Mapping[str, str]) -> Shares:
    """Return what a frozen question (a parsed canonical value) shares.

    One without support counts for its cluster's document, as the freeze did.
    """
    documents = {document_of[span["version"]] for members in value["support_sets"] for span in members}
    return Shares(
        Partition(value["partition"]),
        tuple(sorted(documents or {value["cluster"]} - {""})),
        tuple(template_of(value["slice_tags"])),
    )


def shares_of_frozen(study: Study) -> dict[str, Shares]:
    """Return what each question frozen in the study shares, by key, as its newest set has it. Two queries."""
    sets = {row.pk: documents_by_digest(row) for row in FixtureSet.objects.filter(study=study)}
    rows = Fixture.objects.filter(fixture_set__in=sets).select_related("question").order_by("fixture_set_id")
    return {
        row.question.key: shares_of(parse_canonical(bytes(row.canonical)), sets[row.fixture_set_id]) for row in rows
    }

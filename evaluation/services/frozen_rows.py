"""Reads a locked fixture set into values, comparing every digest on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from annotate.domain.fixture import FIXTURE_FORMAT, SET_FORMAT
from annotate.domain.vocabulary import DependencyType, MissingBehaviour, Partition, Sample, Segment
from annotate.models import FixtureSet, SourceVersion
from evaluation.domain.frozen import Document, FrozenQuestion, Interval, RestrictedRange, SupportSpan
from ledger.domain.canonical import digest, parse_canonical


class DamagedFixtures(ValueError):
    """A fixture set whose rows are not what was frozen; the message names the row."""


@dataclass(frozen=True)
class Frozen:
    """The documents and questions of a fixture set."""

    documents: tuple[Document, ...]
    questions: tuple[FrozenQuestion, ...]


def read_frozen(fixture_set: FixtureSet) -> Frozen:
    """Return the documents and questions of a fixture set.

    Every fixture named in the set's manifest must be there with its digest, and every source version with its bytes
    (which `prepare_corpus` hashes). Raises DamagedFixtures for the first that is not.
    """
    manifest = _parsed(bytes(fixture_set.canonical), fixture_set.digest, f"fixture set {fixture_set.name}", SET_FORMAT)
    rows = {row.fixture_id: bytes(row.canonical) for row in fixture_set.fixtures.iterator(chunk_size=200)}
    named = {entry["fixture_id"]: entry["digest"] for entry in manifest["fixtures"]}
    if rows.keys() != named.keys():
        odd = ", ".join(sorted(rows.keys() ^ named.keys())[:5])
        raise DamagedFixtures(f"fixture set {fixture_set.name}: rows and manifest differ in {odd}. Verify the ledger.")
    return Frozen(
        _documents(fixture_set, manifest["sources"]),
        tuple(question_of(_parsed(rows[one], named[one], f"fixture {one}", FIXTURE_FORMAT)) for one in sorted(named)),
    )


def _parsed(data: bytes, expected: str, what: str, form: str) -> dict[str, Any]:
    if digest(data) != expected:
        raise DamagedFixtures(f"{what}: its bytes do not have the digest {expected}. Run manage.py verify_ledger.")
    value: dict[str, Any] = parse_canonical(data)
    if value["format"] != form:
        raise DamagedFixtures(f"{what}: it has the format {value['format']!r}; this version reads {form!r}.")
    return value


def _documents(fixture_set: FixtureSet, sources: list[dict[str, Any]]) -> tuple[Document, ...]:
    wanted = [source["digest"] for source in sources]
    stored = dict(
        SourceVersion.objects.filter(source__study_id=fixture_set.study_id, sha256__in=wanted).values_list(
            "sha256", "content"
        )
    )
    documents = []
    for source in sources:
        if source["digest"] not in stored:
            name = f"{source['document_id']} {source['version_label']}"
            raise DamagedFixtures(f"source {name} ({source['digest'][:12]}…) is gone. Run manage.py verify_ledger.")
        documents.append(document_of(source, bytes(stored[source["digest"]])))
    return tuple(documents)


def document_of(source: Mapping[str, Any], content: bytes) -> Document:
    """Return a version as a set's manifest names it, with its bytes."""
    return Document(
        document_id=source["document_id"],
        version_label=source["version_label"],
        digest=source["digest"],
        content=content,
        observation_date=date.fromisoformat(source["observation_date"]),
        effective_from=_day(source["effective_from"]),
        effective_to=_day(source["effective_to"]),
        media_type=source["media_type"],
        locale=source["locale"],
        tenant=source["tenant"],
        supersedes=source["supersedes"],
        access_labels=frozenset(source["access_labels"]),
        access_ranges=tuple(
            RestrictedRange(start, end, frozenset(labels)) for start, end, labels in source["access_ranges"]
        ),
    )


def question_of(fixture: Mapping[str, Any]) -> FrozenQuestion:
    """Return a parsed canonical fixture as a value."""
    name = fixture["question_id"]
    return FrozenQuestion(
        question_id=name,
        text=fixture["text"],
        answerable=fixture["answerable"],
        support_sets=tuple(tuple(_span(span) for span in members) for members in fixture["support_sets"]),
        segment=Segment(fixture["segment"]),
        sample=Sample(fixture["sample"]),
        partition=Partition(fixture["partition"]),
        # A question that stands with no document is resampled alone.
        cluster=fixture["cluster"] or f"question:{name}",
        reader_labels=frozenset(fixture["reader_labels"]),
        as_of=date.fromisoformat(fixture["as_of"]),
        locale=fixture["locale"],
        group=fixture["group"],
        expected_answer=fixture["expected_answer"],
        scope=fixture["scope"],
        qualification=fixture["qualification"],
        dependency=DependencyType(fixture["dependency"]),
        missing_behaviour=MissingBehaviour(fixture["missing_behaviour"]),
        missing_text=fixture["missing_text"],
        mandatory=fixture["mandatory"],
        slice_tags=tuple(fixture["slice_tags"]),
        forbidden=tuple(Interval(span["version"], span["start"], span["end"]) for span in fixture["forbidden"]),
    )


def _span(span: Mapping[str, Any]) -> SupportSpan:
    return SupportSpan(
        name=span["name"],
        interval=Interval(span["version"], span["start"], span["end"]),
        label=span["label"],
        necessary=span["necessary"],
    )


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None

"""A frozen question and a frozen set as canonical-ready dicts. Their canonical bytes are what is hashed and kept.

Integers, strings, booleans and null only. Everything a sweep needs to know of a question stands in its fixture and
everything it needs to know of the sources in the set's manifest, so that a set can be read without any other row but
the sources' bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.content_codec import normalised, span_payload
from annotate.domain.vocabulary import Necessity, Partition, Sample, Segment, StudyKind
from ledger.domain.canonical import canonical_bytes, digest

FIXTURE_FORMAT = "cutline-fixture/1"
SET_FORMAT = "cutline-fixture-set/1"


@dataclass(frozen=True)
class QuestionFacts:
    """A question as it was asked: who reads, as of when, and how it came into the study."""

    key: str
    text: str
    as_of: date
    locale: str
    reader_labels: frozenset[str]
    sample: Sample
    partition: Partition
    group: str = ""
    slice_tags: tuple[str, ...] = ()
    mandatory: bool = False


@dataclass(frozen=True)
class FrozenBytes:
    """Canonical bytes with their SHA-256 in hex."""

    canonical: bytes
    digest: str

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> FrozenBytes:
        """Return the canonical bytes of a payload."""
        data = canonical_bytes(dict(payload))
        return cls(data, digest(data))


def fixture_payload(
    facts: QuestionFacts,
    content: PassContent,
    segment: Segment,
    cluster: str,
    necessity: Mapping[str, Necessity],
) -> dict[str, Any]:
    """Return a fixture: the question, its settled support and answer, its segment and its document cluster.

    A span of a support set that nobody judged (an import without adjudication) counts as necessary. Sets, spans, tags
    and labels stand in their stable order; `other_spans` stand in no set and are not forbidden.
    """
    ordered = normalised(content)
    in_sets = {name for members in ordered.sets for name in members}
    contract = ordered.contract

    def member(name: str) -> dict[str, Any]:
        word = necessity.get(name, Necessity.NECESSARY)
        return {**span_payload(ordered.span(name)), "necessary": word is Necessity.NECESSARY}

    def is_other(span: MarkedSpan) -> bool:
        return span.name not in in_sets and span.name not in ordered.forbidden

    return {
        "format": FIXTURE_FORMAT,
        "question_id": facts.key,
        "text": facts.text,
        "as_of": facts.as_of.isoformat(),
        "locale": facts.locale,
        "reader_labels": sorted(facts.reader_labels),
        "sample": facts.sample.value,
        "partition": facts.partition.value,
        "group": facts.group,
        "slice_tags": sorted(set(facts.slice_tags)),
        "mandatory": facts.mandatory,
        "segment": segment.value,
        "cluster": cluster,
        "answerable": bool(contract.answerable),
        "expected_answer": contract.answer,
        "scope": contract.scope,
        "qualification": contract.qualification,
        "dependency": contract.dependency.value,
        "missing_behaviour": contract.missing_behaviour.value,
        "missing_text": contract.missing_text,
        "support_sets": [[member(name) for name in members] for members in ordered.sets],
        "other_spans": [span_payload(span) for span in ordered.spans if is_other(span)],
        "forbidden": [span_payload(ordered.span(name)) for name in ordered.forbidden],
    }


def set_manifest(
    study: str, kind: StudyKind, fixtures: Mapping[str, str], sources: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the manifest of a set: every fixture's digest by id, and every source version of the study.

    The set's name is not in it: sets with equal content have equal digests.
    """
    return {
        "format": SET_FORMAT,
        "study": study,
        "kind": kind.value,
        "fixtures": [{"fixture_id": key, "digest": fixtures[key]} for key in sorted(fixtures)],
        "sources": sorted(
            (dict(source) for source in sources), key=lambda source: (source["document_id"], source["version_label"])
        ),
    }


def fixture_spans(fixture: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a fixture's spans of sets and its other spans, each once, in the order of version and text."""
    found = {
        span["name"]: {key: span[key] for key in ("version", "start", "end", "name", "label")}
        for span in (*(span for members in fixture["support_sets"] for span in members), *fixture["other_spans"])
    }
    return sorted(found.values(), key=lambda span: (span["version"], span["start"], span["end"], span["name"]))

"""What the ledger is told about the rows of this half of the app: one payload per kind, built from the row alone.

The services append these payloads and `annotate.verifiers` rebuilds them to compare, so a row cannot drift from what
was recorded. `by` is the only member that is not rebuilt: it names who acted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from annotate.domain.scopes import study_scope
from annotate.models import AdjudicatedResult, Assignment, Membership, Person, Question, SourceVersion, Study
from annotate.permissions import By
from ledger.domain.canonical import canonical_bytes
from ledger.models import Record
from ledger.services import append

STUDY_CREATED = "study.created"
PERSON_CREATED = "person.created"
MEMBER_SET = "member.set"
SOURCE_IMPORTED = "source.imported"
QUESTION_WRITTEN = "question.written"
QUESTION_ASSIGNED = "question.assigned"
DATASET_IMPORTED = "dataset.imported"
RESULT_IMPORTED = "result.imported"


def study_payload(study: Study) -> dict[str, Any]:
    """Return what identifies a study."""
    return {"study": study.slug, "kind": study.kind}


def member_payload(membership: Membership) -> dict[str, Any]:
    """Return one role of one person; needs `study` and `person` loaded."""
    return {
        "study": membership.study.slug,
        "person": membership.person.username,
        "role": membership.role,
        "clearance": sorted(membership.clearance),
    }


def source_payload(version: SourceVersion) -> dict[str, Any]:
    """Return everything about a version but its bytes, which `sha256` names; needs `source.study` and `supersedes`."""
    source = version.source
    return {
        "study": source.study.slug,
        "document_id": source.document_id,
        "title": source.title,
        "tenant": source.tenant,
        "version_label": version.version_label,
        "sha256": version.sha256,
        "byte_length": version.byte_length,
        "observation_date": version.observation_date.isoformat(),
        "effective_from": _day(version.effective_from),
        "effective_to": _day(version.effective_to),
        "media_type": version.media_type,
        "locale": version.locale,
        "supersedes": version.supersedes.sha256 if version.supersedes else None,
        "access_labels": sorted(version.access_labels),
        "access_ranges": [[start, end, sorted(labels)] for start, end, labels in version.access_ranges],
        "derived": derived_payload(version.derived),
    }


def derived_payload(derived: dict[str, Any]) -> dict[str, Any] | None:
    """Return a derived version's lineage; its parent's bytes and interval map are named by digest."""
    if not derived:
        return None
    return {
        "parent": derived["parent"],
        "tool": derived["tool"],
        "tool_version": derived["tool_version"],
        "settings": derived["settings"],
        "map": hashlib.sha256(canonical_bytes(derived["map"])).hexdigest(),
    }


def question_payload(question: Question) -> dict[str, Any]:
    """Return every field of a question; needs `study` loaded."""
    return {
        "study": question.study.slug,
        "key": question.key,
        "text": question.text,
        "reader_labels": sorted(question.reader_labels),
        "as_of": question.as_of.isoformat(),
        "locale": question.locale,
        "segment": question.segment,
        "slice_tags": list(question.slice_tags),
        "group": question.group,
        "sample": question.sample,
        "partition": question.partition,
        "mandatory": question.mandatory,
        "cluster_document": question.cluster_document,
    }


def result_payload(result: AdjudicatedResult) -> dict[str, Any]:
    """Return what an imported result is: its content by digest, and what was judged of its spans where it came from.

    Needs `question.study` loaded.
    """
    return {
        "study": result.question.study.slug,
        "question": result.question.key,
        "ordinal": result.ordinal,
        "segment": result.segment,
        "content": hashlib.sha256(bytes(result.content)).hexdigest(),
        "spans": [
            {"span": row.span_name, "necessity": row.necessity, "reason": row.reason}
            for row in result.span_decisions.order_by("span_name")
        ],
    }


def record_study(study: Study, by: By) -> Record:
    """Append that a study was created."""
    return append(STUDY_CREATED, {**study_payload(study), "by": by.username}, study_scope(study.slug))


def record_person(person: Person, by: By) -> Record:
    """Append that a person was given a sign-in; the scope is no study's."""
    return append(PERSON_CREATED, {"person": person.username, "by": by.username}, "people")


def record_member(membership: Membership, by: By) -> Record:
    """Append that a person has a role with these labels, from now on."""
    payload = {**member_payload(membership), "by": by.username}
    return append(MEMBER_SET, payload, study_scope(membership.study.slug))


def record_source(version: SourceVersion, by: By) -> Record:
    """Append that a version was imported; the record carries the version's access labels."""
    payload = {**source_payload(version), "by": by.username}
    return append(SOURCE_IMPORTED, payload, study_scope(version.source.study.slug), sorted(version.access_labels))


def record_question(question: Question, by: By) -> Record:
    """Append that a question was written, or written anew before anybody submitted a pass on it.

    The record carries the labels of the question's reader.
    """
    payload = {**question_payload(question), "by": by.username}
    return append(QUESTION_WRITTEN, payload, study_scope(question.study.slug), sorted(question.reader_labels))


def record_assignments(study: Study, made: Sequence[Assignment], by: By) -> Record:
    """Append who was given which slot of which question, one record for all."""
    payload = {
        "study": study.slug,
        "assigned": [
            {"question": item.question.key, "slot": item.slot, "annotator": item.annotator.username} for item in made
        ],
        "by": by.username,
    }
    return append(QUESTION_ASSIGNED, payload, study_scope(study.slug))


def record_result(result: AdjudicatedResult, by: By) -> Record:
    """Append that a settled result came with an import."""
    payload = {**result_payload(result), "by": by.username}
    labels = sorted(result.question.reader_labels)
    return append(RESULT_IMPORTED, payload, study_scope(result.question.study.slug), labels)


def _day(day: Any) -> str | None:
    return day.isoformat() if day else None

"""What the ledger is told about the rows of this half of the app: one payload per kind, built from the row alone.

The services append these payloads and `annotate.verifiers` rebuilds them to compare, so a row cannot drift from what
was recorded. `by` is rebuilt where the row names its author (`authored`); elsewhere no row names who acted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from annotate.domain.scopes import study_scope
from annotate.models import AdjudicatedResult, Assignment, Guideline, Membership, Person, Question, SourceVersion, Study
from annotate.permissions import OPERATOR, By
from ledger.domain.canonical import canonical_bytes
from ledger.domain.chain import timestamp
from ledger.models import Record
from ledger.services import append

STUDY_CREATED = "study.created"
GUIDELINE_PUBLISHED = "guideline.published"
PERSON_CREATED = "person.created"
MEMBER_SET = "member.set"
SOURCE_IMPORTED = "source.imported"
QUESTION_WRITTEN = "question.written"
QUESTION_ASSIGNED = "question.assigned"
DATASET_IMPORTED = "dataset.imported"
RESULT_IMPORTED = "result.imported"


def authored(person: Person | None, moment: datetime) -> dict[str, str]:
    """Return who a row names as its author (nobody: the operator) and its own time, to the microsecond."""
    return {"by": person.username if person else OPERATOR.username, "at": timestamp(moment)}


def study_payload(study: Study) -> dict[str, Any]:
    """Return what a study is called and when its row was made."""
    return {
        "study": study.slug,
        "kind": study.kind,
        "title": study.title,
        "description": study.description,
        "at": timestamp(study.created_at),
    }


def guideline_payload(guideline: Guideline) -> dict[str, Any]:
    """Return one version of a study's guideline, its text by digest; needs `study` and `published_by`."""
    return {
        "study": guideline.study.slug,
        "number": guideline.number,
        "text": hashlib.sha256(guideline.text.encode()).hexdigest(),
        "labels": list(guideline.labels),
        "change_note": guideline.change_note,
        **authored(guideline.published_by, guideline.published_at),
    }


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


def recorded_source(version: SourceVersion) -> dict[str, Any]:
    """Return what a version's record says: `source_payload`, whose version it supersedes, and its row's author.

    Needs what `source_payload` does, `supersedes.source` and `imported_by`.
    """
    older = version.supersedes
    return {
        **source_payload(version),
        # Two documents can have the same bytes.
        "supersedes_document": older.source.document_id if older else None,
        **authored(version.imported_by, version.imported_at),
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
        "alternatives_reason": result.alternatives_reason,
        **authored(result.settled_by, result.settled_at),
    }


def assigned_payload(assignment: Assignment) -> dict[str, Any]:
    """Return who was given which slot, and when; needs `question` and `annotator`."""
    return {
        "question": assignment.question.key,
        "slot": assignment.slot,
        "annotator": assignment.annotator.username,
        "at": timestamp(assignment.created_at),
    }


def record_guideline(guideline: Guideline, by: By) -> Record:
    """Append that a guideline was published; every service that makes one calls this."""
    payload = {**guideline_payload(guideline), "by": by.username}
    return append(GUIDELINE_PUBLISHED, payload, study_scope(guideline.study.slug))


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


def record_source(version: SourceVersion) -> Record:
    """Append that a version was imported, by its row's author; the record carries the version's access labels."""
    payload = recorded_source(version)
    return append(SOURCE_IMPORTED, payload, study_scope(version.source.study.slug), sorted(version.access_labels))


def record_question(question: Question, by: By) -> Record:
    """Append that a question was written, or written anew before anybody submitted a pass on it.

    The record carries the labels of the question's reader.
    """
    first = authored(question.written_by, question.created_at)
    payload = {**question_payload(question), "first": first, "by": by.username}
    return append(QUESTION_WRITTEN, payload, study_scope(question.study.slug), sorted(question.reader_labels))


def record_assignments(study: Study, made: Sequence[Assignment], by: By) -> Record:
    """Append who was given which slot of which question, one record for all."""
    payload = {
        "study": study.slug,
        "assigned": [assigned_payload(item) for item in made],
        "by": by.username,
    }
    return append(QUESTION_ASSIGNED, payload, study_scope(study.slug))


def record_result(result: AdjudicatedResult) -> Record:
    """Append that a settled result came with an import, by the author its row names."""
    payload = result_payload(result)
    labels = sorted(result.question.reader_labels)
    return append(RESULT_IMPORTED, payload, study_scope(result.question.study.slug), labels)


def _day(day: Any) -> str | None:
    return day.isoformat() if day else None

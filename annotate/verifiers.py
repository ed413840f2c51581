"""Compares what the ledger was told about sources, questions, people and imports with the rows as they stand.

One verifier per kind where a record describes one row for good (source versions, imported results); one per table where
a later record replaces an earlier one (questions, memberships) or where a row without any record must be found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from annotate import records
from annotate.domain.errors import BadInput
from annotate.models import (
    AdjudicatedResult,
    Assignment,
    Guideline,
    Membership,
    Person,
    Question,
    SourceVersion,
    Study,
)
from annotate.records_passes import PASS_RETURNED, PASS_SUBMITTED
from annotate.records_pauses import TASK_PAUSED, TASK_RESUMED, pause_findings
from annotate.services.transcode import made_again
from annotate.verifiers_comparing import compare_row
from ledger import registry
from ledger.domain.findings import Finding
from ledger.models import Record


def register_all() -> None:
    """Register every kind and table of this module; called once, when Django starts."""
    registry.register(records.STUDY_CREATED, verify_study, text_fields=("title", "description"))
    registry.register(records.GUIDELINE_PUBLISHED, verify_guideline, text_fields=("text", "change_note"))
    registry.register(records.PERSON_CREATED, verify_person, text_fields=("person",))
    registry.register(records.SOURCE_IMPORTED, verify_source, text_fields=("title",))
    registry.register(records.RESULT_IMPORTED, verify_result, text_fields=("content", "alternatives_reason"))
    registry.register_plain(records.MEMBER_SET)
    registry.register_plain(records.QUESTION_WRITTEN, text_fields=("text",))
    registry.register_plain(records.QUESTION_ASSIGNED)
    registry.register_plain(records.DATASET_IMPORTED)
    registry.register_plain(TASK_PAUSED, text_fields=("reason",))
    registry.register_plain(TASK_RESUMED)
    registry.register_table(Membership._meta.db_table, verify_memberships)
    registry.register_table(SourceVersion._meta.db_table, verify_sources_recorded)
    registry.register_table(Question._meta.db_table, verify_questions)
    registry.register_table(Study._meta.db_table, verify_studies_recorded)
    registry.register_table(Person._meta.db_table, verify_people_recorded)
    registry.register_table(Guideline._meta.db_table, verify_guidelines_recorded)
    registry.register_table(Assignment._meta.db_table, verify_assignments)


def verify_study(record: Record) -> Iterator[Finding]:
    """Find the study the record names, of the kind it names."""
    study = Study.objects.filter(slug=record.value["study"]).first()
    where = f"study {record.value['study']}"
    yield from compare_row(record.value, records.study_payload(study) if study else None, record.seq, where)


def verify_guideline(record: Record) -> Iterator[Finding]:
    """Compare one version of a guideline."""
    told = record.value
    row = (
        Guideline.objects.select_related("study", "published_by")
        .filter(study__slug=told["study"], number=told["number"])
        .first()
    )
    where = f"guideline {told['number']} of {told['study']}"
    yield from compare_row(told, records.guideline_payload(row) if row else None, record.seq, where)


def verify_person(record: Record) -> Iterator[Finding]:
    """Find the person the record names."""
    name = record.value["person"]
    person = Person.objects.filter(username=name).first()
    yield from compare_row(record.value, {"person": person.username} if person else None, record.seq, f"person {name}")


def verify_source(record: Record) -> Iterator[Finding]:
    """Compare every field, hash the bytes again, and make a derived version again from its parent."""
    told = record.value
    where = f"source {told['document_id']} {told['version_label']} of {told['study']}"
    version = (
        SourceVersion.objects.select_related("source__study", "supersedes__source", "imported_by")
        .filter(
            source__study__slug=told["study"],
            source__document_id=told["document_id"],
            version_label=told["version_label"],
        )
        .first()
    )
    if version is None:
        yield from compare_row(told, None, record.seq, where)
        return
    yield from compare_row(told, records.recorded_source(version), record.seq, where)
    content = bytes(version.content)
    digest = hashlib.sha256(content).hexdigest()
    if digest != told["sha256"]:
        yield Finding("source.bytes", record.seq, where, f"its bytes hash to {digest}, recorded is {told['sha256']}.")
    if len(content) != told["byte_length"]:
        yield Finding(
            "source.bytes", record.seq, where, f"it has {len(content)} bytes, {told['byte_length']} recorded."
        )
    if version.derived:
        try:
            made = made_again(version)
        except (BadInput, ValueError) as error:
            yield Finding("source.lineage", record.seq, where, f"it cannot be made again from its parent: {error}.")
            return
        if (made.content, made.parent) != (content, version.derived["parent"]):
            yield Finding("source.lineage", record.seq, where, "its parent and recipe give other bytes.")
        elif [list(run) for run in made.runs] != version.derived["map"]:
            yield Finding("source.lineage", record.seq, where, "its interval map is not that of its recipe.")


def verify_studies_recorded() -> Iterator[Finding]:
    """Find studies nobody created."""
    yield from _unrecorded("study", Study.objects.values_list("slug"), _latest(records.STUDY_CREATED, "study"))


def verify_people_recorded() -> Iterator[Finding]:
    """Find sign-ins nobody made."""
    yield from _unrecorded("person", Person.objects.values_list("username"), _latest(records.PERSON_CREATED, "person"))


def verify_guidelines_recorded() -> Iterator[Finding]:
    """Find guidelines nobody published."""
    told = _latest(records.GUIDELINE_PUBLISHED, "study", "number")
    yield from _unrecorded("guideline", Guideline.objects.values_list("study__slug", "number"), told)


def verify_result(record: Record) -> Iterator[Finding]:
    """Compare an imported result, its content by digest."""
    told = record.value
    result = (
        AdjudicatedResult.objects.select_related("question__study", "settled_by")
        .filter(question__study__slug=told["study"], question__key=told["question"], ordinal=told["ordinal"])
        .first()
    )
    where = f"result {told['ordinal']} of {told['study']}/{told['question']}"
    yield from compare_row(told, records.result_payload(result) if result else None, record.seq, where)
    if result and result.digest != told["content"]:
        yield Finding("row.differs", record.seq, where, f"its digest column says {result.digest}.")


def verify_sources_recorded() -> Iterator[Finding]:
    """Find versions nobody recorded."""
    told = _latest(records.SOURCE_IMPORTED, "study", "document_id", "version_label")
    stored = SourceVersion.objects.values_list("source__study__slug", "source__document_id", "version_label")
    yield from _unrecorded("source", stored, told)
    results = AdjudicatedResult.objects.filter(item__isnull=True).values_list(
        "question__study__slug", "question__key", "ordinal"
    )
    yield from _unrecorded("imported result", results, _latest(records.RESULT_IMPORTED, "study", "question", "ordinal"))


def verify_questions() -> Iterator[Finding]:
    """Compare each question with the last record of it, both ways."""
    rows = {
        (question.study.slug, question.key): {
            **records.question_payload(question),
            "first": records.authored(question.written_by, question.created_at),
        }
        for question in Question.objects.select_related("study", "written_by").iterator()
    }
    yield from _both_ways("question", rows, _latest(records.QUESTION_WRITTEN, "study", "key"))


def verify_memberships() -> Iterator[Finding]:
    """Compare each role and its labels with the last record of it, both ways."""
    rows = {
        (membership.study.slug, membership.person.username, membership.role): records.member_payload(membership)
        for membership in Membership.objects.select_related("study", "person").iterator()
    }
    yield from _both_ways("membership", rows, _latest(records.MEMBER_SET, "study", "person", "role"))


def verify_assignments() -> Iterator[Finding]:
    """Compare who holds which slot with what was recorded, both ways, and what was done with it last."""
    told: dict[tuple[Any, ...], tuple[int, dict[str, Any]]] = {}
    for record in Record.objects.filter(kind=records.QUESTION_ASSIGNED).order_by("seq").iterator():
        value = record.value
        for item in value["assigned"]:
            told[value["study"], item["question"], item["annotator"]] = (record.seq, item)
    rows, stands = {}, _where_passes_stand()
    for row in Assignment.objects.select_related("question__study", "annotator").iterator():
        slug, payload = row.question.study.slug, records.assigned_payload(row)
        rows[slug, payload["question"], payload["annotator"]] = payload
        if row.state == Assignment.State.WITHDRAWN:
            continue
        last = stands.get((slug, row.question.key, row.slot), Assignment.State.OPEN)
        if row.state != last:
            where = _place("assignment", (slug, row.question.key, row.slot))
            yield Finding("row.differs", None, where, f"it is {row.state}, and by what was recorded last it is {last}.")
    yield from _both_ways("assignment", rows, told)
    yield from pause_findings()


def _where_passes_stand() -> dict[tuple[Any, ...], str]:
    """Return each slot's state as the last record of a submission or return leaves it."""
    stands: dict[tuple[Any, ...], str] = {}
    for record in Record.objects.filter(kind__in=[PASS_SUBMITTED, PASS_RETURNED]).order_by("seq").iterator():
        value = record.value
        submitted = record.kind == PASS_SUBMITTED
        state = Assignment.State.SUBMITTED if submitted else Assignment.State.RETURNED
        stands[value["study"], value["question"], value["slot"]] = state
    return stands


def _latest(kind: str, *key: str) -> dict[tuple[Any, ...], tuple[int, dict[str, Any]]]:
    """Return the last record of each thing as (chain position, payload)."""
    latest = {}
    for record in Record.objects.filter(kind=kind).order_by("seq").iterator():
        value = record.value
        latest[tuple(value[name] for name in key)] = (record.seq, value)
    return latest


def _both_ways(
    what: str,
    rows: dict[tuple[Any, ...], dict[str, Any]],
    told: dict[tuple[Any, ...], tuple[int, dict[str, Any]]],
) -> Iterator[Finding]:
    for key, (seq, payload) in told.items():
        yield from compare_row(payload, rows.get(key), seq, _place(what, key))
    yield from _unrecorded(what, rows, told)


def _unrecorded(what: str, stored: Iterable[tuple[Any, ...]], told: dict[tuple[Any, ...], Any]) -> Iterator[Finding]:
    for key in stored:
        if key not in told:
            yield Finding("row.unrecorded", None, _place(what, key), "the row stands there without a record.")


def _place(what: str, key: tuple[Any, ...]) -> str:
    return f"{what} {'/'.join(str(part) for part in key)}"

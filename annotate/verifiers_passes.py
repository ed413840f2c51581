"""Compares what the ledger was told about passes, decisions and fixture sets with the rows, and recomputes the rest.

A submission is compared with the marks, sets and contract of its revision; an item's differences are computed again; a
settled result is built again from its decisions; every stored digest is taken again from its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import models

from annotate import records_passes as records
from annotate.domain.content_codec import content_payload
from annotate.domain.disagreements import differences
from annotate.domain.errors import BadInput
from annotate.domain.fixture import fixture_payload
from annotate.domain.settle import settle
from annotate.domain.vocabulary import Necessity, Segment
from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Assignment,
    Decision,
    DiscussionNote,
    Fixture,
    FixtureSet,
    HeldOutOpening,
    Question,
    Submission,
)
from annotate.selectors.adjudication import verdicts_of
from annotate.selectors.fixtures import result_content
from annotate.selectors.pass_history import history_digest
from annotate.selectors.passes import pass_content, submitted_content
from annotate.services.freeze_fixtures import question_facts
from annotate.verifiers_comparing import compare_row
from ledger import registry
from ledger.domain.canonical import CanonicalError, canonical_bytes, digest, parse_canonical
from ledger.domain.findings import Finding
from ledger.models import Record


def register_all() -> None:
    """Register every kind and table of this module; called once, when Django starts."""
    text = records.TEXT_FIELDS
    registry.register(records.PASS_SUBMITTED, verify_submission, text_fields=text[records.PASS_SUBMITTED])
    registry.register_plain(records.PASS_RETURNED, text_fields=text[records.PASS_RETURNED])
    registry.register(records.ITEM_OPENED, verify_item, text_fields=text[records.ITEM_OPENED])
    registry.register(records.DECISION_MADE, verify_decision, text_fields=text[records.DECISION_MADE])
    registry.register(records.ITEM_SETTLED, verify_settled, text_fields=text[records.ITEM_SETTLED])
    registry.register(records.FIXTURES_FROZEN, verify_frozen, text_fields=text[records.FIXTURES_FROZEN])
    registry.register(records.HELD_OUT_OPENED, verify_opening, text_fields=text[records.HELD_OUT_OPENED])
    registry.register(records.DISCUSSION_NOTED, verify_note, text_fields=text[records.DISCUSSION_NOTED])
    for model, kind in (
        (Submission, records.PASS_SUBMITTED),
        (AdjudicationItem, records.ITEM_OPENED),
        (Decision, records.DECISION_MADE),
        (AdjudicatedResult, records.ITEM_SETTLED),
        (FixtureSet, records.FIXTURES_FROZEN),
        (HeldOutOpening, records.HELD_OUT_OPENED),
        (DiscussionNote, records.DISCUSSION_NOTED),
    ):
        registry.register_table(model._meta.db_table, _count_check(model, kind))


def verify_submission(record: Record) -> Iterator[Finding]:
    """Compare a submission, its digest with its bytes, and its bytes with the rows of its revision."""
    told = record.value
    row = (
        Submission.objects.select_related("work__assignment__question__study", "guideline", "submitted_by")
        .filter(
            work__assignment__question__study__slug=told["study"],
            work__assignment__question__key=told["question"],
            work__assignment__slot=told["slot"],
            ordinal=told["ordinal"],
        )
        .first()
    )
    where = f"submission {told['ordinal']} of {_place(told)} slot {told['slot']}"
    yield from compare_row(told, records.submission_payload(row) if row else None, record.seq, where)
    if row is None:
        return
    yield from _digest(bytes(row.content), row.digest, record.seq, where)
    try:
        again = canonical_bytes(content_payload(pass_content(row.work, row.revision)))
    except ValueError as error:
        yield Finding("pass.unreadable", record.seq, where, f"the rows of revision {row.revision}: {error}.")
        return
    if again != bytes(row.content):
        yield Finding("pass.differs", record.seq, where, f"the pass at revision {row.revision} says something else.")
    # Nobody edits a submitted pass: it has no row of a later revision, and none that one has retired.
    stands = row.work.assignment.state == Assignment.State.SUBMITTED and _is_newest(row)
    if stands and (row.work.revision != row.revision or history_digest(row.work) != told["history"]):
        yield Finding("pass.differs", record.seq, where, "the pass has been changed after it was submitted.")


def _is_newest(row: Submission) -> bool:
    return not Submission.objects.filter(work_id=row.work_id, ordinal__gt=row.ordinal).exists()


def verify_item(record: Record) -> Iterator[Finding]:
    """Compare an item and compute its differences again."""
    told = record.value
    item = _item(told)
    where = f"item of {_place(told)} round {told['round']}"
    yield from compare_row(told, records.item_payload(item) if item else None, record.seq, where)
    if item is None:
        return
    try:
        found = differences(submitted_content(item.submission_a), submitted_content(item.submission_b))
    except (BadInput, CanonicalError) as error:
        yield Finding("item.unreadable", record.seq, where, f"a submission cannot be read: {error}.")
        return
    positions = list(item.disagreements.order_by("position").values_list("position", flat=True))
    if positions != list(range(len(positions))):
        yield Finding("item.differences", record.seq, where, "its differences are numbered otherwise than in a row.")
    again = [{"kind": d.kind.value, "subject": d.subject, "a": d.value_a, "b": d.value_b} for d in found]
    if canonical_bytes(again) != canonical_bytes(told["differences"]):
        yield Finding("item.differences", record.seq, where, "comparing the two submissions gives other differences.")


def verify_decision(record: Record) -> Iterator[Finding]:
    """Compare a decision."""
    told = record.value
    item = _item(told)
    row = item.decisions.select_related("decided_by").filter(ordinal=told["ordinal"]).first() if item else None
    where = f"decision {told['ordinal']} of {_place(told)} round {told['round']}"
    yield from compare_row(told, records.decision_payload(row) if row else None, record.seq, where)


def verify_settled(record: Record) -> Iterator[Finding]:
    """Compare a settled result, its digest with its bytes, and build it again from the decisions of its time."""
    told = record.value
    row = (
        AdjudicatedResult.objects.select_related("question__study", "item__question__study", "settled_by")
        .filter(question__study__slug=told["study"], question__key=told["question"], ordinal=told["ordinal"])
        .first()
    )
    where = f"result {told['ordinal']} of {_place(told)}"
    yield from compare_row(told, records.settled_payload(row) if row else None, record.seq, where)
    if row is None or row.item is None:
        return
    yield from _digest(bytes(row.content), row.digest, record.seq, where)
    try:
        a, b = submitted_content(row.item.submission_a), submitted_content(row.item.submission_b)
        again = settle(a, b, verdicts_of(row.item, up_to=told["decisions"]))
    except (BadInput, CanonicalError) as error:
        yield Finding("result.unsettled", record.seq, where, f"its decisions do not settle it: {error}.")
        return
    if canonical_bytes(content_payload(again)) != bytes(row.content):
        yield Finding("result.differs", record.seq, where, "its decisions give another content.")


def verify_frozen(record: Record) -> Iterator[Finding]:
    """Compare a fixture set; take every digest again; match each fixture with a result of its question."""
    told = record.value
    row = (
        FixtureSet.objects.select_related("study", "successor_of", "frozen_by")
        .filter(study__slug=told["study"], name=told["name"])
        .first()
    )
    where = f"fixture set {told['study']}/{told['name']}"
    yield from compare_row(told, records.frozen_payload(row) if row else None, record.seq, where)
    if row is None:
        return
    yield from _digest(bytes(row.canonical), row.digest, record.seq, where)
    fixtures = {one.fixture_id: one for one in row.fixtures.select_related("question__study")}
    try:
        named = {one["fixture_id"]: one["digest"] for one in parse_canonical(bytes(row.canonical))["fixtures"]}
    except (CanonicalError, KeyError, TypeError) as error:
        yield Finding("set.unreadable", record.seq, where, f"its manifest cannot be read: {error}.")
        return
    if named != {key: one.digest for key, one in fixtures.items()}:
        yield Finding("set.manifest", record.seq, where, "its manifest names other fixtures than it has.")
    for one in fixtures.values():
        yield from _fixture(one, record.seq, f"{where}, fixture {one.fixture_id}")


def _fixture(row: Fixture, seq: int, where: str) -> Iterator[Finding]:
    yield from _digest(bytes(row.canonical), row.digest, seq, where)
    try:
        value = parse_canonical(bytes(row.canonical))
        cluster = str(value["cluster"])
    except (CanonicalError, KeyError, TypeError) as error:
        yield Finding("fixture.unreadable", seq, where, f"it cannot be read: {error}.")
        return
    if not any(_settled_part(value) == _settled_part(again) for again in _fixtures_of(row.question, cluster)):
        yield Finding("fixture.result", seq, where, "no adjudicated result of its question says this.")


def _fixtures_of(question: Question, cluster: str) -> Iterator[dict[str, Any]]:
    """Yield what each readable result of a question would be frozen as; an unreadable one is a finding of its own."""
    for result in question.results.prefetch_related("span_decisions").order_by("-ordinal"):
        words = {row.span_name: Necessity(row.necessity) for row in result.span_decisions.all()}
        try:
            content = result_content(result)
        except (BadInput, CanonicalError):
            continue  # Its own record is verified too, and says so.
        yield fixture_payload(question_facts(question), content, Segment(result.segment), cluster, words)


def _settled_part(value: dict[str, Any]) -> dict[str, Any]:
    """Return what of a fixture its result decides; the question's own fields may be edited after a freeze."""
    question = ("text", "as_of", "locale", "reader_labels", "sample", "partition", "group", "slice_tags", "mandatory")
    return {name: member for name, member in value.items() if name not in question}


def verify_opening(record: Record) -> Iterator[Finding]:
    """Compare one use of a held-out partition."""
    told = record.value
    rows = HeldOutOpening.objects.select_related("fixture_set__study", "opened_by").filter(
        fixture_set__study__slug=told["study"], fixture_set__digest=told["fixture_set"]
    )
    row = next(iter(rows.order_by("pk")[told["number"] - 1 : told["number"]]), None)
    where = f"opening {told['number']} of fixture set {told['fixture_set'][:12]}"
    yield from compare_row(told, records.opening_payload(row) if row else None, record.seq, where)


def verify_note(record: Record) -> Iterator[Finding]:
    """Compare one contribution to a discussion."""
    told = record.value
    row = (
        DiscussionNote.objects.select_related("question__study", "assignment__annotator", "written_by")
        .filter(question__study__slug=told["study"], question__key=told["question"], ordinal=told["ordinal"])
        .first()
    )
    where = f"note {told['ordinal']} of {_place(told)}"
    yield from compare_row(told, records.note_payload(row) if row else None, record.seq, where)


def _count_check(model: type[models.Model], kind: str) -> registry.TableVerifier:
    def verify() -> Iterator[Finding]:
        rows = model._default_manager.all()
        if model is AdjudicatedResult:
            rows = rows.filter(item__isnull=False)
        there, recorded = rows.count(), Record.objects.filter(kind=kind).count()
        if there > recorded:
            yield Finding(
                "row.unrecorded", None, model._meta.db_table, f"{there} rows, of which the ledger knows {recorded}."
            )

    return verify


def _item(told: dict[str, Any]) -> AdjudicationItem | None:
    return (
        AdjudicationItem.objects.select_related(
            "question__study", "submission_a__work__assignment", "submission_b__work__assignment"
        )
        .filter(question__study__slug=told["study"], question__key=told["question"], round=told["round"])
        .first()
    )


def _digest(data: bytes, recorded: str, seq: int, where: str) -> Iterator[Finding]:
    if digest(data) != recorded:
        yield Finding("row.digest", seq, where, f"its bytes hash to {digest(data)}, its digest says {recorded}.")


def _place(told: dict[str, Any]) -> str:
    return f"{told['study']}/{told['question']}"

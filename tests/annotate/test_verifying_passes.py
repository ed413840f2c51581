"""The ledger notices every row of passes, decisions and fixture sets that is not as it was recorded."""

import json

import pytest
from django.db import connection

from annotate import records_passes
from annotate.domain.content_codec import content_payload
from annotate.domain.vocabulary import Necessity, Segment
from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Decision,
    Disagreement,
    Fixture,
    FixtureSet,
    HeldOutOpening,
    Mark,
    SpanDecision,
    Submission,
)
from annotate.protection import protect_passes
from annotate.services.decide import confirm_agreed, decide
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.open_held_out import open_held_out
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.settle_item import settle_item
from ledger import registry, triggers
from ledger.domain.canonical import canonical_bytes, digest
from ledger.domain.textfree import redact
from ledger.models import Record
from tests.annotate.passes import Desk, make_desk
from tests.annotate.tampering import tampering

pytestmark = pytest.mark.django_db

TABLES = (Submission, AdjudicationItem, Decision, AdjudicatedResult, FixtureSet, HeldOutOpening)


def findings() -> set[str]:
    """Return the kinds of everything this module's verifiers find, run as `verify_ledger` runs them."""
    kinds = set()
    for record in Record.objects.order_by("seq"):
        kind = registry.find_kind(record.kind)
        if kind and kind.verifier and record.kind in records_passes.TEXT_FIELDS:
            kinds |= {found.kind for found in kind.verifier(record)}
    for model in TABLES:
        kinds |= {found.kind for found in registry.tables()[model._meta.db_table]()}
    return kinds


@pytest.fixture
def story() -> Desk:
    """Two rounds, a superseded decision, two results, a frozen set, an opening: everything that is recorded."""
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(answer="30 days", scope="all"))
    return_pass(desk.lead, desk.second, "look at the scope")
    desk.submit(desk.second, desk.content(answer="30 days"))
    item = desk.question.items.order_by("-round")[0]
    words = dict.fromkeys(("rule", "qualifier"), (Necessity.NECESSARY, "the answer needs both"))
    for choice in ("a", "b"):
        if choice == "b":
            reopen_item(desk.adjudicator, item, "on second thoughts")
        decide(desk.adjudicator, item, item.disagreements.get(), choice)
        confirm_agreed(desk.adjudicator, item)
        settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, words)
    open_held_out(desk.lead, freeze_fixtures(desk.lead, desk.study, "v1"), "a sweep")
    return desk


def test_an_honest_story_has_no_findings(story):
    assert findings() == set()
    kinds = set(Record.objects.values_list("kind", flat=True))
    assert set(records_passes.TEXT_FIELDS) <= kinds


def _content(row, **changes):
    payload = json.loads(bytes(row.content))
    payload["contract"].update(changes)
    return canonical_bytes(payload)


@pytest.mark.parametrize(
    ("tamper", "kind"),
    [
        (lambda d: Submission.objects.filter(ordinal=1).update(content=b"{}"), "row.digest"),
        (lambda d: Mark.objects.filter(work__assignment=d.first, name="rule").update(end=30), "pass.differs"),
        (lambda d: d.first.work.contracts.update(answer="other"), "pass.differs"),
        (lambda d: d.first.work.support_sets.update(members=["rule"]), "pass.differs"),
        (lambda d: Submission.objects.update(revision=0), "row.differs"),
        (lambda d: Disagreement.objects.filter(item__round=1, position=0).update(value_a=b'"x"'), "row.differs"),
        (lambda d: Disagreement.objects.filter(item__round=1, position=1).delete(), "row.differs"),
        (lambda d: Decision.objects.filter(ordinal=1).update(choice="b"), "row.differs"),
        (lambda d: Decision.objects.filter(ordinal=1).update(reason="other"), "row.differs"),
        (lambda d: Decision.objects.filter(ordinal=3).delete(), "row.missing"),
        (lambda d: SpanDecision.objects.update(necessity="topical"), "row.differs"),
        (lambda d: SpanDecision.objects.update(necessity="topical"), "fixture.result"),
        (lambda d: AdjudicatedResult.objects.filter(ordinal=1).update(segment="joint-evidence"), "row.differs"),
        (lambda d: AdjudicatedResult.objects.filter(ordinal=2).update(content=b"{}"), "row.digest"),
        (lambda d: Fixture.objects.update(canonical=b"{}"), "row.digest"),
        (lambda d: Fixture.objects.update(digest="0" * 64), "set.manifest"),
        (lambda d: Fixture.objects.all().delete(), "set.manifest"),
        (lambda d: FixtureSet.objects.update(canonical=b"{}"), "row.digest"),
        (lambda d: FixtureSet.objects.update(name="v9"), "row.missing"),
        (lambda d: HeldOutOpening.objects.update(purpose="nothing"), "row.differs"),
        (lambda d: HeldOutOpening.objects.all().delete(), "row.missing"),
        (lambda d: HeldOutOpening.objects.create(fixture_set=FixtureSet.objects.get(), purpose="x"), "row.unrecorded"),
    ],
)
def test_a_falsified_row_is_found(story, tamper, kind):
    with tampering():
        tamper(story)
    assert kind in findings()


def test_a_submission_falsified_with_its_digest_is_found(story):
    row = Submission.objects.filter(work__assignment=story.first).get()
    data = _content(row, answer="forged")
    with tampering():
        Submission.objects.filter(pk=row.pk).update(content=data, digest=digest(data))
    assert {"row.differs", "pass.differs", "item.differences"} <= findings()


def test_a_result_falsified_with_its_digest_is_found(story):
    row = AdjudicatedResult.objects.get(ordinal=2)
    data = _content(row, answer="forged")
    with tampering():
        AdjudicatedResult.objects.filter(pk=row.pk).update(content=data, digest=digest(data))
    assert {"row.differs", "result.differs", "fixture.result"} <= findings()


def test_every_protected_table_has_its_triggers():
    protect_passes()
    tables = {protection.table for protection in triggers.protections()}
    for model in (*TABLES, Disagreement, SpanDecision, Fixture, Mark):
        assert model._meta.db_table in tables
    assert triggers.missing(connection.alias) == []


def test_a_text_free_export_holds_nothing_people_wrote(story):
    written = ["look at the scope", "30 days", "the answer needs both", "a sweep", "At most 7 days"]
    for record in Record.objects.filter(kind__in=records_passes.TEXT_FIELDS):
        bare, _ = redact(record.value, records_passes.TEXT_FIELDS[record.kind], b"k" * 32)
        told = canonical_bytes(bare).decode()
        assert not [text for text in written if text in told], record.kind


def test_a_records_labels_are_those_of_the_questions_reader():
    desk = make_desk(reader_labels=["staff", "hr"])
    desk.submit_both(desk.content(), desk.content())
    for record in Record.objects.filter(kind__in=["pass.submitted", "item.opened"]):
        assert record.labels == ["hr", "staff"]


def test_a_submission_holds_the_content_at_its_revision():
    desk = make_desk()
    submission = desk.submit(desk.first, desk.content())
    assert bytes(submission.content) == canonical_bytes(content_payload(desk.content()))

"""Freezing: every block named, clusters and partitions fixed, and bytes that never change."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import DependencyType, Partition, Role, Segment, SpanLabel, StudyKind
from annotate.models import (
    AdjudicatedResult,
    Decision,
    Fixture,
    FixtureSet,
    HeldOutOpening,
    Membership,
    Question,
    SourceVersion,
)
from annotate.permissions import OPERATOR, NotAllowed
from annotate.selectors.fixtures import (
    fixture_sets_visible_to,
    fixture_values,
    openings_of,
    survey,
)
from annotate.services.export_fixtures import export_fixtures
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.open_held_out import open_held_out
from annotate.services.return_pass import return_pass
from annotate.services.settled_import import settle_imported
from ledger.domain.canonical import digest, parse_canonical
from ledger.models import Record
from tests.annotate.passes import make_desk
from tests.annotate.settled import settle
from tests.factories import TEXT, make_member, make_question, make_source_version, make_study

pytestmark = pytest.mark.django_db


def test_a_fixture_holds_everything_a_sweep_needs_to_know():
    desk = make_desk(
        reader_labels=["staff"],
        locale="de",
        slice_tags=["table", "risk"],
        group="g",
        sample="enriched",
        partition="development",
        mandatory=True,
    )
    spans = (*desk.content().spans, desk.span("old", 10, 20, SpanLabel.RULE), desk.span("aside", 5, 9))
    settle(
        desk,
        desk.content(spans=spans, forbidden=("old",), sets=(("rule", "qualifier"), ("qualifier",)), scope="requests"),
        topical=("rule",),
    )
    frozen = freeze_fixtures(desk.lead, desk.study, "v1")
    (value,) = fixture_values(frozen)
    spans_of = {s["name"]: s for members in value["support_sets"] for s in members}
    assert value == {
        "format": "cutline-fixture/1",
        "question_id": desk.question.key,
        "text": desk.question.text,
        "as_of": "2026-10-21",
        "locale": "de",
        "reader_labels": ["staff"],
        "sample": "enriched",
        "partition": "development",
        "group": "g",
        "slice_tags": ["risk", "table"],
        "mandatory": True,
        "segment": "rule-and-exception",
        "cluster": desk.version.source.document_id,
        "answerable": True,
        "expected_answer": "At most 7 days.",
        "scope": "requests",
        "qualification": "",
        "dependency": "exception",
        "missing_behaviour": "abstain",
        "missing_text": "Abstain on the temporary-request limit.",
        "support_sets": [[spans_of["rule"], spans_of["qualifier"]], [spans_of["qualifier"]]],
        "other_spans": [{"version": desk.version.sha256, "start": 5, "end": 9, "name": "aside", "label": "evidence"}],
        "forbidden": [{"version": desk.version.sha256, "start": 10, "end": 20, "name": "old", "label": "rule"}],
    }
    assert spans_of["rule"] == {
        "version": desk.version.sha256,
        "start": 0,
        "end": 37,
        "name": "rule",
        "label": "rule",
        "necessary": False,
    }
    assert spans_of["qualifier"]["necessary"] is True


def test_the_manifest_names_every_fixture_and_every_source_version():
    desk = make_desk()
    settle(desk)
    make_source_version(desk.study, "unused but searched", document_id="unused", access_labels=["board"])
    frozen = freeze_fixtures(desk.lead, desk.study, "v1")
    manifest = parse_canonical(bytes(frozen.canonical))
    assert digest(bytes(frozen.canonical)) == frozen.digest
    fixture = frozen.fixtures.get()
    assert digest(bytes(fixture.canonical)) == fixture.digest
    assert manifest["fixtures"] == [{"fixture_id": desk.question.key, "digest": fixture.digest}]
    assert {s["digest"] for s in manifest["sources"]} == {v.sha256 for v in SourceVersion.objects.all()}
    (unused,) = [s for s in manifest["sources"] if s["document_id"] == "unused"]
    assert unused["access_labels"] == ["board"]
    assert Record.objects.get(kind="fixtures.frozen").value["digest"] == frozen.digest


def test_every_block_is_reported_at_once_and_nothing_is_written():
    study = make_study()
    done = make_desk(study=study, key="done", group="g", partition="held-out")
    settle(done)
    make_desk(study=study, key="untouched")
    half = make_desk(study=study, key="half", group="g", partition="development")
    half.submit(half.first, half.content())
    unsettled = make_desk(study=study, key="unsettled")
    unsettled.submit_both(unsettled.content(), unsettled.content(answer="30 days"))
    returned = make_desk(study=study, key="returned")
    settle(returned)
    return_pass(returned.lead, returned.first, "look again")
    redecided = make_desk(study=study, key="redecided")
    settle(redecided, redecided.content(), redecided.content(answer="30 days"))
    item = redecided.question.items.get()
    # No service does this to a settled item that is not opened again; a row that is there all the same blocks.
    other = item.disagreements.get()
    Decision.objects.create(item=item, disagreement=other, ordinal=3, choice="b", decided_by=redecided.adjudicator)
    stale = make_desk(f"{TEXT} As printed.", study=study, key="stale")
    settle(stale)
    make_source_version(study, "the new text", source=stale.version.source, supersedes=stale.version)
    hidden = make_desk(study=study, key="hidden")
    Membership.objects.filter(person__in=[hidden.one, hidden.two]).update(clearance=["hr"])
    settle(hidden)
    lacking = make_question(study, "lacking")
    settle_imported(OPERATOR, lacking, replace(done.content(answer="")), Segment.UNCLASSIFIED)
    blocks = {}
    secret = make_source_version(study, "open. secret", access_ranges=[(6, 12, ["hr"])])
    settle_imported(
        OPERATOR,
        make_question(study, "unreadable"),
        done.content(spans=(replace(done.span("rule", 5, 8), version=secret.sha256),), sets=(("rule",),)),
        Segment.RULE_AND_EXCEPTION,
    )
    with pytest.raises(BadInputs) as raised:
        freeze_fixtures(done.lead, study, "v1")
    for problem in raised.value.problems:
        blocks.setdefault(problem.where, []).append(problem.what)
        assert problem.mend
    assert {where: what for where, (what, *_) in blocks.items()}.keys() == {
        "group g",
        "question untouched",
        "question half",
        "question unsettled",
        "question returned",
        "question redecided",
        "question stale, span “rule”",
        "question stale, span “qualifier”",
        "question lacking, answer",
        "question lacking, segment",
        "question unreadable, span “rule”",
    }
    assert "0 of 2" in blocks["question untouched"][0]
    assert "1 of 2" in blocks["question half"][0]
    assert "not settled" in blocks["question unsettled"][0]
    assert "change the result" in blocks["question redecided"][0]
    assert "may not read" in blocks["question unreadable, span “rule”"][0]
    assert [b.where for b in survey(OPERATOR, study).blocks] == [p.where for p in raised.value.problems]
    assert not FixtureSet.objects.exists()
    assert not Record.objects.filter(kind="fixtures.frozen").exists()
    frozen = freeze_fixtures(done.lead, study, "v1", ["done", "hidden"])
    assert frozen.fixtures.count() == 2


@pytest.mark.parametrize(
    ("name", "keys", "what"),
    [("two words", None, "no short name"), ("v1", ["nobody"], "none with this key"), ("v1", [], "none to freeze")],
)
def test_a_freeze_that_names_nothing_real_is_refused(name, keys, what):
    desk = make_desk()
    settle(desk)
    with pytest.raises(BadInput, match=what):
        freeze_fixtures(desk.lead, desk.study, name, keys)


def test_a_name_and_a_content_are_frozen_once():
    desk = make_desk()
    settle(desk)
    first = freeze_fixtures(desk.lead, desk.study, "v1")
    assert freeze_fixtures(desk.lead, desk.study, "v1") == first
    with pytest.raises(BadInput, match="there is a set called “v1” already"):
        freeze_fixtures(make_member(desk.study, Role.LEAD), desk.study, "v1")
    with pytest.raises(BadInput, match="frozen as “v1” already"):
        freeze_fixtures(desk.lead, desk.study, "v2")
    Question.objects.filter(pk=desk.question.pk).update(mandatory=True)
    second = freeze_fixtures(desk.lead, desk.study, "v2", successor_of=first)
    assert second.successor_of == first
    other = make_desk()
    settle(other)
    with pytest.raises(BadInput, match="another study"):
        freeze_fixtures(other.lead, other.study, "v1", successor_of=first)


def test_only_a_lead_freezes_and_annotators_see_no_set():
    desk = make_desk()
    settle(desk)
    for person in (desk.one, desk.adjudicator, make_member(desk.study, Role.OBSERVER), make_desk().lead):
        with pytest.raises(NotAllowed):
            freeze_fixtures(person, desk.study, "v1")
    frozen = freeze_fixtures(desk.lead, desk.study, "v1")
    for person, sees in ((desk.one, False), (make_desk().lead, False), (desk.lead, True), (desk.adjudicator, True)):
        assert fixture_sets_visible_to(person, desk.study).exists() is sees
    for person in (desk.one, desk.adjudicator):
        with pytest.raises(NotAllowed):
            export_fixtures(person, frozen, Path("nowhere"))


def test_a_frozen_set_refuses_every_change():
    desk = make_desk()
    settle(desk)
    frozen = freeze_fixtures(desk.lead, desk.study, "v1")
    open_held_out(desk.lead, frozen, "a look")
    for rows, change in (
        (FixtureSet.objects.all(), {"name": "other"}),
        (Fixture.objects.all(), {"canonical": b"{}"}),
        (HeldOutOpening.objects.all(), {"purpose": "none"}),
        (AdjudicatedResult.objects.all(), {"segment": "joint-evidence"}),
    ):
        with pytest.raises((DatabaseError, IntegrityError)), transaction.atomic():
            rows.update(**change)
        with pytest.raises((DatabaseError, IntegrityError)), transaction.atomic():
            rows._raw_delete(using="default")


def test_questions_share_a_cluster_through_their_documents_and_controls_stand_with_theirs():
    study = make_study()
    one = make_desk("alpha rule text about parcels", study=study, key="q1", document_id="alpha")
    two = make_desk("beta rule text about opening hours", study=study, key="q2", document_id="beta")
    both = (one.span("rule", 0, 5), replace(two.span("tail", 0, 4), version=two.version.sha256))
    settle(one, one.content(spans=both, sets=(("rule", "tail"),)))
    settle(two, two.content(spans=(two.span("rule", 0, 4),), sets=(("rule",),)))
    make_source_version(study, "gamma speaks of lost keys", document_id="gamma")
    nothing = PassContent(replace(one.content().contract, answerable=False, dependency=DependencyType.NONE))
    for key, question, declared in (
        ("q3", "Where are lost keys kept?", ""),
        ("q4", "What are the opening hours on Mars?", ""),
        ("q5", "Anything?", "gamma"),
    ):
        row = make_question(study, key, question, cluster_document=declared)
        settle_imported(OPERATOR, row, nothing, Segment.UNANSWERABLE_CONTROL)
    frozen = freeze_fixtures(one.lead, study, "v1")
    clusters = {value["question_id"]: value["cluster"] for value in fixture_values(frozen)}
    assert clusters == {"q1": "alpha", "q2": "alpha", "q3": "gamma", "q4": "alpha", "q5": "gamma"}
    Question.objects.filter(key="q5").update(cluster_document="delta")
    with pytest.raises(BadInput, match="no source here"):
        freeze_fixtures(one.lead, study, "v2")


def test_a_retrieval_only_study_freezes_without_contracts():
    study = make_study(kind=StudyKind.RETRIEVAL_ONLY)
    desk = make_desk(study=study)
    content = desk.content(answer="", missing_text="", dependency=DependencyType.NONE)
    settle_imported(OPERATOR, desk.question, content, Segment.UNCLASSIFIED)
    frozen = freeze_fixtures(OPERATOR, study, "v1")
    (value,) = fixture_values(frozen)
    assert value["segment"] == "unclassified"
    assert all(span["necessary"] for members in value["support_sets"] for span in members)


def test_each_look_at_the_held_out_partition_is_counted():
    desk = make_desk(partition=Partition.HELD_OUT)
    settle(desk)
    frozen = freeze_fixtures(desk.lead, desk.study, "v1")
    with pytest.raises(BadInput, match="purpose"):
        open_held_out(desk.lead, frozen, " ")
    with pytest.raises(NotAllowed):
        open_held_out(desk.one, frozen, "curiosity")
    open_held_out(desk.lead, frozen, "sweep one")
    open_held_out(OPERATOR, frozen, "sweep two")
    assert [(o.purpose, o.opened_by) for o in openings_of(frozen)] == [("sweep one", desk.lead), ("sweep two", None)]
    assert [r.value["number"] for r in Record.objects.filter(kind="held-out.opened").order_by("seq")] == [1, 2]

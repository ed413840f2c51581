"""Saving a pass: revisions, what the bytes say, and what happens when two windows write at once."""

import threading
from dataclasses import replace

import pytest
from django.db import DatabaseError, IntegrityError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.domain.conflicts import AlreadySubmitted, StaleRevision
from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.content_codec import normalised
from annotate.domain.errors import BadInput, SpanError
from annotate.domain.spans import QuoteMismatch
from annotate.domain.vocabulary import Role, SpanLabel
from annotate.models import Assignment, Mark, Pass, RefusedSave
from annotate.permissions import NotAllowed
from annotate.selectors.passes import (
    content_of,
    pass_content,
    passes_of,
    refused_content,
    refused_saves_of,
    submissions_of,
)
from annotate.services.save_pass import save_pass
from tests.annotate.passes import add_mark, make_desk, remove_mark, set_members
from tests.factories import make_member, make_source_version

pytestmark = pytest.mark.django_db


def test_saved_content_is_read_back_at_every_revision():
    desk = make_desk()
    first = desk.content()
    second = desk.content(
        answer="7 days", spans=(*first.spans[:1], desk.span("tail", 38, 60)), sets=(("tail", "rule"),)
    )
    work = save_pass(desk.one, desk.first, 0, first)
    assert work.revision == 1
    work = save_pass(desk.one, desk.first, 1, second)
    assert work.revision == 2
    assert pass_content(work, 0) == PassContent()
    assert pass_content(work, 1) == replace(first, spans=first.spans)
    assert pass_content(work) == second


def test_a_save_touches_only_rows_that_differ():
    desk = make_desk()
    work = save_pass(desk.one, desk.first, 0, desk.content())
    rule = work.marks.get(name="rule")
    work = save_pass(desk.one, desk.first, 1, desk.content(spans=(desk.span("rule", 0, 37, SpanLabel.RULE),), sets=()))
    assert work.marks.get(name="rule").pk == rule.pk
    assert work.marks.get(name="qualifier").retired_revision == 2
    assert work.contracts.count() == 1


def test_a_save_that_changes_nothing_makes_no_revision():
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    assert save_pass(desk.one, desk.first, 1, desk.content()).revision == 1


def test_a_mark_swapped_under_the_same_name_and_position_is_kept_apart():
    desk = make_desk()
    work = save_pass(desk.one, desk.first, 0, desk.content())
    swapped = desk.content(
        spans=(desk.span("qualifier", 0, 37, SpanLabel.RULE), desk.span("rule", 38, 89, SpanLabel.QUALIFIER))
    )
    work = save_pass(desk.one, desk.first, 1, swapped)
    assert normalised(pass_content(work)) == normalised(swapped)


def test_a_stale_write_is_refused_and_both_texts_are_kept():
    desk = make_desk()
    theirs, mine = desk.content(answer="seven days"), desk.content(answer="a week")
    save_pass(desk.one, desk.first, 0, theirs)
    with pytest.raises(StaleRevision) as raised:
        save_pass(desk.one, desk.first, 0, mine)
    conflict = raised.value
    assert (conflict.current_revision, conflict.expected_revision) == (1, 0)
    assert conflict.theirs == theirs
    assert conflict.mine == mine
    work = Pass.objects.get()
    assert pass_content(work) == theirs
    kept = refused_saves_of(desk.one, work).get()
    assert kept.pk == conflict.refused_id
    assert refused_content(kept) == normalised(mine)
    with pytest.raises(StaleRevision):
        save_pass(desk.one, desk.first, 0, mine)
    assert RefusedSave.objects.count() == 1, "the same refused text is kept once"
    assert not refused_saves_of(desk.two, work).exists()


@pytest.mark.parametrize("claimed", [1, 2, 99])
def test_a_revision_from_the_future_is_stale_too(claimed):
    desk = make_desk()
    with pytest.raises(StaleRevision):
        save_pass(desk.one, desk.first, claimed, desk.content())
    assert pass_content(Pass.objects.get()) == PassContent()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 0, "end": 90}, "beyond the text"),
        ({"start": 0, "end": 1}, "inside the character"),
        ({"start": 1, "end": 5}, "inside the character"),
    ],
)
def test_a_span_that_does_not_fit_the_bytes_is_refused_and_nothing_written(change, message):
    desk = make_desk("é is one character of two bytes, and 💩 one of four.")
    span = replace(desk.span("rule", 0, 10), **change)
    with pytest.raises(SpanError, match=message):
        save_pass(desk.one, desk.first, 0, desk.content(spans=(span,), sets=()))
    with pytest.raises(SpanError, match=message):
        add_mark(desk.one, desk.first, 0, span)
    assert not Mark.objects.exists()
    assert not Pass.objects.filter(revision__gt=0).exists()


def test_a_span_up_to_the_last_byte_after_an_emoji_is_legal():
    desk = make_desk("💩This is an annotation.")
    work = add_mark(desk.one, desk.first, 0, desk.span("word", 15, 26), quote="annotation.")
    work = add_mark(desk.one, desk.first, 1, desk.span("emoji", 0, 4), quote="💩")
    assert [span.name for span in pass_content(work).spans] == ["emoji", "word"]


def test_a_quote_that_differs_is_refused_with_both_texts():
    desk = make_desk()
    with pytest.raises(QuoteMismatch, match="Requests may") as raised:
        add_mark(desk.one, desk.first, 0, desk.span("rule", 0, 37), quote="Requests must be retained for 30 days")
    assert raised.value.found == "Requests may be retained for 30 days."
    with pytest.raises(QuoteMismatch):
        save_pass(desk.one, desk.first, 0, desk.content(), quotes={"rule": "Requests may be retained for 30 days"})
    save_pass(desk.one, desk.first, 0, desk.content(), quotes={"rule": "Requests may be retained for 30 days."})


def test_a_version_of_another_study_or_beyond_the_clearance_cannot_be_marked():
    desk = make_desk()
    foreign = make_source_version(None, "another study")
    secret = make_source_version(desk.study, "for the board only", access_labels=["board"])
    messages = set()
    for digest in (foreign.sha256, secret.sha256, "0" * 64):
        with pytest.raises(BadInput, match="no source version of this study that you may read") as raised:
            add_mark(desk.one, desk.first, 0, MarkedSpan(digest, 0, 3, "rule"))
        messages.add(raised.value.what)
    assert len(messages) == 1, "the refusal does not tell a hidden version from one that does not exist"


def test_a_restricted_section_cannot_be_marked_and_a_cleared_annotator_may():
    desk = make_desk()
    version = make_source_version(desk.study, "open text. SECRET text. open", access_ranges=[(11, 23, ["hr"])])
    with pytest.raises(SpanError, match="may not read"):
        add_mark(desk.one, desk.first, 0, MarkedSpan(version.sha256, 5, 12, "rule"))
    add_mark(desk.one, desk.first, 0, MarkedSpan(version.sha256, 0, 11, "rule"), quote="open text. ")
    cleared = make_desk(study=desk.study)
    cleared.one.memberships.update(clearance=["hr"])
    add_mark(cleared.one, cleared.first, 0, MarkedSpan(version.sha256, 5, 12, "rule"))


@pytest.mark.parametrize(
    "build",
    [
        lambda desk: desk.content(sets=(("rule", "nobody"),)),
        lambda desk: desk.content(sets=(("rule", "rule"),)),
        lambda desk: desk.content(forbidden=("nobody",)),
        lambda desk: desk.content(spans=(desk.span("rule", 0, 37), desk.span("rule", 38, 89)), sets=()),
        lambda desk: desk.content(spans=(desk.span("no name", 0, 37),), sets=()),
        lambda desk: desk.content(answer="NUL \x00"),
        lambda desk: desk.content(answer="half \ud83d"),
        lambda desk: desk.content(spans=tuple(desk.span(f"s{i}", 0, 1) for i in range(5001)), sets=()),
    ],
)
def test_a_draft_that_cannot_be_stored_is_refused(build):
    desk = make_desk()
    with pytest.raises(BadInput):
        save_pass(desk.one, desk.first, 0, build(desk))
    assert content_of(desk.first) == (0, PassContent())


def test_nobody_writes_or_reads_another_annotators_pass():
    desk = make_desk()
    work = save_pass(desk.one, desk.first, 0, desk.content())
    everybody = [
        desk.two,
        desk.adjudicator,
        desk.lead,
        make_member(desk.study, Role.OBSERVER),
        make_member(make_desk().study),
    ]
    for person in everybody:
        for call in (
            lambda who: save_pass(who, desk.first, 1, PassContent()),
            lambda who: add_mark(who, desk.first, 1, desk.span("x", 0, 3)),
            lambda who: remove_mark(who, desk.first, 1, "rule"),
            lambda who: set_members(who, desk.first, 1, 0, ["rule"]),
        ):
            with pytest.raises(NotAllowed):
                call(person)
        assert not passes_of(person).filter(pk=work.pk).exists()
        assert not submissions_of(person).exists()
    assert pass_content(Pass.objects.get(pk=work.pk)) == desk.content()


def test_an_annotator_who_left_the_study_no_longer_sees_their_passes():
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    assert passes_of(desk.one).count() == 1
    desk.one.memberships.all().delete()
    assert passes_of(desk.one).count() == 0


def test_single_edits_make_the_same_rows_as_a_whole_save():
    desk = make_desk()
    whole = save_pass(desk.two, desk.second, 0, desk.content())
    save_pass(desk.one, desk.first, 0, replace(desk.content(), spans=(), sets=()))
    for revision, span in enumerate(desk.content().spans, 1):
        add_mark(desk.one, desk.first, revision, span)
    work = set_members(desk.one, desk.first, 3, 0, ["rule", "qualifier"])
    assert pass_content(work) == pass_content(whole)
    work = remove_mark(desk.one, desk.first, 4, "rule")
    assert pass_content(work).sets == (("qualifier",),)
    with pytest.raises(BadInput, match="no span"):
        remove_mark(desk.one, desk.first, 5, "rule")
    with pytest.raises(BadInput, match="taken"):
        add_mark(desk.one, desk.first, 5, desk.span("qualifier", 0, 3))
    with pytest.raises(BadInput, match="no span"):
        set_members(desk.one, desk.first, 5, 0, ["rule"])
    with pytest.raises(BadInput, match="has 1 sets"):
        set_members(desk.one, desk.first, 5, 7, ["qualifier"])
    assert Pass.objects.get(pk=work.pk).revision == 5


def test_a_stale_single_edit_keeps_what_the_person_had_before_them():
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    save_pass(desk.one, desk.first, 1, PassContent())
    with pytest.raises(StaleRevision) as raised:
        add_mark(desk.one, desk.first, 1, desk.span("tail", 38, 60), forbidden=True)
    assert {span.name for span in raised.value.mine.spans} == {"rule", "qualifier", "tail"}
    assert raised.value.mine.forbidden == ("tail",)
    with pytest.raises(StaleRevision) as raised:
        remove_mark(desk.one, desk.first, 1, "rule")
    assert raised.value.mine.sets == (("qualifier",),)
    with pytest.raises(StaleRevision) as raised:
        set_members(desk.one, desk.first, 1, 1, ["qualifier"])
    assert raised.value.mine.sets == (("rule", "qualifier"), ("qualifier",))


def test_a_sealed_pass_takes_no_write():
    desk = make_desk()
    desk.submit(desk.first, desk.content())
    for call in (
        lambda: save_pass(desk.one, desk.first, 1, PassContent()),
        lambda: save_pass(desk.one, desk.first, 1, desk.content()),
        lambda: add_mark(desk.one, desk.first, 1, desk.span("x", 0, 3)),
    ):
        with pytest.raises(AlreadySubmitted):
            call()
    assert content_of(desk.first) == (1, desk.content())


def test_one_more_span_costs_the_same_queries_in_an_empty_and_in_a_large_pass():
    # Time is measured in bench/; what must not grow with the pass is the work.
    desk = make_desk("a sentence of text. " * 50_000)
    with CaptureQueriesContext(connection) as empty:
        add_mark(desk.one, desk.first, 0, desk.span("first", 2, 10), quote="sentence")
    spans = tuple(desk.span(f"s{i}", i * 20, i * 20 + 10) for i in range(2000))
    save_pass(desk.one, desk.first, 1, desk.content(spans=spans, sets=()))
    # The very first mark makes the pass itself too.
    with CaptureQueriesContext(connection) as large:
        add_mark(desk.one, desk.first, 2, desk.span("last", 22, 30), quote="sentence")
    assert len(large) <= len(empty)
    assert max(len(query["sql"]) for query in large) < 5_000


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_sequence_of_saves_can_be_read_back_at_every_revision(data):
    desk = make_desk()
    history = [PassContent()]
    for _ in range(data.draw(st.integers(1, 4))):
        names = data.draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True))
        spans = tuple(
            desk.span(name, start, start + data.draw(st.integers(1, 20)), data.draw(st.sampled_from(SpanLabel)))
            for name in names
            for start in [data.draw(st.integers(0, 60))]
        )
        sets = tuple(
            tuple(members)
            for members in data.draw(
                st.lists(st.lists(st.sampled_from(names), unique=True) if names else st.just([]), max_size=3)
            )
        )
        forbidden = tuple(data.draw(st.lists(st.sampled_from(names), unique=True))) if names else ()
        content = desk.content(
            answer=data.draw(st.sampled_from(["x", "y"])), spans=spans, sets=sets, forbidden=forbidden
        )
        work = save_pass(desk.one, desk.first, len(history) - 1, content)
        if work.revision == len(history):
            history.append(content)
    for revision, content in enumerate(history):
        found = pass_content(Pass.objects.get(assignment=desk.first), revision)
        assert normalised(found) == normalised(content)
        assert found.sets == content.sets


def test_rows_of_a_pass_are_retired_once_and_otherwise_immutable():
    desk = make_desk()
    work = save_pass(desk.one, desk.first, 0, desk.content())
    save_pass(desk.one, desk.first, 1, PassContent())
    for rows, change in (
        (work.marks, {"start": 1}),
        (work.marks, {"retired_revision": 3}),
        (work.marks, {"retired_revision": None}),
        (work.support_sets, {"members": []}),
        (work.contracts, {"answer": "changed"}),
    ):
        with pytest.raises((IntegrityError, DatabaseError)), transaction.atomic():
            rows.filter(retired_revision=2).update(**change)
        with pytest.raises((IntegrityError, DatabaseError)), transaction.atomic():
            rows.all()._raw_delete(using="default")


@pytest.mark.django_db(transaction=True)
def test_of_two_writers_at_one_moment_one_wins_and_the_other_is_kept():
    desk = make_desk()
    Pass.objects.create(assignment=desk.first)
    together = threading.Barrier(2)
    outcomes: list[str] = []

    def write(answer: str) -> None:
        try:
            together.wait()
            save_pass(desk.one, Assignment.objects.get(pk=desk.first.pk), 0, desk.content(answer=answer))
            outcomes.append("saved")
        except StaleRevision:
            outcomes.append("stale")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=write, args=(text,)) for text in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["saved", "stale"]
    work = Pass.objects.get()
    assert work.revision == 1
    kept = {pass_content(work).contract.answer, refused_content(RefusedSave.objects.get()).contract.answer}
    assert kept == {"one", "two"}
    assert connection.is_usable()

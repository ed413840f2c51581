"""Marks on superseded text: shown as stale, and moved by an exact match that stands once, where somebody says so."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.content import MarkedSpan
from annotate.domain.staleness import replacements, stale_reason, successors
from annotate.models import Source, SourceVersion
from annotate.permissions import actor_for
from annotate.selectors.passes import content_of
from annotate.selectors.sources import versions_visible_to
from annotate.selectors.succession import Move, moves_of, standings, version_dates
from annotate.services.save_pass import save_pass
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_source_version

pytestmark = pytest.mark.django_db

OLD = "Records are kept for 30 days. Fees rise. Fees fall. Nobody pays twice. Gone."
NEW = "From 2027: Records are kept for 30 days. Nobody pays twice, nobody. Fees rise.\r\nNobody pays twice. "


def desk_and_new(text: str = NEW, **more: Any) -> tuple[Desk, SourceVersion]:
    desk = make_desk(OLD, as_of=date(2027, 6, 1))
    new = make_source_version(
        desk.study,
        text,
        **{
            "source": desk.version.source,
            "version_label": "second",
            "supersedes": desk.version,
            "effective_from": date(2027, 1, 1),
        }
        | more,
    )
    return desk, new


def marked(desk: Desk, *quotes: str) -> tuple[MarkedSpan, ...]:
    return tuple(
        desk.span(f"s{number}", OLD.index(quote), OLD.index(quote) + len(quote)) for number, quote in enumerate(quotes)
    )


def asked(desk: Desk) -> list[Move]:
    versions = list(versions_visible_to(desk.one).filter(source__study=desk.study))
    actor = actor_for(desk.one, desk.study)
    return moves_of(content_of(desk.first)[1], versions, actor, desk.question.as_of)


def test_a_mark_may_go_only_where_its_exact_text_stands_once_in_both_versions() -> None:
    desk, new = desk_and_new()
    spans = marked(desk, "Records are kept for 30 days.", "Fees", "Nobody pays twice", "Gone.", "Fees rise. ")
    save_pass(desk.one, desk.first, 0, desk.content(spans=spans, sets=(("s0",),)))
    found = {move.span.name: move for move in asked(desk)}
    place = found["s0"].place
    assert place is not None
    assert (found["s0"].new, NEW[place.start : place.end]) == (new, "Records are kept for 30 days.")
    assert "occurs 2 times" in found["s1"].problem
    assert found["s1"].problem.startswith(f"in {desk.version.version_label},")
    assert found["s2"].problem.startswith("in second, it occurs 2 times")
    assert found["s3"].problem == "in second, it does not occur in the text"
    # A blank is not a line end: likeness is no match.
    assert found["s4"].place is None


def test_a_place_that_another_mark_has_takes_no_second_one() -> None:
    desk, new = desk_and_new()
    (span,) = marked(desk, "Records are kept for 30 days.")
    at = NEW.index("Records")
    there = MarkedSpan(new.sha256, at, at + span.end - span.start, "there", span.label)
    save_pass(desk.one, desk.first, 0, desk.content(spans=(span, there), sets=(("s0",),)))
    assert [(move.span.name, move.problem) for move in asked(desk)] == [("s0", "another mark stands there already")]


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ({}, "superseded by second"),
        ({"effective_from": date(2027, 6, 2)}, ""),
        ({"effective_to": date(2027, 6, 1)}, ""),
        ({"access_labels": ["board"]}, ""),
    ],
)
def test_a_version_is_superseded_by_what_is_in_force_that_day_and_the_reader_may_read(
    more: dict[str, Any], note: str
) -> None:
    desk, new = desk_and_new(**more)
    versions = list(versions_visible_to(desk.one))
    standing = standings(versions, [desk.version], desk.question.as_of)[desk.version.pk]
    assert standing.note == note
    assert standing.by == (new if note else None)
    assert standing.later == (new if more == {"effective_from": date(2027, 6, 2)} else None)
    save_pass(desk.one, desk.first, 0, desk.content(spans=marked(desk, "Gone."), sets=(("s0",),)))
    assert bool(asked(desk)) is bool(note)


def test_a_version_out_of_force_that_nothing_follows_says_so() -> None:
    desk = make_desk(OLD, as_of=date(2027, 6, 1))
    old = make_source_version(desk.study, "x", effective_to=date(2027, 6, 1))
    standing = standings([old], [old], desk.question.as_of)[old.pk]
    assert (standing.note, standing.by, standing.later) == ("not in force", None, None)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 28), st.integers(0, 28)), min_size=1, max_size=9),
    st.integers(1, 28),
)
def test_standings_of_some_read_as_if_every_version_was_gone_through(
    rows: list[tuple[int, int, int]], day: int
) -> None:
    source = Source(title="Terms")
    versions = [
        SourceVersion(
            pk=pk,
            source=source,
            version_label=f"v{pk}",
            observation_date=date(2026, 5, begins),
            effective_to=date(2026, 5, ends) if ends > begins else None,
            # Of an earlier one, of one that is kept from the reader (0), or of none.
            supersedes_id=older if older < pk else None,
        )
        for pk, (older, begins, ends) in enumerate(rows, 1)
    ]
    as_of = date(2026, 5, day)
    every = [version_dates(version) for version in versions]
    for pk, standing in standings(versions, versions, as_of).items():
        assert standing.stale == stale_reason(pk, every, as_of)
        begun = replacements(pk, every, as_of)
        assert (standing.by.pk if standing.by else None) == (begun[-1].key if begun else None)
        assert standing.later is None or standing.later.pk in {one.key for one in successors(pk, every)}


def test_what_is_hidden_in_the_new_version_is_no_place() -> None:
    start = NEW.index("Records")
    desk, _ = desk_and_new(access_ranges=[[start, start + 3, ["board"]]])
    save_pass(
        desk.one, desk.first, 0, desk.content(spans=marked(desk, "Records are kept for 30 days."), sets=(("s0",),))
    )
    (move,) = asked(desk)
    assert (move.place, move.problem) == (None, "in second, it does not occur in the text")


def test_the_plain_form_shows_stale_marks_and_moves_one_that_fits(client: Client) -> None:
    desk, new = desk_and_new()
    spans = marked(desk, "Records are kept for 30 days.", "Gone.")
    save_pass(desk.one, desk.first, 0, desk.content(spans=spans, sets=(("s0", "s1"),)))
    client.force_login(desk.one)
    address = reverse("workspace", args=[desk.first.pk])
    page = client.get(address).content.decode()
    assert "◔ superseded by second" in page
    assert "Move to second" in page
    form = {"revision": "1", "answerable": "yes", "set_count": "1", "set:0": ["s0", "s1"]}
    refused = client.post(address, form | {"action": "move-span:s1"})
    assert refused.status_code == 422
    assert "it cannot be moved: in second, it does not occur" in refused.content.decode()
    assert client.post(address, form | {"action": "move-span:nothing"}).status_code == 422
    assert client.post(address, form | {"action": "move-span:s0"}).status_code == 302
    content = content_of(desk.first)[1]
    versions = {span.name: span.version for span in content.spans}
    assert versions == {"s0": new.sha256, "s1": desk.version.sha256}
    assert content.sets == (("s0", "s1"),)


def test_only_the_annotator_is_told_where_marks_could_go(client: Client) -> None:
    desk, _ = desk_and_new()
    address = reverse("workspace-moves", args=[desk.first.pk])
    for person in (desk.two, desk.adjudicator, desk.lead):
        client.force_login(person)
        assert client.get(address).status_code in (403, 404)
    client.force_login(desk.one)
    answer = client.get(address)
    assert answer.json() == {"moves": []}
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("hidden", [False, True])
def test_pages_of_sources_name_what_follows_and_nothing_that_is_kept_from_the_reader(
    client: Client, hidden: bool
) -> None:
    desk, new = desk_and_new(**({"access_labels": ["board"]} if hidden else {}))
    newest = make_source_version(
        desk.study, "x", source=new.source, version_label="third", supersedes=new, effective_from=date(2028, 1, 1)
    )
    client.force_login(desk.one)
    slug = desk.study.slug
    listed = client.get(reverse("sources", args=[slug])).content.decode()
    old = client.get(reverse("source", args=[slug, desk.version.pk])).content.decode()
    last = client.get(reverse("source", args=[slug, newest.pk])).content.decode()
    assert ("superseded by second" in listed) is not hidden
    assert ("Superseded by" in old) is not hidden
    assert ("second" in last) is not hidden


@pytest.mark.parametrize(("as_of", "told"), [(date(2027, 6, 1), True), (date(2026, 6, 1), False)])
def test_the_adjudicator_sees_which_marked_text_is_superseded_on_the_questions_date(as_of: date, told: bool) -> None:
    desk, _ = desk_and_new()
    desk.question.as_of = as_of
    desk.question.save()
    content = desk.content(spans=marked(desk, "Fees rise."), sets=(("s0",),))
    desk.submit_both(content, content)
    client = Client()
    client.force_login(desk.adjudicator)
    page = client.get(reverse("adjudicate", args=[desk.question.items.get().pk])).content.decode()
    assert ('<span class="tag collect">◔ superseded by second</span></h2>' in page) is told

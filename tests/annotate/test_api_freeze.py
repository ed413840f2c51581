"""The API of freezing: what blocks it, the freeze, its successor, and the archive."""

from __future__ import annotations

import io
import tarfile
from datetime import date
from typing import Any

import pytest
from django.urls import reverse

from annotate.domain.vocabulary import Role
from annotate.models import FixtureSet, Question
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.reopen_item import reopen_item
from annotate.services.settle_item import settle_item
from ledger.models import Record
from tests.annotate.item_api import Caller
from tests.annotate.passes import Desk, make_desk
from tests.annotate.settled import mixed, replace_question, settle
from tests.annotate.test_api import problems
from tests.factories import TEXT, make_member, make_question, make_source_version
from tests.factories.sweeps import make_fixture_set

pytestmark = pytest.mark.django_db


def test_a_study_is_looked_over_frozen_corrected_and_taken_away() -> None:
    desk = make_desk(key="late")
    last = settle(desk)
    make_question(desk.study, "open")
    caller, sets = Caller(desk.lead), reverse("api-fixture-sets", args=[desk.study.slug])
    state = caller.get(reverse("api-freeze", args=[desk.study.slug]))
    assert (state["questions"], state["settled"], state["clusters"]) == (2, 1, 1)
    assert [(block["where"], block["mend"]) for block in state["blocks"]] == [
        ("question open", "Adjudicate and settle it, or leave it out.")
    ]
    assert {row["question"]: row["blocked"] for row in state["rows"]} == {"late": False, "open": True}
    refused = caller.post(sets, name="v1")
    assert (refused.status_code, problems(refused)[0]["where"]) == (422, "question open")
    assert not FixtureSet.objects.exists()
    assert caller.get(reverse("api-freeze", args=[desk.study.slug]), questions="late")["blocks"] == []
    first, again = (caller.post(sets, name="v1", questions=["late"]) for _ in range(2))
    assert (first.status_code, first.json()) == (201, again.json())
    assert (first["Location"], first.json()["fixtures"], first.json()["changes"]) == (first.json()["url"], 1, [])
    taken = caller.post(sets, name="v1", questions=["late"], apart=["document"])
    assert (taken.status_code, "already" in problems(taken)[0]["what"]) == (422, True)
    reopen_item(desk.adjudicator, last.item, "The segment was wrong.")
    words = {row.span_name: (row.necessity, row.reason) for row in last.span_decisions.all()}
    settle_item(desk.adjudicator, last.item, "joint-evidence", words)
    second = caller.post(sets, name="v2", questions=["late"], successor_of="v1")
    assert second.json()["changes"] == ["fixture late: changed in segment"]
    assert caller.get(second.json()["url"])["changes"] == second.json()["changes"]
    assert caller.get(second.json()["url"])["successor_of"] == "v1"
    assert Record.objects.filter(kind="fixtures.frozen").count() == 2


def test_archive_is_that_of_the_page_and_holds_texts_only_where_all_may_be_read() -> None:
    frozen = make_fixture_set()
    study = frozen.study
    url, page = (reverse(f"{name}fixture-set-archive", args=[study.slug, frozen.pk]) for name in ("api-", ""))
    cleared = Caller(make_member(study, Role.LEAD, clearance=["staff", "keys"]))
    restricted = study.sources.get(document_id="staff").versions.get().sha256
    for query in ({}, {"sources": "1"}):
        answer = cleared.client.get(url, query)
        assert answer.content == cleared.client.get(page, query).content
        assert (answer["Content-Type"], answer["Cache-Control"]) == ("application/octet-stream", "no-store")
        assert answer["Content-Disposition"] == f'attachment; filename="{frozen.name}.tar.gz"'
        with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
            assert any(restricted in name for name in archive.getnames()) is bool(query)
    # Who may not read one section takes the set without the texts; who may not know of a source, nothing.
    partly = Caller(make_member(study, Role.LEAD, clearance=["staff"]))
    hidden = partly.client.get(url, {"sources": "1"})
    assert (hidden.status_code, "labels" in problems(hidden)[0]["what"]) == (422, True)
    assert partly.client.get(url).status_code == 200
    for query in ({}, {"sources": "1"}):
        assert Caller(make_member(study, Role.LEAD)).client.get(url, query).status_code == 403
    assert cleared.client.get(url, {"sources": "yes"}).status_code == 422


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"name": "\x00"}, "name"),
        ({"name": 7}, "name"),
        ({"name": "v1", "questions": "late"}, "questions"),
        ({"name": "v1", "questions": [7]}, "questions"),
        ({"name": "v1", "questions": ["\x00"]}, "questions[0]"),
        ({"name": "v1", "questions": ["no-such"]}, "question no-such"),
        ({"name": "v1", "questions": []}, "questions"),
        ({"name": "v1", "successor_of": "elsewhere"}, "successor_of"),
        ({"name": "v1", "successor_of": "no-such"}, "successor_of"),
        ({"name": "v1", "successor_of": 7}, "successor_of"),
        ({"name": "v1", "apart": "document"}, "apart"),
        ({"name": "v1", "apart": ["reader"]}, "apart"),
        ({"name": "v1", "apart": [["document"]]}, "apart"),
        ({"name": "v1", "colour": "red"}, "colour"),
    ],
)
def test_a_freeze_that_does_not_say_what_is_refused(body: dict[str, Any], where: str) -> None:
    desk = make_desk(key="late")
    settle(desk)
    elsewhere = make_desk()
    settle(elsewhere)
    freeze_fixtures(elsewhere.lead, elsewhere.study, "elsewhere")
    answer = Caller(desk.lead).post(reverse("api-fixture-sets", args=[desk.study.slug]), **body)
    assert (answer.status_code, problems(answer)[0]["where"]) == (422, where)
    assert not desk.study.fixture_sets.exists()


def test_what_is_kept_apart_is_looked_over_as_it_is_frozen() -> None:
    study = mixed()
    lead = Caller(make_member(study, Role.LEAD))
    url = reverse("api-freeze", args=[study.slug])
    assert lead.get(url)["blocks"] == []
    told = lead.get(url, apart="document")["blocks"]
    refused = lead.post(reverse("api-fixture-sets", args=[study.slug]), name="v1", apart=["document"])
    assert problems(refused) == told
    assert told[0]["where"].startswith("document ")
    for query in ("apart=reader", "apart=", "questions=%00", "questions=" + "x," * 5000, "q=x"):
        assert lead.client.get(f"{url}?{query}").status_code == 422, query


def test_only_a_lead_freezes_and_a_document_kept_from_them_has_no_name() -> None:
    desk = make_desk(key="late")
    desk.version = make_source_version(desk.study, f"{TEXT} More.", document_id="zq-board", access_labels=["board"])
    markers = desk.study.memberships.filter(person__in=[desk.one, desk.two, desk.adjudicator])
    markers.update(clearance=["board"])
    settle(desk)
    url, sets = (reverse(name, args=[desk.study.slug]) for name in ("api-freeze", "api-fixture-sets"))
    observer, stranger = make_member(desk.study, Role.OBSERVER), make_desk().lead
    for person, status in ((desk.one, 403), (desk.adjudicator, 403), (observer, 403), (stranger, 404)):
        assert Caller(person).client.get(url).status_code == status
        assert Caller(person).post(sets, name="v1").status_code == status
    assert not FixtureSet.objects.exists()
    page, cleared = reverse("freeze", args=[desk.study.slug]), make_member(desk.study, Role.LEAD, clearance=["board"])
    assert "zq-board" not in str(Caller(desk.lead).get(url))
    assert "zq-board" not in Caller(desk.lead).client.get(page).content.decode()
    assert "zq-board" in str(Caller(cleared).get(url)["rows"])
    assert "zq-board" in Caller(cleared).client.get(page).content.decode()


def test_what_blocks_and_what_changed_names_no_text_that_is_kept_from_the_lead() -> None:
    desk = make_desk(key="held")
    first = freeze_of_another(desk)
    hidden = {"document_id": "zq-board", "version_label": "zq-1", "access_labels": ["board"]}
    desk.version = make_source_version(desk.study, f"{TEXT} More.", effective_to=date(2001, 1, 1), **hidden)
    desk.study.memberships.filter(person__in=[desk.one, desk.two, desk.adjudicator]).update(clearance=["board"])
    settle(desk)
    settle(replace_question(desk, "open-one", partition="development"))
    second = freeze_fixtures(desk.lead, desk.study, "v2", ["other"], successor_of=first)
    cleared = make_member(desk.study, Role.LEAD, clearance=["board"])
    state, sets, page, whole = (
        reverse(name, args=[desk.study.slug, *more])
        for name, more in (
            ("api-freeze", ()),
            ("api-fixture-sets", ()),
            ("freeze", ()),
            ("api-fixture-set", (second.pk,)),
        )
    )
    form = {"name": "v3", "question": ["held", "open-one"], "apart": "document"}
    for person, named in ((desk.lead, False), (cleared, True)):
        caller = Caller(person)
        told = caller.get(state, apart="document")["blocks"]
        assert problems(caller.post(sets, name="v3", apart=["document"])) == told
        crossed = told[-1]["where"]
        assert crossed == ("document zq-board" if named else "a document kept from you")
        pages = [reverse(name, args=[desk.study.slug]) for name in ("freeze", "fixtures")]
        pages.append(reverse("fixture-set", args=[desk.study.slug, second.pk]))
        refused = caller.client.post(page, form)
        assert refused.status_code == 422
        answers = [str(told), str(caller.get(whole)), refused.content.decode()]
        for answer in (*answers, *(caller.client.get(url).content.decode() for url in pages)):
            assert ("zq-" in answer.lower()) is named, answer
        assert ("source zq-board@zq-1: added" in caller.get(whole)["changes"]) is named


def freeze_of_another(desk: Desk) -> FixtureSet:
    settle(replace_question(desk, "other"))
    return freeze_fixtures(desk.lead, desk.study, "v1", ["other"])


def test_looking_over_a_freeze_asks_as_often_for_three_questions_as_for_one() -> None:
    desk = make_desk(key="late")
    settle(desk)
    caller, url = Caller(desk.lead), reverse("api-freeze", args=[desk.study.slug])

    first = caller.queries_of(url)
    for key in ("two", "three"):
        settle(replace_question(desk, key))
    assert Question.objects.filter(study=desk.study).count() == 3
    assert caller.queries_of(url) == first <= 25

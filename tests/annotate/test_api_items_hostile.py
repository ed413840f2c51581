"""The API of adjudication refuses whoever and whatever does not belong there, and tells nobody what is not theirs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotate.domain.vocabulary import Choice, Role
from annotate.models import (
    Decision,
    Membership,
    Source,
)
from annotate.services.decide import confirm_agreed, decide
from tests.annotate.item_api import JSON, NECESSARY, SPANS, Caller, counts, of, opened, settled_body
from tests.annotate.passes import make_desk
from tests.annotate.settled import replace_question
from tests.annotate.test_api import problems
from tests.factories import make_member, make_source_version, make_study

pytestmark = pytest.mark.django_db

ACTS = ("decisions", "confirm", "results", "return", "reopen", "notes")


@pytest.mark.parametrize(
    "items",
    [None, [], {}, "x", [1], [{}], [{"id": 1}], "twice", "unknown", "elsewhere", "own", "huge", "many", "negative"],
)
def test_a_batch_of_what_is_no_item_of_ones_own_is_refused(items: Any) -> None:
    desk, item, _ = opened()
    Membership.objects.create(study=desk.study, person=desk.one, role=Role.ADJUDICATOR)
    elsewhere = make_desk()
    elsewhere.submit_both(elsewhere.content(), elsewhere.content())
    whole = {"id": item.pk, "segment": "rule-and-exception", "spans": SPANS, "seen": "0-0-0"}
    named = {
        "twice": [whole, whole],
        "unknown": [{**whole, "id": item.pk + 10**6}],
        "elsewhere": [{**whole, "id": elsewhere.question.items.get().pk}],
        "own": [whole],
        "huge": [{**whole, "id": 10**400}],
        "many": [{**whole, "id": number} for number in range(101)],
        "negative": [{**whole, "id": -1}],
    }
    sent = named.get(items, items) if isinstance(items, str) else items
    caller = Caller(desk.one if items == "own" else desk.adjudicator)
    before = counts()
    answer = caller.post(reverse("api-agreed-items", args=[desk.study.slug]), items=sent)
    assert (answer.status_code, bool(problems(answer))) == (422, True)
    assert counts() == before


@pytest.mark.parametrize("act", ACTS)
def test_each_act_refuses_each_role_and_leaves_no_trace(act: str) -> None:
    desk, item, _ = opened(answer="30 days")
    both = make_member(desk.study, Role.ADJUDICATOR, person=desk.one)
    stranger = make_desk().adjudicator
    observer = make_member(desk.study, Role.OBSERVER)
    body = {
        "decisions": {"difference": 0, "choice": "a", "seen": 0},
        "confirm": {},
        "results": settled_body(item),
        "return": {"side": "a", "reason": "x"},
        "reopen": {"reason": "x", "seen": "0-0-0"},
        "notes": {"text": "x", "seen": 0},
    }[act]
    before = counts()
    # Who marked the question is told of no item, whatever their other roles: it says that the other pass is in.
    for person, status in ((desk.two, 404), (both, 404), (stranger, 404), (desk.lead, 403), (observer, 403)):
        answer = Caller(person).post(of(item, act), **body)
        assert (answer.status_code, bool(problems(answer))) == (status, True), person
        assert Caller(person).client.get(of(item)).status_code == status
    assert Client().post(of(item, act), json.dumps(body), JSON).status_code == 401
    assert Caller(desk.adjudicator).post(reverse(f"api-item-{act}", args=[item.pk + 10**6]), **body).status_code == 404
    assert counts() == before


HARD: list[Any] = [None, True, -1, 1.5, 10**400, "", "\x00", "x" * 6000, "²", [], {}, [[1]], {"a": {"b": 1}}, "null"]


@pytest.mark.parametrize("act", [*ACTS, "agreed-items"])
def test_no_member_of_a_body_breaks_on_hard_values(act: str) -> None:
    desk, item, caller = opened(answer="30 days")
    good: dict[str, dict[str, Any]] = {
        "decisions": {
            "difference": 0,
            "choice": "edited",
            "value": "x",
            "seen": 0,
            "reason": "r",
            "reason_code": "other",
        },
        "confirm": {"reason": "r"},
        "results": settled_body(item, alternatives_reason=""),
        "return": {"side": "a", "reason": "r"},
        "reopen": {"reason": "r", "seen": "0-0-0"},
        "notes": {"text": "t", "side": "a", "seen": 0},
        "agreed-items": {"items": [{"id": item.pk, "segment": "x", "spans": {}, "seen": ""}], "reason": ""},
    }
    url = reverse("api-agreed-items", args=[desk.study.slug]) if act == "agreed-items" else of(item, act)
    for member in good[act]:
        for value in HARD:
            status = caller.post(url, **{**good[act], member: value}).status_code
            assert status in {200, 201, 409, 422}, (member, value)
    if act in {"results", "agreed-items"}:
        for spans in ({"rule": value} for value in HARD):
            body = {"items": [{**good["agreed-items"]["items"][0], "spans": spans}]} if act == "agreed-items" else None
            assert caller.post(url, **(body or {**good[act], "spans": spans})).status_code == 422
        assert caller.post(url, **{**good["results"], "spans": {"x" * 9000: NECESSARY}}).status_code == 422
    before = counts()
    # Confirming needs no member, and an empty body has none.
    for raw in (
        *([] if act == "confirm" else [b""]),
        b"\xff{}",
        b"[]",
        b"null",
        b'{"seen": NaN}',
        b'{"a": 1, "a": 2}',
        b'{"reason": "\\ud800"}',
    ):
        answer = caller.client.post(url, raw, JSON)
        assert answer.status_code in {400, 422}, raw
        assert problems(answer)
    assert caller.post(url, **good[act], colour="red").status_code == 422
    assert counts() == before


def test_another_items_difference_is_not_reached() -> None:
    _, item, caller = opened(answer="30 days")
    assert caller.post(of(item, "decisions"), difference=1, choice="a", seen=0).status_code == 422
    assert not Decision.objects.exists()


def test_restricted_bytes_are_offsets_without_text_digest_or_title() -> None:
    study = make_study()
    desk = make_desk(study=study)
    secret = make_source_version(study, "zq-secret of the board.", access_labels=["board"])
    Source.objects.filter(pk=secret.source_id).update(title="zq-title")
    Membership.objects.filter(person__in=[desk.one, desk.two]).update(clearance=["board"])
    span = replace(desk.span("rule", 0, 9), version=secret.sha256)
    one = desk.content(spans=(span,), sets=(("rule",),))
    two = desk.content(spans=(replace(span, end=12),), sets=(("rule",),))
    desk.submit_both(one, two)
    item, caller = desk.question.items.get(), Caller(desk.adjudicator)
    row = item.disagreements.get(kind="span-boundary")
    refused = caller.post(
        of(item, "decisions"),
        difference=row.position,
        choice="edited",
        value={"start": 0, "end": 8},
        reason="r",
        seen=0,
    )
    assert refused.status_code == 422
    caller.post(of(item, "decisions"), difference=row.position, choice="a", seen=0)
    caller.post(of(item, "confirm"))
    said = json.dumps(
        [caller.get(of(item)), refused.json(), caller.get(of(item), as_of=caller.get(of(item))["moments"][-1]["at"])]
    )
    assert "zq-" not in said
    assert secret.sha256 not in said
    shown = caller.get(of(item))
    assert {(side["version"], side["quote"]) for side in (shown["spans"][0]["a"], shown["spans"][0]["b"])} == {
        (None, None)
    }
    assert shown["versions"] == []
    cleared = Caller(make_member(study, Role.ADJUDICATOR, clearance=["board"])).get(of(item))
    assert cleared["spans"][0]["a"]["quote"].startswith("zq-secret")
    assert cleared["versions"][0]["title"] == "zq-title"


def test_the_queue_is_filtered_by_listed_words_only_and_paged_without_repeats() -> None:
    desk, item, caller = opened(answer="30 days")
    for key in ("b", "c", "d"):
        more = replace_question(desk, key)
        more.submit_both(more.content(), more.content(spans=(more.span("rule", 0, 36), more.content().spans[1])))
    url = reverse("api-items", args=[desk.study.slug])
    listed = caller.get(url)["results"]
    assert [row["severity"] for row in listed] == ["critical", "minor", "minor", "minor"]
    assert [row["question"]["key"] for row in caller.get(url, severity="minor", limit=2)["results"]] == ["b", "c"]
    page = caller.get(url, limit=3)
    assert [row["id"] for row in caller.get(page["next"])["results"]] == [listed[3]["id"]]
    # A row that left the filter meanwhile still says where the list goes on.
    ready = caller.get(url, state="ready", limit=1)
    confirm_agreed(desk.adjudicator, item)
    decide(desk.adjudicator, item, item.disagreements.get(), Choice.A)
    caller.post(of(item, "results"), **settled_body(item))
    assert [row["id"] for row in caller.get(ready["next"])["results"]] == [listed[1]["id"]]
    assert [row["id"] for row in caller.get(url, state="settled")["results"]] == [item.pk]
    for query in ("state=x", "type=x", "severity=%00", "after=0", "after=x", "limit=0", "limit=501", "annotator=x",
                  "question__assignments__annotator__password=x", "state=ready&state=ready"):  # fmt: skip
        assert caller.client.get(f"{url}?{query}").status_code == 422, query
    assert caller.client.get(f"{reverse('api-agreed-items', args=[desk.study.slug])}?limit=101").status_code == 422


@pytest.mark.parametrize("name", ["api-items", "api-agreed-items", "api-item", "api-item-notes"])
def test_as_many_queries_for_three_rows_as_for_one(name: str) -> None:
    desk, _, caller = opened()
    one_difference = replace_question(desk, "one")
    one_difference.submit_both(one_difference.content(), one_difference.content(answer="30 days"))
    few = one_difference.question.items.get()
    caller.post(of(few, "notes"), text="first", seen=0)
    many, extra = few, []

    if name in {"api-items", "api-agreed-items"}:
        first = caller.queries_of(reverse(name, args=[desk.study.slug]))
        for key in ("x", "y"):
            extra.append(replace_question(desk, key))
            extra[-1].submit_both(extra[-1].content(), extra[-1].content())
        assert caller.queries_of(reverse(name, args=[desk.study.slug])) == first <= 16
        return
    first = caller.queries_of(reverse(name, args=[few.pk]))
    if name == "api-item":
        three = replace_question(desk, "three")
        other = three.content(answer="30 days", scope="x", qualification="y")
        three.submit_both(three.content(), other)
        many = three.question.items.get()
        for row in few.disagreements.all():
            decide(desk.adjudicator, few, row, Choice.A)
        first = caller.queries_of(reverse(name, args=[few.pk]))
        for row in many.disagreements.all():
            decide(desk.adjudicator, many, row, Choice.A)
    else:
        for seen in (1, 2):
            caller.post(of(few, "notes"), text=f"more {seen}", seen=seen)
        assert len(caller.get(of(few, "notes"))["results"]) == 3
    assert caller.queries_of(reverse(name, args=[many.pk])) == first <= 30

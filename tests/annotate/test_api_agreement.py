"""The API of agreement: every figure of the page, in every choice, and to nobody what the page keeps from them."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from annotate.domain.vocabulary import Role
from annotate.models import Membership
from annotate.selectors.agreement import Slice, agreement_of, agreement_parts
from annotate.services.return_pass import return_pass
from tests.annotate.item_api import Caller
from tests.annotate.passes import Desk, make_desk
from tests.annotate.settled import replace_question, settle
from tests.annotate.test_api import problems
from tests.factories import make_member

pytestmark = pytest.mark.django_db


def marked_study() -> Desk:
    """Return a desk of three questions that both annotators submitted; one of them is settled."""
    desk = make_desk(key="a")
    settle(desk, two=desk.content(answer="30 days"))
    for key, start in (("b", 1), ("c", 2)):
        more = replace_question(desk, key)
        more.submit_both(more.content(), more.content(spans=(more.span("rule", start, 37), more.content().spans[1])))
    return desk


def addresses(desk: Desk) -> tuple[str, str]:
    return tuple(reverse(name, args=[desk.study.slug]) for name in ("api-agreement", "api-agreement-items"))


def test_every_figure_has_its_n_coverage_interval_and_exclusions() -> None:
    desk = marked_study()
    told = Caller(desk.lead).get(addresses(desk)[0])
    lines = agreement_of(desk.lead, desk.study)
    assert [figure["name"] for figure in told["figures"]] == [line.measure.name for line in lines]
    for figure, line in zip(told["figures"], lines, strict=True):
        value = line.measure.value
        assert figure["value"] == (None if value is None else float(value))
        assert figure["status"] == ("undefined" if value is None else "value")
        assert (figure["n"], figure["covered"], figure["of"]) == (line.measure.n, line.covered, 3)
        assert (figure["low"] is None) == bool(figure["why_no_interval"])
        assert [(one["question"], one["why"]) for one in figure["excluded"]] == list(line.excluded)
    assert any(figure["status"] == "undefined" and figure["note"] for figure in told["figures"])
    assert (told["questions"], told["of"], told["left_out"]) == (3, 3, 0)
    assert told["signature"]["confidence"] == 0.95
    assert sum(choice["questions"] for choice in told["choices"]["segment"]) == 3


def test_choices_are_those_that_there_are_and_only_a_lead_chooses_by_name() -> None:
    desk = marked_study()
    url, items = addresses(desk)
    lead, judge = Caller(desk.lead), Caller(desk.adjudicator)
    pair = "+".join(sorted((desk.one.username, desk.two.username)))
    assert lead.get(url)["choices"]["pair"] == [{"name": pair, "questions": 3}]
    assert lead.get(url, pair=pair)["chosen"] == {"pair": pair}
    for choice in lead.get(url)["choices"]["segment"]:
        told = lead.get(url, segment=choice["name"])
        assert (told["questions"], told["of"]) == (choice["questions"], 3)
        figures = agreement_of(desk.lead, desk.study, Slice(segment=choice["name"]))
        assert [figure["n"] for figure in told["figures"]] == [line.measure.n for line in figures]
    assert desk.one.username not in json.dumps([judge.get(url), judge.get(items)])
    for caller, query in (
        (judge, {"pair": pair}),
        (lead, {"pair": "x"}),
        (lead, {"segment": "no-such"}),
        (lead, {"month": "\x00"}),
        (lead, {"q": "x"}),
    ):
        for address in (url, items):
            answer = caller.client.get(address, query)
            assert answer.status_code == 422
            assert desk.one.username not in json.dumps(problems(answer)) or caller is lead


def test_the_items_behind_each_number_add_up_to_it() -> None:
    desk = marked_study()
    caller, (url, items) = Caller(desk.lead), addresses(desk)
    rows = caller.get(items)["results"]
    assert [row["question"] for row in rows] == ["a", "b", "c"]
    parts = agreement_parts(desk.lead, desk.study)
    assert sum(len(row["parts"]) for row in rows) == len(parts)
    figure = next(one for one in caller.get(url)["figures"] if one["name"] == "exact span F1")
    mine = [part for row in rows for part in row["parts"] if part["figure"] == "exact span F1"]
    assert figure["value"] == sum(one["numerator"] for one in mine) / sum(one["denominator"] for one in mine)
    page = caller.get(items, limit=2)
    assert [row["question"] for row in caller.get(page["next"])["results"]] == ["c"]
    assert caller.client.get(items, {"after": "no-such"}).status_code == 422


@pytest.mark.parametrize("role", [Role.ADJUDICATOR, Role.LEAD, Role.OBSERVER])
def test_nothing_told_depends_on_the_other_pass_before_it_is_settled(role: Role) -> None:
    desk = marked_study()
    more = replace_question(desk, "own")
    Membership.objects.create(study=desk.study, person=desk.one, role=role)
    caller = Caller(desk.one)
    unsettled = {"b", "c", "own"}

    def seen() -> str:
        return json.dumps([caller.get(url) for url in addresses(desk)])

    more.submit(more.first, more.content())
    before = seen()
    assert caller.get(addresses(desk)[0])["left_out"] == len(unsettled)
    assert [row["question"] for row in caller.get(addresses(desk)[1])["results"]] == ["a"]
    more.submit(more.second, more.content(answer="Never."))
    assert seen() == before
    return_pass(desk.lead if role is not Role.LEAD else desk.adjudicator, more.second, "Look again.")
    assert seen() == before
    assert caller.client.get(addresses(desk)[1], {"after": "own"}).status_code == 422


def test_annotators_and_strangers_get_no_figure() -> None:
    desk = marked_study()
    for person, status in ((desk.two, 403), (make_desk().lead, 404), (make_member(desk.study, Role.OBSERVER), 200)):
        for url in addresses(desk):
            assert Caller(person).client.get(url).status_code == status


@pytest.mark.parametrize("place", [0, 1])
def test_as_many_queries_for_three_questions_as_for_one(place: int) -> None:
    desk = make_desk(key="a")
    settle(desk)
    caller, url = Caller(desk.lead), addresses(desk)[place]

    first = caller.queries_of(url)
    for key in ("b", "c"):
        settle(replace_question(desk, key))
    assert caller.queries_of(url) == first <= 20

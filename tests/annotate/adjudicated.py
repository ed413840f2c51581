"""An item with two differences, decided and settled, and its page as an adjudicator sends it."""

from __future__ import annotations

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotate.domain.vocabulary import Choice, Necessity, Segment
from annotate.models import AdjudicationItem, Person
from annotate.selectors.adjudication import state_of
from annotate.services.decide import confirm_agreed, decide
from annotate.services.settle_item import settle_item
from tests.annotate.passes import Desk, make_desk

NAMES = ("rule", "qualifier")
SAID = dict.fromkeys(NAMES, (Necessity.NECESSARY, "without it the answer is wrong"))


def opened() -> tuple[Desk, AdjudicationItem]:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(answer="7 days.", scope="temporary ones"))
    return desk, desk.question.items.get()


def decided(desk: Desk, item: AdjudicationItem) -> None:
    for row in item.disagreements.all():
        decide(desk.adjudicator, item, row, Choice.A)
    confirm_agreed(desk.adjudicator, item)


def settled(desk: Desk, item: AdjudicationItem) -> None:
    decided(desk, item)
    settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, SAID)


def post(person: Person, item: AdjudicationItem, **fields: object) -> HttpResponse:
    client = Client()
    client.force_login(person)
    return client.post(reverse("adjudicate", args=[item.pk]), fields)


def settle_form(item: AdjudicationItem, **more: object) -> dict[str, object]:
    fields: dict[str, object] = {"action": "settle", "segment": "rule-and-exception", "seen": state_of(item)}
    for name in NAMES:
        fields |= {f"necessity:{name}": "necessary", f"reason:{name}": f"{name}: it is needed"}
    return fields | more


def refused(answer: HttpResponse, status: int, *texts: str) -> None:
    page = answer.content.decode()
    assert answer.status_code == status
    assert 'role="alert"' in page
    assert [text for text in texts if text not in page] == []

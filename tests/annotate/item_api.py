"""An opened item and somebody who speaks to the API about it."""

from __future__ import annotations

import json
from typing import Any

from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Decision,
    DiscussionNote,
    Person,
)
from annotate.selectors.adjudication import state_of
from ledger.models import Record
from tests.annotate.passes import Desk, make_desk

JSON = "application/json"
NECESSARY = {"necessity": "necessary", "reason": "without it the answer is wrong"}
SPANS = {"rule": NECESSARY, "qualifier": NECESSARY}


class Caller:
    """Somebody who sends JSON."""

    def __init__(self, person: Person) -> None:
        self.client = Client(raise_request_exception=False)
        self.client.force_login(person)

    def get(self, url: str, **query: Any) -> dict[str, Any]:
        answer = self.client.get(url, query)
        assert answer.status_code == 200, answer.content[:500]
        found: dict[str, Any] = answer.json()
        return found

    def queries_of(self, url: str) -> int:
        """Return how many queries the second of two equal readings makes; the first fills what is cached."""
        self.get(url)
        with CaptureQueriesContext(connection) as captured:
            self.get(url)
        return len(captured)

    def post(self, url: str, **body: Any) -> HttpResponse:
        return self.client.post(url, json.dumps(body), JSON)


def opened(**changes: Any) -> tuple[Desk, AdjudicationItem, Caller]:
    """Return a desk whose passes differ in `changes`, their item, and its adjudicator."""
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(**changes))
    return desk, desk.question.items.get(), Caller(desk.adjudicator)


def of(item: AdjudicationItem, act: str = "") -> str:
    return reverse(f"api-item-{act}" if act else "api-item", args=[item.pk])


def counts() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Decision, AdjudicatedResult, DiscussionNote, Record))


def settled_body(item: AdjudicationItem, **more: Any) -> dict[str, Any]:
    return {"segment": "rule-and-exception", "spans": SPANS, "seen": state_of(item), **more}

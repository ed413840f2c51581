"""Adjudication: the queue, one item as A and B without names, and the batch of items in full agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.endpoint import StudyEndpoint
from annotate.api.fields import count, members, text, word
from annotate.api.item_objects import (
    READY,
    SETTLED,
    STATES,
    WAITING,
    item_object,
    question_object,
    settled_at,
    standing_object,
)
from annotate.api.listing import PAGE, limit_of, one_of, page_of, parameters
from annotate.domain.content_codec import SPAN_NAME, contract_payload
from annotate.domain.errors import BadInput
from annotate.domain.pass_check import set_name
from annotate.domain.severity import Severity
from annotate.domain.vocabulary import DisagreementType, Necessity, Segment
from annotate.domain.written import MOST
from annotate.models import AdjudicationItem
from annotate.permissions import actor_for, require
from annotate.selectors.adjudication import item_for, states_of
from annotate.selectors.adjudication_queue import AgreedItem, QueueRow, queue_rows, read_agreed, rows_by_key
from annotate.services.settle_agreed import MOST as MOST_ITEMS
from annotate.services.settle_agreed import Reviewed, settle_agreed
from annotate.views.item_address import item_at
from annotate.views.item_history import read_moment, round_at

#: Severities as words, gravest first.
GRADES = tuple(grade.word for grade in sorted(Severity, reverse=True))
MAX_SEEN = 60


class Items(StudyEndpoint):
    """The items of a study that the person may adjudicate."""

    actions = {"GET": "item.view"}

    def get(self, request: Request, slug: str) -> Response:
        """List them, gravest first, then by key; `?state=`, `?type=` and `?severity=` choose."""
        filters = {"state": one_of(STATES), "type": one_of(DisagreementType), "severity": one_of(GRADES)}
        given = parameters(request, {**filters, **PAGE})

        def wanted(row: QueueRow) -> bool:
            return (
                given.get("state", state_of_row(row)) == state_of_row(row)
                and ("type" not in given or given["type"] in row.kinds)
                and given.get("severity", row.severity.word) == row.severity.word
            )

        rows = queue_rows(self.person, self.study)
        return page_of(request, given, rows, lambda row: row.pk, self._shown, wanted)

    def _shown(self, rows: Sequence[QueueRow]) -> list[dict[str, Any]]:
        seen = states_of([row.pk for row in rows])
        return [
            {
                "id": row.pk,
                "question": question_object(row.question),
                "state": state_of_row(row),
                "severity": row.severity.word,
                "types": [kind.value for kind in row.kinds],
                "differences": row.differences,
                "undecided": row.undecided,
                "seen": seen[row.pk],
                "url": reverse("api-item", args=[row.pk]),
            }
            for row in rows
        ]


def state_of_row(row: QueueRow) -> str:
    """Return whether an item is ready, settled, or waits for a returned pass."""
    return WAITING if row.waits else SETTLED if row.is_settled else READY


class ItemEndpoint(StudyEndpoint):
    """An endpoint of one item, found as its page finds it."""

    item: AdjudicationItem

    def enter(self, action: str) -> None:
        """Find the item and its study; raises Http404, or NotAllowed without the role of an adjudicator."""
        self.item = item_at(self.request._request, self.kwargs["pk"])
        self.study = self.item.question.study
        self.actor = actor_for(self.person, self.study)
        require(self.actor, "item.view")
        require(self.actor, action)


class ItemDetail(ItemEndpoint):
    """One item."""

    actions = {"GET": "item.view"}

    def get(self, request: Request, pk: int) -> Response:
        """Return it as it stands, or, with `?as_of=`, as its round of that moment stood then."""
        as_of = parameters(request, {"as_of": read_moment}).get("as_of")
        if as_of is None:
            standing = standing_object(self.item)
            view = item_for(self.person, self.item)
            return Response({**standing, **item_object(self.person, self.actor, self.item, view, standing)})
        then = item_at(request._request, round_at(self.item, as_of).pk)
        view = item_for(self.person, then, as_of)
        stood = {"id": then.pk, "study": self.study.slug, "round": then.round, "as_of": as_of.isoformat()}
        return Response({**stood, **item_object(self.person, self.actor, then, view, None)})


class AgreedItems(StudyEndpoint):
    """The reviewed batch: items whose passes differ in nothing, looked over and settled together."""

    actions = {"GET": "item.view", "POST": "item.decide"}

    def get(self, request: Request, slug: str) -> Response:
        """List those that are ready, by key, each with all that is to be looked over."""
        given = {"limit": MOST_ITEMS, **parameters(request, PAGE)}
        if limit_of(given) > MOST_ITEMS:
            raise BadInput("?limit", f"{given['limit']} is out of range", f"Ask for 1 to {MOST_ITEMS}.")
        rows = rows_by_key(self.person, self.study)
        return page_of(request, given, rows, lambda row: row.pk, self._shown, lambda row: row.is_to_confirm)

    def post(self, request: Request, slug: str) -> Response:
        """Confirm and settle the items sent, all or none; the same by the same person again is one settling.

        409 naming each that stands otherwise than its `seen`.
        """
        parameters(request, {})
        body = members(request.data, ["items"], ["reason"])
        reason = text(body.get("reason", ""), "reason", most=MOST).strip()
        done = settle_agreed(self.person, self._reviewed(body["items"]), reason)
        rows = [{"item": row.item_id, "question": row.question.key, **settled_at(row)} for row in done]
        return Response({"results": rows}, status=201)

    def _shown(self, rows: Sequence[QueueRow]) -> list[dict[str, Any]]:
        return [self._object(one) for one in read_agreed(self.person, self.study, rows)]

    def _object(self, one: AgreedItem) -> dict[str, Any]:
        contract = contract_payload(one.content.contract)
        del contract["notes"]
        return {
            "id": one.item.pk,
            "question": question_object(one.item.question),
            "contract": contract,
            "sets": {set_name(index): list(names) for index, names in enumerate(one.content.sets)},
            "to_judge": [{"name": name, "label": label, "quote": quote} for name, label, quote in one.spans],
            "segment": one.segment.value,
            "seen": one.state,
            "url": reverse("api-item", args=[one.item.pk]),
        }

    def _reviewed(self, sent: Any) -> list[Reviewed]:
        if not isinstance(sent, list) or len(sent) > MOST_ITEMS:
            raise BadInput("items", "it is no list of items", f"Send a list of up to {MOST_ITEMS} items.")
        said: dict[int, dict[str, Any]] = {}
        for place, one in enumerate(sent):
            body = members(one, ["id", "segment", "spans", "seen"])
            pk = count(body["id"], f"items[{place}].id")
            if pk in said:
                raise BadInput(f"items[{place}].id", f"{pk} stands there twice", "Send each item once.")
            said[pk] = body
        found = (
            AdjudicationItem.objects.filter(question__study=self.study, pk__in=said)
            .exclude(question__assignments__annotator=self.person)
            .select_related("question__study", "submission_a")
            .in_bulk()
        )
        if missing := sorted(said.keys() - found.keys()):
            raise BadInput("items", f"{missing[0]} is no item of yours in this study", "Ask for the list again.")
        return [
            Reviewed(
                found[pk],
                word(Segment, body["segment"], f"items[{place}].segment"),
                judged(body["spans"], f"items[{place}].spans"),
                text(body["seen"], f"items[{place}].seen", most=MAX_SEEN),
            )
            for place, (pk, body) in enumerate(said.items())
        ]


def judged(sent: Any, where: str) -> dict[str, tuple[Necessity, str]]:
    """Return what was said of each span by its name: whether it is necessary, and why."""
    if not isinstance(sent, dict):
        raise BadInput(where, "it is no JSON object", "Send span name → {necessity, reason}.")
    found = {}
    for name, said in sent.items():
        place = f"{where}.{name[:60]}"
        if not SPAN_NAME.fullmatch(name):
            raise BadInput(place, "it is no span's name", "Send the names that `to_judge` has.")
        body = members(said, ["necessity", "reason"])
        found[name] = (
            word(Necessity, body["necessity"], f"{place}.necessity"),
            text(body["reason"], f"{place}.reason", most=MOST),
        )
    return found

"""The workspace's addresses over HTTP: hostile spans and parameters are refused, and no answer holds a hidden byte."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Mark, Pass
from annotate.selectors.passes import content_of
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_source_version

pytestmark = pytest.mark.django_db

BEFORE, SECRET, AFTER = "Open début. ", "Kept from you: zwölf Zettel.", " Öffentlich e\u0301nd.\r\n\x00"
START, END = len(BEFORE.encode()), len((BEFORE + SECRET).encode())
WHOLE = (BEFORE + SECRET + AFTER).encode()
#: What no answer may hold: every piece of the hidden text that stands nowhere else.
PIECES = ("Kept from", "zwölf", "Zettel", "zw\\u00f6lf")


def desk_with_a_hidden_range() -> Desk:
    desk = make_desk(BEFORE + AFTER)
    desk.version = make_source_version(
        desk.study, WHOLE, document_id="restricted", access_ranges=[(START, END, ["board"])]
    )
    return desk


def edges() -> Iterator[tuple[int, int]]:
    places = [-1, 0, 5, START - 1, START, START + 1, END - 1, END, END + 1, len(WHOLE), len(WHOLE) + 1, 2**31, 2**70]
    yield from ((start, end) for start in places for end in places)


def test_no_answer_of_the_workspace_holds_a_hidden_byte() -> None:
    desk = desk_with_a_hidden_range()
    client = Client()
    client.force_login(desk.one)
    pk, query = desk.first.pk, {"version": desk.version.pk}
    answers = [
        client.get(reverse(name, args=[pk]), {**query, **more})
        for name in ("workspace", "workspace-blocks", "workspace-layout", "workspace-find", "workspace-sources")
        for more in (
            {},
            {"q": "zwölf"},
            {"q": "e"},
            {"q": ". K"},
            {"q": "Open début. Kept"},
            {"at": str(START + 3)},
            {"from": "0", "to": "99"},
            {"from": "7", "to": "2"},
        )
    ]
    quotes = [None, "K", "\ud7ff", " Öffentlich"]
    for number, (start, end) in enumerate(edges()):
        span = {"version": desk.version.sha256, "start": start, "end": end, "name": f"s{number}", "label": "rule"}
        edit = {"op": "add-span", "span": span, "sets": [0]}
        quote = quotes[number % len(quotes)]
        answer = client.post(
            reverse("api-task-edits", args=[pk]),
            json.dumps({"edits": [edit if quote is None else {**edit, "quote": quote}]}),
            content_type="application/json",
            headers={"If-Match": f'"{content_of(desk.first)[0]}"', "Idempotency-Key": f"key-{number:08}"},
        )
        assert answer.status_code in {200, 422}, (start, end, answer.content)
        if answer.status_code == 200:
            assert 0 <= start < end <= len(WHOLE)
            assert end <= START or start >= END
        answers.append(answer)
        if number % 3 == 0:
            form = {"action": "preview", "revision": content_of(desk.first)[0], "new_start": start, "new_end": end}
            answers.append(client.post(f"{reverse('workspace', args=[pk])}?version={desk.version.pk}", form))
    answers.append(client.get(reverse("api-task-content", args=[pk])))
    for answer in answers:
        assert answer.status_code < 500
        said = answer.content.decode()
        # What was searched for is said again in the field it was written in.
        asked = answer.request.get("QUERY_STRING", "")
        assert not [piece for piece in PIECES if piece in said and "zw%C3%B6lf" not in asked], asked
    for mark in Mark.objects.filter(version=desk.version):
        WHOLE[mark.start : mark.end].decode()


def test_a_guess_at_hidden_text_is_not_confirmed() -> None:
    desk = desk_with_a_hidden_range()
    client = Client()
    client.force_login(desk.one)
    said = set()
    for guess in (SECRET, "x" * len(SECRET)):
        span = {"version": desk.version.sha256, "start": START, "end": END, "name": "guess", "label": "rule"}
        answer = client.post(
            reverse("api-task-edits", args=[desk.first.pk]),
            json.dumps({"edits": [{"op": "add-span", "span": span, "quote": guess}]}),
            content_type="application/json",
            headers={"If-Match": '"0"', "Idempotency-Key": "guess-0001"},
        )
        assert answer.status_code == 422
        said.add(answer.content)
    assert len(said) == 1


@pytest.mark.parametrize(
    "query",
    [
        "version=0",
        "version=-1",
        "version=%00",
        "version=9" * 3,
        "version=99999999999999999999",
        "from=-1",
        "from=%D9%A3",
    ],
)
def test_a_hostile_parameter_of_a_block_is_no_server_error(query: str) -> None:
    desk = make_desk()
    client = Client()
    client.force_login(desk.one)
    for name in ("workspace", "workspace-blocks", "workspace-layout", "workspace-find", "workspace-sources"):
        answer = client.get(f"{reverse(name, args=[desk.first.pk])}?{query}&q=%00&at=-5&rows=%00&to=1e9")
        assert answer.status_code in {200, 404, 422}, (name, answer.status_code)


def test_a_person_deactivated_while_marking_writes_and_reads_nothing_more() -> None:
    desk = make_desk()
    client = Client()
    client.force_login(desk.one)
    desk.one.is_active = False
    desk.one.save()
    for name in ("workspace", "workspace-blocks", "workspace-layout", "workspace-find", "workspace-sources"):
        assert client.get(reverse(name, args=[desk.first.pk])).status_code in {302, 404}
    answer = client.post(
        reverse("api-task-edits", args=[desk.first.pk]),
        json.dumps({"edits": [{"op": "contract", "fields": {"answer": "x"}}]}),
        content_type="application/json",
        headers={"If-Match": '"0"', "Idempotency-Key": "a" * 12},
    )
    assert answer.status_code in {401, 403}
    assert not Pass.objects.exists()
